# rill_onnx(<group>/<room>) adds ops/<group>/<room>_onnx.cpp: how the operators of ONNX are read as
# those of the room. The file exports `const OnnxRoom <room>_onnx` in namespace rill::ops. From the
# list of rooms CMake writes onnx_table.cpp, as it writes the table of rooms.

set_property(GLOBAL PROPERTY RILL_ONNX_ROOMS "")

function(rill_onnx path)
  get_filename_component(room "${path}" NAME)
  if(NOT RILL_ONNX OR (RILL_OPS AND NOT room IN_LIST RILL_OPS))
    return()
  endif()
  target_sources(rill_ops PRIVATE ${path}_onnx.cpp)
  set_property(GLOBAL APPEND PROPERTY RILL_ONNX_ROOMS ${room})
endfunction()

function(rill_write_onnx_table file)
  get_property(rooms GLOBAL PROPERTY RILL_ONNX_ROOMS)
  set(declarations "")
  set(entries "")
  foreach(room IN LISTS rooms)
    string(APPEND declarations "extern const OnnxRoom ${room}_onnx;\n")
    string(APPEND entries "    &${room}_onnx,\n")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/onnx_table.cpp.in" "${file}" @ONLY)
endfunction()
