# rill_fuzz(<target> DEPENDS ... [OF <target>] [CORPUS <target>]): build tests/fuzz/fuzz_<target>.cpp, which
# replays its corpus in every build, and is linked with libFuzzer if RILL_FUZZ is set (Clang). OF: use the source of
# another target, with other libraries. CORPUS: use the seed corpus of another target.
function(rill_fuzz target)
  cmake_parse_arguments(ARG "" "OF;CORPUS" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_OF)
    set(ARG_OF ${target})
  endif()
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS ${ARG_OF})
  endif()
  set(sources fuzz/fuzz_${ARG_OF}.cpp ${ARG_SOURCES})
  add_executable(fuzz_${target}_replay ${sources} fuzz/replay.cpp)
  target_link_libraries(fuzz_${target}_replay PRIVATE rill_flags ${ARG_DEPENDS})
  add_test(NAME fuzz_${target}_replay
           COMMAND fuzz_${target}_replay "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${ARG_CORPUS}")
  set_tests_properties(fuzz_${target}_replay PROPERTIES LABELS fuzz TIMEOUT 1800)
  if(RILL_FUZZ)
    add_executable(fuzz_${target} ${sources})
    target_link_libraries(fuzz_${target} PRIVATE rill_flags ${ARG_DEPENDS})
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()

foreach(kind IN LISTS RILL_ARCHIVES_TESTED)
  rill_fuzz(archive_${kind} OF archive DEPENDS rill_archive_${kind})
endforeach()
rill_fuzz(text DEPENDS rill_nnef_files)
rill_fuzz(quant DEPENDS rill_nnef_files)
rill_fuzz(tensor DEPENDS rill_nnef_files)
rill_fuzz(symbols DEPENDS rill_core)
rill_fuzz(load SOURCES fuzz/mutate.cpp DEPENDS rill_property)
rill_fuzz(load_verify CORPUS load SOURCES fuzz/mutate.cpp DEPENDS rill_property rill_audit)
rill_fuzz(streams DEPENDS rill_property)
rill_fuzz(plan DEPENDS rill_property rill_plan_files_testing)
rill_fuzz(plan_numbers DEPENDS rill_plan_bases)
rill_fuzz(plan_calls DEPENDS rill_plan_bases)
if(RILL_ONNX)
  rill_fuzz(onnx DEPENDS rill_onnx rill_pulse)
  rill_fuzz(onnx_graph CORPUS onnx
            SOURCES fuzz/mutate_onnx.cpp fuzz/mutate_tensor.cpp fuzz/onnx_operators.cpp
                    fuzz/proto_fields.cpp
            DEPENDS rill_onnx rill_property)
endif()
