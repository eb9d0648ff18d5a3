#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/op.h"

namespace rill::ops {

/// Insert a unit axis at `axis` of the output.
/// Shapes: [D0..Dn] -> [D0..1..Dn]. Types: all except block-quantised constants.
/// Errors: kShape if `axis` is not in [0, rank].
/// Stream: the axis index follows; no data moves.
/// Source: NNEF 1.0, `unsqueeze`.
class AddAxis final : public OpBase<AddAxis> {
 public:
  int64_t axis = 0;
  explicit AddAxis(int64_t at) : axis(at) {}
  std::string_view name() const override { return "AddAxis"; }
  void fields(FieldVisitor& visitor) override { visitor.field("axis", axis); }
  OpTraits traits() const override {
    return {.keeps_order = true, .moves = Moves::kFrames, .precision = Precision::kMoves};
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

/// Remove the unit axis at `axis` of the input.
/// Shapes: [D0..1..Dn] -> [D0..Dn]. Types: all except block-quantised constants.
/// Errors: kShape if there is no such axis or its extent is not 1.
/// Stream: the axis index follows; removing the streaming axis is refused.
/// Source: NNEF 1.0, `squeeze`.
class RmAxis final : public OpBase<RmAxis> {
 public:
  int64_t axis = 0;
  explicit RmAxis(int64_t at) : axis(at) {}
  std::string_view name() const override { return "RmAxis"; }
  void fields(FieldVisitor& visitor) override { visitor.field("axis", axis); }
  OpTraits traits() const override {
    return {.keeps_order = true, .moves = Moves::kFrames, .precision = Precision::kMoves};
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

/// Reorder the axes: axis i of the output is axis `perm[i]` of the input.
/// Shapes: [D0..Dn] -> [D(perm[0])..D(perm[n])]. Types: all except block-quantised constants.
/// Errors: kShape if `perm` is not a permutation of the axes.
/// Stream: the axis index follows; no data moves.
/// Source: NNEF 1.0, `transpose`.
class Transpose final : public OpBase<Transpose> {
 public:
  std::vector<int64_t> perm;
  explicit Transpose(std::vector<int64_t> order) : perm(std::move(order)) {}
  std::string_view name() const override { return "MoveAxis"; }
  void fields(FieldVisitor& visitor) override { visitor.field("perm", perm); }
  OpTraits traits() const override {
    return {.moves = Moves::kFrames, .precision = Precision::kMoves};
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
