# What pulsed graphs are made of, beside tract's own operators.

rill_op(stream/border STEP)
rill_op(stream/delay)
rill_op(stream/key_mask STEP)
rill_op(stream/latch STEP)
rill_op(stream/length STEP)
rill_op(stream/mask STEP)
rill_op(stream/positions STEP)
rill_op(stream/pulse_pad STEP)
rill_op(stream/tail STEP)
