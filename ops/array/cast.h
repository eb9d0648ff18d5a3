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
  /// The input holds whole numbers, infinities or NaN. Set by `fuse` only.
  bool whole = false;
  /// It rounds where a chain ends only. See `Precision`. Readers of files leave none.
  bool at_end = false;
  Cast() = default;
  explicit Cast(DType target, QParams params = {}) : to(target), q(params) {}
  std::string_view name() const override { return "Cast"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  OpTraits traits() const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

/// Make a cast that rounds where a chain ends only.
OpPtr cast_at_end(DType to);

/// Convert a wire to a type, if it is of another one.
Result<OutletId> cast_to(LoadCtx& ctx, OutletId wire, DType to, QParams q = {});

/// Return which wire a cast reads; nothing for nodes that are none.
std::optional<OutletId> cast_from(const Node& node);

/// Compute an operator of f16 as that of f32 between casts, which round only what that gives, as
/// `eval` does.
Status fuse_as_f32(const Op& op, Rewrite& rewrite);

/// Mark the cast that is rewritten as one of whole numbers; nothing happens to one that is marked.
Status mark_whole(Rewrite& rewrite);

}  // namespace rill::ops
