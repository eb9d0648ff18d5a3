# Tests of models from published packages against onnxruntime, and of a part of the gallery of recipes against
# PyTorch. Skipped if these are not available.

if(RILL_ONNX AND TARGET rill_program)
  add_test(NAME field_models
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/field.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(field_models PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 900)
  add_test(NAME field_gallery
           COMMAND Python3::Interpreter -B -W ignore "${CMAKE_CURRENT_LIST_DIR}/gallery/gallery.py"
                   "$<TARGET_FILE:rill_program>" --part 0/6
                   --check "${CMAKE_CURRENT_LIST_DIR}/../../docs/which-models-run.md")
  set_tests_properties(field_gallery PROPERTIES LABELS onnx SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
