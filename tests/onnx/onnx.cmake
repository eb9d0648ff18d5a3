# The conformance tests of ONNX, where its package is there. The number that pass only rises.

if(RILL_ONNX AND TARGET rill_program)
  add_test(NAME onnx_conformance
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/conformance.py"
                   "$<TARGET_FILE:rill_program>" --at-least 1560)
  set_tests_properties(onnx_conformance PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()
