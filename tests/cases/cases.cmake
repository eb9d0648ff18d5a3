# Command lines of the programs and what they must do, one folder each; see run_case.py.

set(cases
  check_streams
  check_names_the_first_node
  check_of_no_frames
  corrupt_gzip
  empty_file
  folder_that_is_not_there
  folder_that_is_there
  illegal_pulse
  inspect_json
  inspect_max_delay
  missing_file
  missing_reference
  missing_weights
  not_an_archive
  op_count_that_fails
  outputs_that_differ
  pulse_auto
  pulse_without_the_symbol
  shapes_that_do_not_fit
  silent_when_outputs_agree
  syntax_error
  truncated_archive
  unbound_symbol
  unknown_flag
  unknown_input_fact
  unknown_operator
  unknown_symbol
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
