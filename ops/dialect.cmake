# Rooms of the rarer operators of the dialect.

rill_op(nn/resize)
rill_op(nn/rms_norm)
rill_op(math/swiglu)
rill_op(onnx/lookup)
rill_op(onnx/lrn)
rill_op(onnx/random)
rill_op(onnx/selections)
rill_op(onnx/trees)
rill_op(quant/integer_sums)
rill_op(rnn/epilogues)
rill_op(rnn/gru_seq)
rill_op(signal/complex_pairs)
rill_op(signal/exp_norm)
rill_op(transformers/causal_conv)
rill_op(transformers/gated_delta)
rill_op(transformers/masked_softmax)
rill_op(transformers/moe)
rill_op(transformers/rope)
rill_op(vision/grid_sample)

# What several rooms share.
target_sources(rill_ops PRIVATE math/wiring.cpp nn/resample.cpp)
