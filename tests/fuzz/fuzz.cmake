# rill_fuzz(<target> DEPENDS ...): tests/fuzz/fuzz_<target>.cpp, replayed over its corpus in every
# build, and linked with libFuzzer where RILL_FUZZ asks for it (Clang).
function(rill_fuzz target)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(sources fuzz/fuzz_${target}.cpp ${ARG_SOURCES})
  add_executable(fuzz_${target}_replay ${sources} fuzz/replay.cpp)
  target_link_libraries(fuzz_${target}_replay PRIVATE rill_flags ${ARG_DEPENDS})
  add_test(NAME fuzz_${target}_replay
           COMMAND fuzz_${target}_replay "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${target}")
  set_tests_properties(fuzz_${target}_replay PROPERTIES LABELS fuzz TIMEOUT 1800)
  if(RILL_FUZZ)
    add_executable(fuzz_${target} ${sources})
    target_link_libraries(fuzz_${target} PRIVATE rill_flags ${ARG_DEPENDS})
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()

rill_fuzz(archive DEPENDS rill_nnef_files)
rill_fuzz(text DEPENDS rill_nnef_files)
rill_fuzz(quant DEPENDS rill_nnef_files)
rill_fuzz(tensor DEPENDS rill_nnef_files)
rill_fuzz(symbols DEPENDS rill_core)
rill_fuzz(load SOURCES fuzz/mutate.cpp DEPENDS rill_property)
rill_fuzz(streams DEPENDS rill_property)
