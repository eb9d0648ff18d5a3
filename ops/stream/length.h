#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Output expressions in the length of the stream. Shapes: no input -> that of `value`. Types: none
/// -> dims. Stream: zeros until the end is known.
/// Source: tract_core_shape_of, for a stream.
struct PulseLength final : OpBase<PulseLength> {
  TensorPtr value;  ///< of dims
  explicit PulseLength(TensorPtr dims) : value(std::move(dims)) {}

  std::string_view name() const override { return "PulseLength"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  OpPtr with_symbol(std::string_view symbol, const Dim& by) const override;
  Status lower(Lowering& lowering) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
