# Families on dense arrays: casts of f16, int8 and f32 matmuls, depthwise convolutions, pools,
# recurrent loops.

rill_kernels(half TIERS avx2 neon)
rill_test(half_test SOURCES half/half_test.cpp DEPENDS rill_kernels LABELS kernels)
rill_kernels(int8 TIERS sse42 avx2 avxvnni avx512 avx512vnni neon dotprod)
rill_test(int8_test SOURCES int8/int8_test.cpp int8/floats_test.cpp DEPENDS rill_kernels LABELS kernels)
# If every current CPU of an architecture has a tier, scalar kernels may be smaller and slower.
if(RILL_ARCH_TIERS)
  set_source_files_properties(matmul/matmul.cpp matmul_packed/matmul_packed.cpp rnn/rnn.cpp
                              PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
  # Tier files call functions of int8.cpp. With link-time optimisation, programs that run no int8
  # kernel would keep these functions.
  set_source_files_properties(int8/int8.cpp PROPERTIES COMPILE_OPTIONS
                              "$<$<CONFIG:Release>:-Os>;${RILL_TIER_LINK_FLAGS}")
endif()
foreach(family matmul matmul_packed depthwise pool rnn)
  rill_kernels(${family} TIERS sse42 avx2 avx512 neon)
  rill_test(${family}_test SOURCES ${family}/${family}_test.cpp DEPENDS rill_kernels
            LABELS kernels)
endforeach()

if(RILL_BENCH)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
  rill_bench(matmul_bench SOURCES matmul/matmul_bench.cpp matmul/eigen_bench.cpp
             DEPENDS rill_kernels rill_reach Eigen3::Eigen)
  find_package(dnnl 2.6 CONFIG QUIET)
  find_package(OpenMP COMPONENTS CXX QUIET)
  if(dnnl_FOUND AND OpenMP_CXX_FOUND)
    target_sources(matmul_bench PRIVATE matmul/onednn_bench.cpp)
    target_compile_definitions(matmul_bench PRIVATE RILL_WITH_ONEDNN)
    target_link_libraries(matmul_bench PRIVATE DNNL::dnnl OpenMP::OpenMP_CXX)
  endif()
  rill_bench(matmul_packed_bench SOURCES matmul_packed/matmul_packed_bench.cpp
             DEPENDS rill_kernels rill_reach)
  foreach(family depthwise pool rnn)
    rill_bench(${family}_bench SOURCES ${family}/${family}_bench.cpp DEPENDS rill_kernels)
  endforeach()
  # Eigen chooses its instructions when it is compiled: allow all those of this machine.
  set_source_files_properties(matmul/eigen_bench.cpp PROPERTIES COMPILE_OPTIONS
    "-O3;-march=native;-ffp-contract=fast;-w")
endif()
