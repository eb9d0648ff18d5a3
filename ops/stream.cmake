# What pulsed graphs are made of, beside tract's own operators.

rill_op(stream/border)
rill_op(stream/delay)
rill_op(stream/key_mask)
rill_op(stream/latch)
rill_op(stream/length)
rill_op(stream/mask)
rill_op(stream/positions)
rill_op(stream/pulse_pad)
rill_op(stream/tail)
