# Command lines of the programs and what they must do, one folder each; see run_case.py.

set(cases
  batch_is_added
  bench_by_the_clock
  bench_of_streams
  caches_are_unfolded
  caches_begin_empty
  capacity_without_a_clock
  check_names_the_first_node
  check_of_no_frames
  check_streams
  corrupt_gzip
  cost_that_differs
  deployment_is_shown_with_its_batch
  deployment_runs_a_row
  deployment_that_cannot_be_read
  empty_file
  first_output_is_renamed
  folder_that_is_not_there
  folder_that_is_there
  half_precision_is_near
  half_precision_is_written
  half_precision_streams
  illegal_pulse
  input_becomes_a_constant
  input_node_cuts
  inspect_json
  inspect_least_delay
  inspect_longest
  inspect_max_delay
  knobs_are_listed
  live_memory
  matrix_products
  missing_file
  missing_reference
  missing_weights
  mistyped_flag
  mistyped_subcommand
  negative_number_of_streams
  not_an_archive
  occupancy_without_sessions
  one_node_is_shown
  op_count_that_fails
  outputs_as_tensor_files
  outputs_that_differ
  override_fact_of_a_computed_wire
  override_fact_widens
  patched_wire
  profile_by_prefix
  profile_json_has_loop_bodies
  pulse_auto
  pulse_without_the_symbol
  shapes_that_do_not_fit
  silent_when_outputs_agree
  stage_is_matched
  stage_that_is_none
  state_of_a_longer_loop_stays
  state_of_a_loop_is_exported
  steps_are_printed
  streams_side_by_side
  streams_stepped_together
  syntax_error
  truncated_archive
  unbound_symbol
  unexpected_operators
  unknown_flag
  unknown_input_fact
  unknown_operator
  unknown_symbol
  unknown_transform
  values_beyond_floats
  values_beyond_halves
  values_on_the_command_line
  values_that_do_not_fit_their_shape
  written_archive_reads_back
  wrong_input_name
  wrong_input_rank
  wrong_input_type
)
set(runner Python3::Interpreter -B "${CMAKE_CURRENT_LIST_DIR}/run_case.py")

add_test(NAME cases_are_all_listed COMMAND ${runner} --all "${CMAKE_CURRENT_LIST_DIR}" ${cases})
foreach(name IN LISTS cases)
  add_test(NAME case_${name} COMMAND ${runner} "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" "${models}"
                                     "${CMAKE_CURRENT_LIST_DIR}/${name}")
  set_tests_properties(case_${name} PROPERTIES LABELS cases)
endforeach()
