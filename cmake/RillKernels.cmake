# rill_kernels(<family> TIERS sse42 avx2 avx512 neon [SMALL sse42])
# Adds kernels/<family>: <family>.cpp for every CPU, and one <tier>.cpp per tier of this architecture. Only
# tier files get -m flags. Each tier file renames the namespace xsimd: xsimd 8.1 has inline functions that do
# not depend on the architecture, and a linker keeps one copy. Tier files are compiled with -O2 in every build
# type: at -O0 GCC 12 rejects parts of xsimd's AVX-512 code. They are built without checks of undefined
# behaviour, which would take minutes each; the scalar tier has these checks. SMALL tiers are for few CPUs,
# and lose little speed at -Os in this family.

include(CheckCXXSourceCompiles)

set(RILL_TIER_FLAGS_sse42 -msse4.2)
set(RILL_TIER_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(RILL_TIER_FLAGS_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma -mf16c)
# For this processor, GCC writes unwind tables unless both flags forbid it.
set(RILL_TIER_FLAGS_neon -fno-unwind-tables)
# Instructions that only some CPUs of a tier have.
set(RILL_TIER_FLAGS_avxvnni ${RILL_TIER_FLAGS_avx2} -mavxvnni)
set(RILL_TIER_FLAGS_avx512vnni ${RILL_TIER_FLAGS_avx512} -mavx512vnni)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(RILL_TIER_FLAGS_dotprod ${RILL_TIER_FLAGS_neon} -march=armv8.2-a+dotprod)
else()
  # Zig's Clang accepts only this spelling.
  set(RILL_TIER_FLAGS_dotprod ${RILL_TIER_FLAGS_neon} -mcpu=generic+dotprod)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
  set(RILL_ARCH_TIERS sse42 avx2 avxvnni avx512 avx512vnni)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(RILL_ARCH_TIERS neon dotprod)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")
  # 32-bit Arm has SIMD with fused multiply-add since Cortex-A7; programs check the CPU before they use it.
  # Smaller processors lack it.
  set(flags -mfpu=neon-vfpv4)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND flags -mfp16-format=ieee)
  endif()
  list(JOIN flags " " CMAKE_REQUIRED_FLAGS)
  check_cxx_source_compiles("
    #include <arm_neon.h>
    float32x4_t sum(float32x4_t a, float16x4_t b) { return vfmaq_f32(a, a, vcvt_f32_f16(b)); }
    int main() { return 0; }" RILL_HAS_NEON_32)
  unset(CMAKE_REQUIRED_FLAGS)
  if(RILL_HAS_NEON_32)
    set(RILL_ARCH_TIERS neon)
    list(APPEND RILL_TIER_FLAGS_neon ${flags})
    list(APPEND RILL_TIER_DEFINITIONS RILL_NEON_32)
  endif()
elseif(EMSCRIPTEN)
  # WebAssembly's 128-bit SIMD implements the intrinsics of SSE4.2.
  set(RILL_ARCH_TIERS sse42)
  list(APPEND RILL_TIER_FLAGS_sse42 -msimd128)
  foreach(name AVX2 AVXVNNI AVX512 AVX512VNNI)
    list(APPEND RILL_TIER_DEFINITIONS RILL_WITHOUT_${name})
  endforeach()
else()
  set(RILL_ARCH_TIERS "")
endif()

# The tiers of the library besides the scalar one. The lists of kernels omit the others.
if(RILL_TIERS)
  foreach(tier IN LISTS RILL_TIERS)
    if(NOT DEFINED RILL_TIER_FLAGS_${tier} AND NOT tier STREQUAL scalar)
      message(FATAL_ERROR "RILL_TIERS: there is no tier ${tier}; there are scalar, sse42, avx2, avx512, neon")
    endif()
  endforeach()
  foreach(tier IN LISTS RILL_ARCH_TIERS)
    if(NOT tier IN_LIST RILL_TIERS)
      list(REMOVE_ITEM RILL_ARCH_TIERS ${tier})
      string(TOUPPER ${tier} name)
      list(APPEND RILL_TIER_DEFINITIONS RILL_WITHOUT_${name})
    endif()
  endforeach()
endif()

# A build of all tiers compiles plans for any processor, so its lists also have the kernels of the others.
# Modules for browsers only run plans.
if(RILL_PLAN_FILES AND NOT RILL_TIERS AND NOT EMSCRIPTEN)
  set(RILL_OTHER_PROCESSORS ON)
endif()

# Calls in place of inlined checks keep the address sanitizer's code small and quick to compile.
set(RILL_TIER_SANITIZER_FLAGS -fno-sanitize=undefined)
if(RILL_SANITIZE MATCHES address)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND RILL_TIER_SANITIZER_FLAGS --param=asan-instrumentation-with-call-threshold=0)
  else()
    list(APPEND RILL_TIER_SANITIZER_FLAGS -mllvm -asan-instrumentation-with-call-threshold=0)
  endif()
endif()
# Fuzzing runs the scalar tier, so only that tier needs coverage.
if(RILL_FUZZ)
  list(APPEND RILL_TIER_SANITIZER_FLAGS -fno-sanitize=fuzzer-no-link)
endif()

# With link-time optimisation, GCC 12 drops unroll hints, which costs a tenth more instructions in AVX2
# matmuls. Arm kernels are not unrolled. The smallest builds prefer the smaller module.
set(RILL_TIER_LINK_FLAGS "")
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND NOT CMAKE_BUILD_TYPE STREQUAL MinSizeRel AND
   CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
  set(RILL_TIER_LINK_FLAGS -fno-lto)
endif()

function(rill_kernels family)
  cmake_parse_arguments(ARG "" "" "TIERS;SMALL;SOURCES" ${ARGN})
  target_sources(rill_kernels PRIVATE ${family}/${family}.cpp)
  foreach(source IN LISTS ARG_SOURCES)
    target_sources(rill_kernels PRIVATE ${family}/${source})
  endforeach()
  # Tier code neither allocates nor throws. Without unwind tables it is smaller, and tiers share no symbols
  # for unwinding.
  foreach(tier IN LISTS ARG_TIERS)
    if(NOT tier IN_LIST RILL_ARCH_TIERS)
      continue()
    endif()
    set(level -O2)
    if(tier IN_LIST ARG_SMALL AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT EMSCRIPTEN)
      set(level -Os)
    endif()
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/${family}/${tier}.cpp")
    target_sources(rill_kernels PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
      "${RILL_TIER_FLAGS_${tier}};${level};-fno-exceptions;-fno-asynchronous-unwind-tables;-Dxsimd=xsimd_${tier};-Wno-pedantic;-Wno-shadow;${RILL_TIER_LINK_FLAGS};${RILL_TIER_SANITIZER_FLAGS}")
  endforeach()
endfunction()
