# Families on arrays of floats: elementwise programs, FFTs, softmax and reductions.

rill_kernels(pointwise TIERS sse42 avx2 avx512 neon SMALL sse42)

rill_test(kernels_pointwise_test SOURCES pointwise/pointwise_test.cpp DEPENDS rill_kernels
          LABELS kernels)
rill_test(kernels_math_test SOURCES math/functions_test.cpp DEPENDS rill_kernels LABELS kernels)
rill_test(kernels_every_float_test SOURCES math/every_float_test.cpp DEPENDS rill_kernels
          LABELS kernels)

rill_bench(kernels_pointwise_bench SOURCES pointwise/pointwise_bench.cpp DEPENDS rill_kernels)

rill_kernels(fft TIERS sse42 avx2 avx512 neon)
rill_test(kernels_fft_test SOURCES fft/fft_test.cpp DEPENDS rill_kernels LABELS kernels)
rill_bench(kernels_fft_bench SOURCES fft/fft_bench.cpp DEPENDS rill_kernels)

rill_kernels(softmax TIERS sse42 avx2 avx512 neon SMALL sse42)
rill_test(kernels_softmax_test SOURCES softmax/softmax_test.cpp DEPENDS rill_kernels LABELS kernels)
rill_bench(kernels_softmax_bench SOURCES softmax/softmax_bench.cpp DEPENDS rill_kernels)

rill_kernels(reduce TIERS sse42 avx2 avx512 neon SMALL sse42)
rill_test(kernels_reduce_test SOURCES reduce/reduce_test.cpp DEPENDS rill_kernels LABELS kernels)
rill_bench(kernels_reduce_bench SOURCES reduce/reduce_bench.cpp DEPENDS rill_kernels)


# If every current CPU of an architecture has a tier, scalar kernels may be smaller and slower.
if(RILL_ARCH_TIERS)
  set_source_files_properties(pointwise/pointwise.cpp fft/fft.cpp softmax/softmax.cpp
                              reduce/reduce.cpp
                              PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
endif()
