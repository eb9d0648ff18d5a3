#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Convert the elements to another type. Floats to integers truncate and saturate; NaN becomes 0.
/// Integers to integers wrap. Anything to bool is `!= 0`.
/// Shapes: any, kept.
/// Types: all; strings and blobs only to their own type. From a quantised type: the real numbers.
/// To a quantised type: rounded half to even.
/// Errors: kDType for other casts of strings and blobs.
/// Stream: pointwise.
/// Source: tract, `tract_core_cast`.
class Cast final : public OpBase<Cast> {
 public:
  DType to = DType::kF32;
  QParams q;
  /// The input contains only integers, infinities or NaN. Set by `fuse` only.
  bool whole = false;
  /// The cast rounds only at the end of a chain. See `Precision`. Loaded files contain no such
  /// cast.
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

/// Cast a wire to a type; return the wire itself if it has that type.
Result<OutletId> cast_to(LoadCtx& ctx, OutletId wire, DType to, QParams q = {});

/// Return the input of a cast; nothing for other nodes.
std::optional<OutletId> cast_from(const Node& node);

/// Compute an f16 operator in f32 between casts. Only its result is rounded, as `eval` does it.
Status fuse_as_f32(const Op& op, Rewrite& rewrite);

/// Set `whole` of the cast under rewriting; no effect if it is set.
Status mark_whole(Rewrite& rewrite);

}  // namespace rill::ops
