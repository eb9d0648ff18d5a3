#pragma once

#include "core/graph/op.h"
#include "ops/math/wiring.h"
#include "ops/nn/clip.h"

namespace rill::ops {

/// Multiply tensors along named axes and sum over those that the output lacks.
/// `expr`: one letter per axis, "amk,kn->amn"; an axis of extent 1 is broadcast.
/// Shapes: by the letters. Types: numbers of one type, dims; sums are of that type, f32 for f16.
/// Errors: kShape for letters, ranks and extents that do not fit; kDType.
/// Stream: on an axis that the output keeps; refused on a summed axis, and where the inputs stream
/// on different axes.
/// Accuracy: f32 with two inputs is one chain of fused multiply-adds per output, over ascending
/// summed index, starting from the bias.
/// Source: tract, `tract_core_einsum`; NNEF 1.0, `matmul`.
struct EinSum final : OpBase<EinSum> {
  std::string expr;
  int64_t operands = 2;
  bool has_bias = false;      ///< an input with one value per column; made by `fuse` only
  int64_t bias_axis = 0;      ///< the axis of the output that the bias runs along
  bool has_residual = false;  ///< the last input is added to the result; made by `fuse` only
  Clip clip;

  std::string_view name() const override { return "EinSum"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status fuse(Rewrite& rewrite) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  OpTraits traits() const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Dim work(FactSpan in, FactSpan out) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;

  /// Errors: kArg for an invalid expression, or one with another number of operands; kShape for
  /// another number of inputs.
  Status check(FactSpan in) const;
  /// Return the letters of input i, or of the output for i == operands.
  std::string_view letters(int i) const;
};

/// Return the expression of a matmul of that rank: leading axes are batches.
std::string matmul_expr(int rank, bool transpose_a, bool transpose_b);

/// Add a product of wires for an operator that loads as several nodes.
OutletId add_einsum(Wiring& w, std::string_view expr, WireList inputs);

}  // namespace rill::ops
