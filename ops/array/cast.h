#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Convert the elements to another type: floats to integers truncate and saturate, NaN gives 0,
/// integers wrap, anything to bool is `!= 0`.
/// Shapes: any, kept.
/// Types: all but strings; from a quantised type the real number, to one rounded half to even.
/// Errors: kDType for strings.
/// Stream: pointwise.
/// Source: tract, `tract_core_cast`.
class Cast final : public OpBase<Cast> {
 public:
  DType to = DType::kF32;
  QParams q;
  /// The input contains only integers, infinities or NaN. Set by `fuse` only.
  bool whole = false;
  /// It rounds only at the end of a chain. See `Precision`. Loaded files contain no such cast.
  bool at_end = false;
  Cast() = default;
  explicit Cast(DType target, QParams params = {}) : to(target), q(params) {}
  std::string_view name() const override { return "Cast"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  OpTraits traits() const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

/// Make a cast that rounds only at the end of a chain.
OpPtr cast_at_end(DType to);

/// Convert a wire to a type, if it has another one.
Result<OutletId> cast_to(LoadCtx& ctx, OutletId wire, DType to, QParams q = {});

/// Return the input of a cast; nothing for other nodes.
std::optional<OutletId> cast_from(const Node& node);

/// Compute an f16 operator in f32 between casts that round only its result, as `eval` does.
Status fuse_as_f32(const Op& op, Rewrite& rewrite);

/// Mark the current cast as one of integers; no effect if it is marked.
Status mark_whole(Rewrite& rewrite);

}  // namespace rill::ops
