# What runs of the operators' steps, without the operators: those that several rooms emit, or that are
# named after none. The step of a room is said with it, by `rill_op`.
set(RILL_STEPS
  array/walk.cpp
  control/loop_step.cpp
  math/binary_groups.cpp
  math/pointwise_step.cpp
  nn/byte_product_step.cpp
  nn/fill_frames_step.cpp
  nn/masked_rows_step.cpp
  nn/pool_step.cpp
  nn/product_step.cpp
  nn/resample_step.cpp
  nn/resize_stream_step.cpp
  nn/window_step.cpp
  quant/byte_table_step.cpp
)
# Their own loops are part of a step.
set(RILL_FAST_STEPS control/loop_step.cpp math/binary_groups.cpp math/pointwise_step.cpp
    math/reduce_step.cpp nn/pool_step.cpp nn/product_step.cpp nn/window_step.cpp nn/recurrent_step.cpp signal/stft_step.cpp)
