# Families on dense f32 arrays: matrix products, depthwise convolutions, pools, recurrent loops.

rill_kernels(half TIERS avx2 neon)
rill_test(half_test SOURCES half/half_test.cpp DEPENDS rill_kernels LABELS kernels)
foreach(family matmul matmul_packed depthwise pool rnn)
  rill_kernels(${family} TIERS sse42 avx2 avx512 neon)
  rill_test(${family}_test SOURCES ${family}/${family}_test.cpp DEPENDS rill_kernels
            LABELS kernels)
endforeach()

if(RILL_BENCH)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
  rill_bench(matmul_bench SOURCES matmul/matmul_bench.cpp matmul/eigen_bench.cpp
             DEPENDS rill_kernels rill_reach Eigen3::Eigen)
  rill_bench(matmul_packed_bench SOURCES matmul_packed/matmul_packed_bench.cpp
             DEPENDS rill_kernels rill_reach)
  foreach(family depthwise pool rnn)
    rill_bench(${family}_bench SOURCES ${family}/${family}_bench.cpp DEPENDS rill_kernels)
  endforeach()
  # Eigen chooses its instructions when it is compiled: give it all that this machine has.
  set_source_files_properties(matmul/eigen_bench.cpp PROPERTIES COMPILE_OPTIONS
    "-O3;-march=native;-ffp-contract=fast;-w")
endif()
