# What pulsed graphs are made of, beside tract's own operators.

rill_op(stream/border)
rill_op(stream/latch)
rill_op(stream/positions)
