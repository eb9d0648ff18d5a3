# What runs of the operators' steps, without the operators.
set(RILL_STEPS
  array/cast_step.cpp
  array/gather_step.cpp
  array/pad_step.cpp
  array/walk.cpp
  control/loop_step.cpp
  math/binary_step.cpp
  math/cumsum_step.cpp
  math/pointwise_step.cpp
  math/reduce_step.cpp
  math/select_step.cpp
  math/tally_step.cpp
  math/unary_step.cpp
  math/whole_step.cpp
  nn/byte_product_step.cpp
  nn/fill_frames_step.cpp
  nn/masked_rows_step.cpp
  nn/pool_step.cpp
  nn/product_step.cpp
  nn/recurrent_step.cpp
  nn/resample_step.cpp
  nn/resize_stream_step.cpp
  nn/softmax_step.cpp
  nn/window_step.cpp
  quant/byte_table_step.cpp
  signal/fft_step.cpp
  signal/stft_step.cpp
  stream/border_step.cpp
  stream/key_mask_step.cpp
  stream/latch_step.cpp
  stream/length_step.cpp
  stream/mask_step.cpp
  stream/positions_step.cpp
  stream/pulse_pad_step.cpp
  stream/tail_step.cpp
  transformers/moe_step.cpp
)
# Their own loops are part of a step.
set(RILL_FAST_STEPS control/loop_step.cpp math/pointwise_step.cpp math/reduce_step.cpp
    nn/pool_step.cpp nn/product_step.cpp nn/window_step.cpp nn/recurrent_step.cpp signal/stft_step.cpp)
