# How operators of ONNX are read, room by room.

rill_onnx(array/axis_ops)
rill_onnx(array/concat)
rill_onnx(control/scan)
rill_onnx(math/binary)
rill_onnx(math/unary)
rill_onnx(nn/conv)

# What several of these share.
if(RILL_ONNX)
  target_sources(rill_ops PRIVATE array/numpy.cpp math/numpy.cpp nn/onnx_window.cpp)
  rill_write_onnx_table(${CMAKE_CURRENT_BINARY_DIR}/onnx_table.cpp)
  target_sources(rill_ops PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/onnx_table.cpp)
endif()
