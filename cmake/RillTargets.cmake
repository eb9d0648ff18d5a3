# Flags that every target of rill carries, and the helpers for libraries, tests and benches.

add_library(rill_flags INTERFACE)
target_compile_features(rill_flags INTERFACE cxx_std_20)
target_include_directories(rill_flags INTERFACE "${PROJECT_SOURCE_DIR}")
# xsimd consists of headers. If they are in the host's folder of headers, add only these to the targets.
find_package(xsimd QUIET)
if(TARGET xsimd)
  get_target_property(RILL_XSIMD_HINT xsimd INTERFACE_INCLUDE_DIRECTORIES)
endif()
find_path(RILL_XSIMD xsimd/xsimd.hpp HINTS ${RILL_XSIMD_HINT} PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(RILL_XSIMD)
if(NOT RILL_XSIMD)
  message(FATAL_ERROR "xsimd was not found: install it, or set xsimd_DIR or RILL_XSIMD to where it is")
endif()
# Libraries in C++ are built for this machine and for one C++ standard library. Other targets use their
# sources and headers only.
set(RILL_FROM_SOURCES ${CMAKE_CROSSCOMPILING})
if(CMAKE_CXX_FLAGS MATCHES "-stdlib=libc\\+\\+")
  set(RILL_FROM_SOURCES ON)
endif()

# rill_host_headers(<folder of this machine> <library> ...): add headers that serve any target.
function(rill_host_headers folder)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/host_include")
  foreach(library IN LISTS ARGN)
    file(CREATE_LINK "${folder}/${library}" "${PROJECT_BINARY_DIR}/host_include/${library}" SYMBOLIC)
  endforeach()
endfunction()
if(RILL_FROM_SOURCES)
  target_include_directories(rill_flags SYSTEM INTERFACE "${PROJECT_BINARY_DIR}/host_include")
  rill_host_headers("${RILL_XSIMD}" xsimd)
else()
  target_include_directories(rill_flags SYSTEM INTERFACE "${RILL_XSIMD}")
endif()
# Only plan files and the programs look at the arguments of steps.
if(NOT RILL_PLAN_FILES AND NOT RILL_CLI)
  set(RILL_STEPS_UNSEEN ON)
  target_compile_definitions(rill_flags INTERFACE RILL_STEPS_UNSEEN)
endif()
# Contraction would fuse a*b+c in files with -mfma only, and the tiers would differ in the last bit.
target_compile_options(rill_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow)
# GCC 12 reports overlaps in std::string that do not exist (its bug 105651).
target_compile_options(rill_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(RILL_WERROR)
  target_compile_options(rill_flags INTERFACE -Werror)
elseif(NOT PROJECT_IS_TOP_LEVEL)
  # Override flags of the outer project: its warnings are for its own code, and fast math would change
  # results.
  target_compile_options(rill_flags INTERFACE -w -fno-fast-math)
endif()
if(RILL_SANITIZE)
  target_compile_options(rill_flags INTERFACE -fsanitize=${RILL_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all -fno-sanitize=vptr)
  # With sanitizer checks, GCC 12 reports members of std::variant as uninitialised.
  target_compile_options(rill_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(rill_flags INTERFACE -fsanitize=${RILL_SANITIZE})
endif()
if(RILL_FUZZ)
  target_compile_options(rill_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(RILL_EXCEPTIONS)
  set(RILL_UNWIND -fexceptions)
else()
  # No exception passes through the library, so unwind tables would waste space. So would frame pointers,
  # which GCC keeps for Arm by default.
  set(RILL_UNWIND -fno-exceptions -fno-asynchronous-unwind-tables -fno-unwind-tables
                  -fomit-frame-pointer)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# -Oz is 1 % smaller than -Os. With Clang it is slower, so Clang uses it only where code is downloaded.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-Oz RILL_TAKES_OZ)
set(RILL_FOR_SIZE -Os)
if(RILL_TAKES_OZ AND (EMSCRIPTEN OR CMAKE_CXX_COMPILER_ID STREQUAL GNU))
  set(RILL_FOR_SIZE -Oz)
endif()
# Every object file has copies of templates, and the linker keeps one of each. It cannot if GCC removes
# parameters in some of them, which added 150 kB. Values that GCC hoists out of loops and branches occupy
# registers that calls must save: 1 % more.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND RILL_FOR_SIZE -fno-ipa-sra -fno-gcse -fno-move-loop-invariants -fno-tree-loop-im)
  # Jump threading copies blocks, and loops are rotated and peeled: 1 % more.
  list(APPEND RILL_FOR_SIZE -fno-tree-dominator-opts -fno-tree-loop-optimize -fno-tree-tail-merge
              -fno-caller-saves -fno-expensive-optimizations)
endif()
set(RILL_FOR_SPEED -O2)

# Compile sources of a SMALL library for speed, if their loops take much of a step's time.
function(rill_fast_sources)
  foreach(source IN LISTS ARGN)
    set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
                                "$<$<CONFIG:Release>:${RILL_FOR_SPEED}>")
  endforeach()
endfunction()

# rill_library(<name> SOURCES ... [SMALL] [FAST ...] [DEPENDS ...] [PRIVATE ...] [PRECOMPILE ...])
# A static library of the runtime: hidden symbols, no RTTI. It never throws; with exceptions enabled the stack
# can unwind through it if memory runs out. A SMALL library is optimised for size in release builds, because
# kernels take most of its time, except for its FAST sources. With RILL_PRECOMPILE the PRECOMPILE headers are
# compiled once for the other sources. With RILL_PRECOMPILE_ALL the most included headers are precompiled too,
# in every library.
function(rill_library name)
  cmake_parse_arguments(ARG "SMALL" "" "SOURCES;FAST;DEPENDS;PRIVATE;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC rill_flags ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${RILL_UNWIND} -fno-rtti>
                         -ffunction-sections -fdata-sections)
  if(RILL_TAKES_OZ)
    target_compile_options(${name} PRIVATE $<$<CONFIG:MinSizeRel>:-Oz>)
  endif()
  if(ARG_SMALL)
    # With -Os, GCC 12 reports values of std::optional as uninitialised.
    target_compile_options(${name} PRIVATE "$<$<CONFIG:Release,MinSizeRel>:${RILL_FOR_SIZE}>"
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
  rill_fast_sources(${ARG_FAST})
  # Sources of kernels have processor flags, so they cannot share a precompiled header.
  if(RILL_PRECOMPILE_ALL AND NOT name STREQUAL rill_kernels)
    foreach(header algorithm array cmath functional map memory optional set span string vector)
      list(APPEND ARG_PRECOMPILE "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
    endforeach()
    if("${name};${ARG_DEPENDS};${ARG_PRIVATE}" MATCHES "rill_(core|ops|nnef|pulse)(;|$)")
      list(APPEND ARG_PRECOMPILE "$<$<COMPILE_LANGUAGE:CXX>:<core/graph/rewrite.h$<ANGLE-R>>")
    endif()
  endif()
  if((RILL_PRECOMPILE OR RILL_PRECOMPILE_ALL) AND ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${ARG_PRECOMPILE})
  endif()
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
                        UNITY_BUILD OFF)  # some static names repeat between files
endfunction()

# rill_shared_object(<target>): options of every shared object of rill, if the linker supports them: drop
# unreachable code, and align for pages of up to 16 KiB, as on phones.
include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:--gc-sections RILL_LINKER_DROPS_SECTIONS)
check_linker_flag(CXX LINKER:-z,max-page-size=16384 RILL_LINKER_SETS_PAGES)
check_linker_flag(CXX LINKER:-z,noseparate-code RILL_LINKER_JOINS_SEGMENTS)
function(rill_shared_object target)
  if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Partitions are linked in parallel and do not share small functions: 1 % more.
    target_link_options(${target} PRIVATE -flto-partition=one)
  endif()
  if(RILL_LINKER_DROPS_SECTIONS)
    target_link_options(${target} PRIVATE LINKER:--gc-sections)
  endif()
  if(RILL_LINKER_SETS_PAGES)
    target_link_options(${target} PRIVATE LINKER:-z,max-page-size=16384)
    if(RILL_LINKER_JOINS_SEGMENTS)
      # Each segment starts on a new page, so code and read-only data share one.
      target_link_options(${target} PRIVATE LINKER:-z,noseparate-code)
    endif()
  endif()
endfunction()

# rill_define_source_dir(<source> ...)
# Define RILL_SOURCE_DIR for sources that mention it, directly or in a header of their folder. The command
# line of all other sources is equal in every clone, so that clones share a compiler cache.
function(rill_define_source_dir)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder "${source}" ABSOLUTE)
    get_filename_component(folder "${folder}" DIRECTORY)
    set(text "")
    file(STRINGS "${source}" lines REGEX "RILL_SOURCE_DIR|^#include \"")
    foreach(line IN LISTS lines)
      if(line MATCHES "^#include \"(.*)\"")
        set(header "${folder}/${CMAKE_MATCH_1}")
        set(line "")
        if(EXISTS "${header}")
          file(STRINGS "${header}" line REGEX RILL_SOURCE_DIR)
        endif()
      endif()
      string(APPEND text "${line}")
    endforeach()
    if(text MATCHES RILL_SOURCE_DIR)
      set_source_files_properties("${source}" PROPERTIES
        COMPILE_DEFINITIONS "RILL_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
    endif()
  endforeach()
endfunction()

# rill_test(<name> SOURCES ... DEPENDS ... [LABELS ...])
# One test program; CTest runs each of its tests by name. Tests expect all operators and tiers.
function(rill_test name)
  if(NOT RILL_TESTS OR RILL_OPS OR RILL_TIERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rill_flags ${ARG_DEPENDS} GTest::gtest_main)
  rill_define_source_dir(${ARG_SOURCES})
  # Tests spend their time in the libraries; with -O1 they compile in half the time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(EMSCRIPTEN)
    # In node, tests see the machine's files, and end when main returns.
    target_link_options(${name} PRIVATE -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1
                        -sTOTAL_STACK=1MB)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1800)
endfunction()

# rill_bench(<name> SOURCES ... DEPENDS ...)
function(rill_bench name)
  if(NOT RILL_BENCH)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rill_flags ${ARG_DEPENDS} benchmark::benchmark)
endfunction()
