# How operators of ONNX are read, room by room.

rill_onnx(array/axis_ops)
rill_onnx(array/broadcast)
rill_onnx(array/cast)
rill_onnx(array/concat)
rill_onnx(array/gather)
rill_onnx(array/pad)
rill_onnx(array/reshape)
rill_onnx(array/slice)
rill_onnx(array/split)
rill_onnx(control/scan)
rill_onnx(math/binary)
rill_onnx(math/pow_const)
rill_onnx(math/reduce)
rill_onnx(math/select)
rill_onnx(math/unary)
rill_onnx(nn/conv)
rill_onnx(nn/einsum)
rill_onnx(nn/max_pool)
rill_onnx(rnn/recurrent)

# What several of these share.
if(RILL_ONNX)
  target_sources(rill_ops PRIVATE
    array/numpy.cpp
    math/numpy.cpp
    nn/onnx_window.cpp
    rnn/onnx_cell.cpp)
  rill_write_onnx_table(${CMAKE_CURRENT_BINARY_DIR}/onnx_table.cpp)
  target_sources(rill_ops PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/onnx_table.cpp)
endif()
