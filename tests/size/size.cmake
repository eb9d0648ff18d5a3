# rill_size_test(<name> <KiB>): bound the size of the stripped library, and the memory in addition to the weights
# of a process that streams kws_gru. Not for debug builds, nor for other architectures.

function(rill_size_test name kib)
  if(RILL_SANITIZE OR NOT CMAKE_BUILD_TYPE MATCHES "^(Release|MinSizeRel)$"
     OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  add_executable(rill_resident size/resident.c)
  set_target_properties(rill_resident PROPERTIES C_STANDARD 99)
  target_link_libraries(rill_resident PRIVATE rill_shared rill_flags)
  math(EXPR most "${kib} * 1024")
  math(EXPR over "2 * 1024 * 1024")
  add_test(NAME ${name}
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/size/check.py"
                   "${CMAKE_STRIP}" "$<TARGET_FILE:rill_shared>" ${most}
                   "$<TARGET_FILE:rill_resident>" "${models}/kws_gru/model.nnef.tgz" ${over})
  set_tests_properties(${name} PROPERTIES LABELS size SKIP_RETURN_CODE 77)
endfunction()

# The private memory of a process that streams a compiled model, and the memory that it shares with others.
if(TARGET rill_run_shared AND TARGET rill_program AND CMAKE_SYSTEM_NAME STREQUAL Linux
   AND NOT RILL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_executable(rill_shared_memory size/shared.c)
  set_target_properties(rill_shared_memory PROPERTIES C_STANDARD 99)
  target_link_libraries(rill_shared_memory PRIVATE rill_run_shared rill_flags)
  add_test(NAME shared_memory
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/size/shared.py"
                   "$<TARGET_FILE:rill_shared_memory>" "$<TARGET_FILE:rill_program>"
                   "${models}/crnn_lstm/model.nnef.tgz" S=8)
  set_tests_properties(shared_memory PROPERTIES LABELS size SKIP_RETURN_CODE 77)
endif()

# The peak memory of a process that loads, prepares and compiles large weights.
if(TARGET rill_program AND CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT RILL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME peak_memory
           COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/size/peak.py"
                   "$<TARGET_FILE:rill_program>")
  set_tests_properties(peak_memory PROPERTIES LABELS size SKIP_RETURN_CODE 77)
endif()
