# rill_size_test(<name> <KiB>): the library, stripped, and what a process that streams kws_gru keeps
# beside its weights, are within their sizes. Debug builds and those of other machines have none.

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
