# Tests of a library of few operators. They replace all other tests, which expect every operator, and cover
# the modules of kws_gru.

include(size/size.cmake)
set(modules axis_ops binary broadcast cast concat conv einsum scan slice softmax unary)
set(chosen ${RILL_OPS})
list(SORT chosen)
if(chosen STREQUAL modules)
  rill_size_test(small_size 1160)
  if(NOT RILL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    add_test(NAME small_streams
             COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/size/stream.py"
                     "$<TARGET_FILE:rill_shared>" "${models}/kws_gru" "${models}/tcn_dilated" pad
                     pad)
    set_tests_properties(small_streams PROPERTIES LABELS size)
  endif()
endif()
