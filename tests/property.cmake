# The property tests of operators, and of streams against whole runs: random graphs, and the worked cases
# of the design of streaming.

rill_library(rill_property
             SOURCES property/generate.cpp property/generate_kept.cpp property/journey.cpp
                     property/streaming.cpp property/typed.cpp property/wide.cpp
                     property/wide_states.cpp property/wide_windows.cpp
             DEPENDS rill_nnef rill_ops rill_pulse rill_audit)
rill_test(stream_property_test SOURCES property/stream_property_test.cpp DEPENDS rill_property
          LABELS property)
rill_test(varied_property_test SOURCES property/varied_property_test.cpp
          DEPENDS rill_property rill_transforms LABELS property)
rill_test(pulse_lengths_test SOURCES ../pulse/lengths_test.cpp DEPENDS rill_pulse)
rill_test(least_delay_test SOURCES property/least_delay_test.cpp DEPENDS rill_property
          LABELS property)
rill_test(chunk_latency_test SOURCES property/chunk_latency_test.cpp property/pulse_cases.cpp
          DEPENDS rill_property LABELS property)
rill_test(audit_test SOURCES ../audit/audit_test.cpp DEPENDS rill_property LABELS property)
rill_test(mismatch_test SOURCES ../audit/mismatch_test.cpp DEPENDS rill_audit)
rill_test(windows_test SOURCES property/windows_test.cpp DEPENDS rill_property LABELS property)
rill_test(wide_property_test SOURCES property/wide_property_test.cpp DEPENDS rill_property
          LABELS property)
rill_test(mask_property_test SOURCES property/mask_property_test.cpp DEPENDS rill_property
          LABELS property)
rill_test(f16_norms_test SOURCES property/f16_norms_test.cpp
          DEPENDS rill_property rill_transforms rill_ops_testing LABELS property)
rill_test(inputs_apart_test SOURCES property/inputs_apart_test.cpp DEPENDS rill_property
          LABELS property)
rill_test(feedback_test SOURCES property/feedback_test.cpp DEPENDS rill_property LABELS property)
rill_test(feedback_parts_test SOURCES property/feedback_parts_test.cpp DEPENDS rill_property LABELS property)
rill_test(mutants_test SOURCES property/mutants_test.cpp DEPENDS rill_property LABELS property)
rill_test(pulse_cases_test
          SOURCES property/pulse_attention_test.cpp property/pulse_band_test.cpp
                  property/pulse_cases.cpp
                  property/pulse_cases_test.cpp property/pulse_chains_test.cpp
                  property/pulse_ends_test.cpp property/pulse_kept_test.cpp
                  property/pulse_masks_test.cpp
                  property/pulse_resample_test.cpp property/pulse_state_test.cpp
                  property/loop_sums_test.cpp property/pulse_weights_test.cpp
                  property/pulse_keys_test.cpp property/pulse_scores_test.cpp
                  property/pulse_prompts_test.cpp
                  property/refused_lengths_test.cpp
                  property/short_ends_test.cpp property/short_streams_test.cpp
                  property/pulse_sequences_test.cpp
          DEPENDS rill_property LABELS property)
rill_test(defects_test SOURCES property/defects_test.cpp property/pulse_cases.cpp
          DEPENDS rill_property LABELS property)
rill_library(rill_operator_cases SOURCES operators/case.cpp operators/reference_run.cpp operators/side_by_side.cpp DEPENDS rill_property)
target_link_libraries(rill_operator_cases PUBLIC GTest::gtest)
rill_define_source_dir(operators/case.cpp operators/side_by_side.cpp operators/types_test.cpp)
# It interposes on malloc, so it is a separate program.
set(properties operators/attributes_test.cpp operators/operators_test.cpp operators/read_back_test.cpp operators/types_test.cpp
         support/heap_calls.cpp)
if(NOT RILL_STEPS_UNSEEN)
  list(APPEND properties operators/steps_test.cpp)
endif()
rill_test(operators_test SOURCES ${properties} DEPENDS rill_operator_cases LABELS operators)
# The build's C compiler compiles the emitted C, and the test loads it.
if(TARGET rill_emit_c AND NOT RILL_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND UNIX)
  rill_test(emit_test SOURCES operators/emit_test.cpp DEPENDS rill_operator_cases rill_emit_c
            LABELS operators)
  if(TARGET emit_test)
    target_compile_definitions(emit_test PRIVATE RILL_C_COMPILER="${CMAKE_C_COMPILER}")
    target_link_libraries(emit_test PRIVATE ${CMAKE_DL_LIBS})
  endif()
endif()
rill_library(rill_plan_files_testing SOURCES support/change_plan.cpp support/plan_calls.cpp support/plan_files.cpp
             DEPENDS rill_plan_file rill_ops rill_api)
rill_library(rill_plan_bases SOURCES support/plan_bases.cpp DEPENDS rill_operator_cases rill_plan_files_testing)
if(NOT RILL_STEPS_UNSEEN)
  rill_test(plan_files_test SOURCES operators/plan_files_altered_test.cpp operators/plan_files_hostile_test.cpp
                                    operators/plan_files_int8_test.cpp operators/plan_files_other_test.cpp
                                    operators/plan_files_properties_test.cpp operators/plan_files_test.cpp
            DEPENDS rill_plan_bases LABELS operators)
  add_executable(plan_growth plan_growth/plan_growth.cpp)
  target_link_libraries(plan_growth PRIVATE rill_plan_bases rill_flags)
  if(NOT RILL_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL Release)
    add_test(NAME plan_growth
             COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/plan_growth/count.py"
                     "$<TARGET_FILE:plan_growth>")
    set_tests_properties(plan_growth PROPERTIES LABELS operators SKIP_RETURN_CODE 77 TIMEOUT 900)
  endif()
endif()
rill_test(audit_cases_test SOURCES operators/audit_cases_test.cpp DEPENDS rill_operator_cases LABELS operators)
include(fuzz/fuzz.cmake)
