#pragma once

#include <vector>

#include "core/graph/rewrite.h"

namespace rill::ops {

class Reshape;

/// Repeat each element along some axes: out[.., i, ..] = in[.., i / scale, ..].
/// Shapes: [D0..Dn] -> [D0 * scales[0]..Dn * scales[n]].
/// Types: all except block-quantised constants. Errors: kShape if `scales` does not fit the shape.
/// Stream: not applicable; created only after pulsing.
/// Source: tract, `NearestUpsample`.
struct NearestUpsample final : OpBase<NearestUpsample> {
  std::vector<int64_t> scales;

  std::string_view name() const override { return "NearestUpsample"; }
  void fields(FieldVisitor& visitor) override {
    ranged_field(visitor, "scales", 1, INT64_MAX, scales);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status fuse(Rewrite& rewrite) const override;
};

/// Replace an axis that is added, repeated and merged with the previous axis by an upsampling.
Status fuse_upsample(const Reshape& reshape, Rewrite& rewrite);

}  // namespace rill::ops
