# The conformance tests of ONNX, and random nodes and files of common tools against onnxruntime, if these
# packages are available. The number of passing tests must not fall.

if(RILL_ONNX AND TARGET rill_program)
  add_test(NAME onnx_conformance
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/conformance.py"
                   "$<TARGET_FILE:rill_program>" --at-least 1732)
  set_tests_properties(onnx_conformance PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 1800)
  add_test(NAME onnx_differential
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/differential.py"
                   "$<TARGET_FILE:rill_program>" --seed 7 --count 700)
  set_tests_properties(onnx_differential PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 600)
  add_test(NAME onnx_open_axes
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/differential.py"
                   "$<TARGET_FILE:rill_program>" --seed 9 --count 700 --open)
  set_tests_properties(onnx_open_axes PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 600)
  add_test(NAME onnx_formulas
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/formulas.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(onnx_formulas PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME onnx_open_extents
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/open_extents.py"
                   "$<TARGET_FILE:rill_program>" --seed 3 --count 120)
  set_tests_properties(onnx_open_extents PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 600)
  # Random nodes rarely include caches of new frames only, and loops that append or count: draw these too.
  foreach(drawn IN ITEMS "onnx_attentions 12 500 group_query" "onnx_lists 14 300 lists"
                         "onnx_counts 3 300 counts")
    separate_arguments(drawn)
    list(GET drawn 0 name)
    list(GET drawn 1 seed)
    list(GET drawn 2 count)
    list(GET drawn 3 maker)
    add_test(NAME ${name}
             COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/differential.py"
                     "$<TARGET_FILE:rill_program>" --seed ${seed} --count ${count} --only ${maker})
    set_tests_properties(${name} PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
  add_test(NAME onnx_quantised
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/quantised.py"
                   "$<TARGET_FILE:rill_program>" --seed 5 --count 300)
  set_tests_properties(onnx_quantised PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME onnx_few_bits_layers
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/few_bits_layers.py"
                   "$<TARGET_FILE:rill_program>" --seed 3 --count 12)
  set_tests_properties(onnx_few_bits_layers PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME onnx_int8_layers
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/int8_layers.py"
                   "$<TARGET_FILE:rill_program>" --seed 1 --count 10)
  set_tests_properties(onnx_int8_layers PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME onnx_typed
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/typed.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(onnx_typed PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 900)
  add_test(NAME onnx_nan
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/nan.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(onnx_nan PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME onnx_altered
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/altered.py"
                   "$<TARGET_FILE:rill_program>" --count 300)
  set_tests_properties(onnx_altered PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME onnx_extremes
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/extremes.py"
                   "$<TARGET_FILE:rill_program>" --count 160)
  set_tests_properties(onnx_extremes PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 900)
  add_test(NAME onnx_refused
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/refused.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(onnx_refused PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 300)
  add_test(NAME onnx_exported
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/exported.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(onnx_exported PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
