#pragma once

#include "core/graph/op.h"
#include "ops/rnn/recurrent_step.h"

namespace rill::ops {

/// Run a recurrent layer over all steps, like a loop over its cell.
/// GRU: r = sigmoid(x_r + h W_r), z = sigmoid(x_z + h W_z), n = tanh(x_n + r * (h W_n + b)),
/// h = (1 - z) * n + z * h. LSTM: i, f, o = sigmoid(x + h W), g = tanh(x_g + h W_g),
/// c = f * c + i * g, h = o * tanh(c). Plain: h = tanh(x + h W), or relu.
/// Inputs: one projection per gate (r z n; i f g o), one recurrent filter [.., H, H] per gate with
/// one row per output, the bias of n if there is one, the initial h, and the initial c of an LSTM.
/// A small layer projects its input itself: in place of the projections it has x [T, B, I], filters
/// [I, gates, H] and their biases [gates, H].
/// Shapes: projections [T, B, H] with T on `axis` -> per output [T, B, H] or [1, B, H].
/// Types: f32. Stream: made after pulsing only; states are kept from pulse to pulse.
/// Accuracy: the bits of the loop that it replaces.
/// Source: PyTorch, `torch.nn.GRU`, `LSTM`, `RNN`, from whose export it is recognised.
struct Recurrent final : OpBase<Recurrent> {
  using Cell = RecurrentCell;
  int64_t cell = 0;
  int64_t axis = 0;
  int64_t batch_axis = 1;
  bool backward = false;
  bool has_bias = false;
  int64_t skip = 0;
  int64_t inputs = 0;  ///< I of a small layer; 0: the projections are given
  bool reset_every_turn = false;
  Dim limit = 0;  ///< as that of the loop
  std::string called = "Scan";   ///< the name of the loop that it stands for
  std::vector<int64_t> outputs;  ///< the kind of each output: `kSequence`, `kLastH` or `kLastC`

  static constexpr int64_t kSequence = 0;
  static constexpr int64_t kLastH = 1;
  static constexpr int64_t kLastC = 2;

  int gates() const;
  /// The index of the first recurrent filter, and of the bias and the first state.
  int first_filter() const { return inputs > 0 ? 3 : gates(); }
  int bias_input() const { return first_filter() + gates(); }
  int first_state() const { return bias_input() + (has_bias ? 1 : 0); }
  std::string_view name() const override { return called; }
  std::vector<std::string> details() const override;
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  bool repeatable() const override { return reset_every_turn && limit == Dim(0); }
  OpPtr stateless() const override;
  Status fuse(Rewrite& rewrite) const override;
  Status lower(Lowering& lowering) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
};

}  // namespace rill::ops
