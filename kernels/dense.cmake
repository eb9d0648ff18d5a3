# Families on dense f32 arrays: matrix products, depthwise convolutions, pools, recurrent loops.

rill_kernels(matmul TIERS sse42 avx2 avx512 neon)

rill_test(matmul_test SOURCES matmul/matmul_test.cpp DEPENDS rill_kernels LABELS kernels)
