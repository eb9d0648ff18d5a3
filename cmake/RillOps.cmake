# rill_op(<group>/<op>) adds the room ops/<group>/<op>.cpp to the op table. The room exports
# `const OpRoom <op>_room` in namespace rill::ops. From the list of rooms CMake writes op_table.cpp:
# no registration runs before main, and a static link cannot drop an op.

set_property(GLOBAL PROPERTY RILL_OP_ROOMS "")

function(rill_op path)
  get_filename_component(op "${path}" NAME)
  if(RILL_OPS AND NOT op IN_LIST RILL_OPS)
    return()
  endif()
  target_sources(rill_ops PRIVATE ${path}.cpp)
  set_property(GLOBAL APPEND PROPERTY RILL_OP_ROOMS ${op})
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${path}_test.cpp")
    set_property(GLOBAL APPEND PROPERTY RILL_OP_TESTS "${CMAKE_CURRENT_SOURCE_DIR}/${path}_test.cpp")
  endif()
endfunction()

function(rill_write_op_table file)
  get_property(rooms GLOBAL PROPERTY RILL_OP_ROOMS)
  set(declarations "")
  set(entries "")
  foreach(op IN LISTS rooms)
    string(APPEND declarations "extern const OpRoom ${op}_room;\n")
    string(APPEND entries "    &${op}_room,\n")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/op_table.cpp.in" "${file}" @ONLY)
endfunction()
