# How operators of ONNX are read, room by room.

rill_onnx(array/axis_ops)
rill_onnx(array/broadcast)
rill_onnx(array/cast)
rill_onnx(array/concat)
rill_onnx(array/gather)
rill_onnx(array/pad)
rill_onnx(array/range)
rill_onnx(array/slice)
rill_onnx(array/split)
rill_onnx(array/topk)
rill_onnx(control/if)
rill_onnx(control/scan)
rill_onnx(math/binary)
rill_onnx(math/cumsum)
rill_onnx(math/pow_const)
rill_onnx(math/reduce)
rill_onnx(math/select)
rill_onnx(math/sequences)
rill_onnx(math/unary)
rill_onnx(nn/box)
rill_onnx(nn/conv)
rill_onnx(nn/deconv)
rill_onnx(nn/einsum)
rill_onnx(nn/matmul_nbits)
rill_onnx(nn/max_pool)
rill_onnx(nn/multi_head)
rill_onnx(nn/resize)
rill_onnx(nn/rms_norm)
rill_onnx(nn/sdpa)
rill_onnx(nn/softmax)
rill_onnx(onnx/bit_cast)
rill_onnx(onnx/det)
rill_onnx(onnx/random)
rill_onnx(onnx/reshape)
rill_onnx(onnx/scatter)
rill_onnx(onnx/trilu)
rill_onnx(quant/byte_layers)
rill_onnx(quant/integer_sums)
rill_onnx(rnn/recurrent)
rill_onnx(signal/fft)
rill_onnx(transformers/causal_conv)
rill_onnx(transformers/gated_delta)
rill_onnx(transformers/group_query)
rill_onnx(transformers/rope)
rill_onnx(vision/deform_conv)
rill_onnx(vision/grid_sample)
rill_onnx(vision/roi_align)

# What several of these share.
if(RILL_ONNX)
  target_sources(rill_ops PRIVATE
    array/numpy.cpp
    math/formula.cpp
    math/numpy.cpp
    math/sequences.cpp
    control/onnx_turns.cpp
    nn/onnx_activation.cpp
    nn/onnx_heads.cpp
    nn/onnx_pool.cpp
    nn/onnx_window.cpp
    quant/onnx_bytes.cpp
    rnn/onnx_cell.cpp
    transformers/onnx_rotary.cpp)
  rill_write_onnx_table(${CMAKE_CURRENT_BINARY_DIR}/onnx_table.cpp)
  target_sources(rill_ops PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/onnx_table.cpp)
endif()
