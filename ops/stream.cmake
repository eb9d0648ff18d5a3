# What pulsed graphs are made of, beside tract's own operators.

rill_op(stream/border)
rill_op(stream/key_mask)
rill_op(stream/latch)
rill_op(stream/positions)
rill_op(stream/tail)
rill_op(stream/tally)
rill_op(stream/whole)

# How attention over a stream is put together from its parts.
target_sources(rill_ops PRIVATE
  stream/attention.cpp
  stream/attention_pulse.cpp
  stream/band.cpp
  stream/feedback.cpp
  stream/frames_first.cpp
  stream/graph_copy.cpp
  stream/joined_pad.cpp
  stream/limits.cpp
  stream/position_course.cpp
  stream/position_courses.cpp
  stream/position_math.cpp
  stream/position_rows.cpp
  stream/position_table.cpp
  stream/position_values.cpp
  stream/loop_sum.cpp stream/sink_border.cpp
  stream/skew.cpp
  stream/square.cpp
)
