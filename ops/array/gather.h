#pragma once

#include <cstdint>

#include "core/graph/op.h"

namespace rill::ops {

/// Take slices of the first input along one axis, at the indices in the second input.
/// Shapes: data [D0..Dn], indices [I0..Im] -> [D0..I0..Im..Dn], the indices' axes in place of
/// `axis`.
/// Types: data of any type; integer indices, negative ones count from the end. A block-quantised
/// constant, gathered along an axis before whole blocks, is only unpacked where indexed.
/// Errors: kShape if there is no such axis, or a constant index is out of range; kDType. Sessions
/// refuse an index out of range in an input of the model, and one that a whole run computes. In a
/// stream, one that the model computes gives zeros.
/// Stream: pointwise on the axes of the indices and on the data's other axes; indices that count up
/// become a slice, and a few constant ones become one slice each. Indices such as
/// i // 4 * 4 repeat the rows of a slice. So do indices clamped to the rows, which exporters write
/// for a linear interpolation by a power of two.
/// Source: tract, `tract_core_gather`.
class Gather final : public OpBase<Gather> {
 public:
  int64_t axis = 0;
  Gather() = default;
  explicit Gather(int64_t on) : axis(on) {}
  std::string_view name() const override { return "Gather"; }
  void fields(FieldVisitor& visitor) override { axis_field(visitor, "axis", axis); }
  Result<Facts> infer(FactSpan in) const override;
  void demands(FactSpan in, std::vector<Dim>* non_negative) const override;
  std::optional<NumberRange> indices(int input, FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;

 private:
  Status slice_places(Rewrite& rewrite) const;
  Status slice_windows(Rewrite& rewrite) const;
  Status slice_holds(Rewrite& rewrite) const;
  Status slice_clamped_holds(Rewrite& rewrite) const;
  Status move_axis_downstream(Rewrite& rewrite) const;
};

/// Take, for each index, the element of the first input at the same place, except on `axis`, where
/// the index selects it.
/// Shapes: data [D0..Dn], indices [I0..In], I <= D but on `axis` -> [I0..In].
/// Types, Errors: as for `Gather`. Stream: pointwise on the other axes.
/// Source: tract, `tract_core_gather_elements`.
class GatherElements final : public OpBase<GatherElements> {
 public:
  int64_t axis = 0;
  GatherElements() = default;
  explicit GatherElements(int64_t on) : axis(on) {}
  std::string_view name() const override { return "GatherElements"; }
  void fields(FieldVisitor& visitor) override { axis_field(visitor, "axis", axis); }
  Result<Facts> infer(FactSpan in) const override;
  void demands(FactSpan in, std::vector<Dim>* non_negative) const override;
  std::optional<NumberRange> indices(int input, FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

/// Take slices of the first input at the positions that the last axis of the second one lists.
/// Shapes: data [B0..Bb, D0..Dn], indices [B0..Bb, I0..Im, k] -> [B0..Bb, I0..Im, Dk..Dn].
/// Types, Errors: as for `Gather`; k is a number.
/// Stream: pointwise on the batch axes and on the axes of the indices but the last.
/// Source: ONNX, `GatherND`; tract, `tract_core_gather_nd`.
class GatherNd final : public OpBase<GatherNd> {
 public:
  int64_t batch_dims = 0;
  GatherNd() = default;
  explicit GatherNd(int64_t batches) : batch_dims(batches) {}
  std::string_view name() const override { return "GatherNd"; }
  void fields(FieldVisitor& visitor) override { axis_field(visitor, "batch_dims", batch_dims); }
  Result<Facts> infer(FactSpan in) const override;
  std::optional<NumberRange> indices(int input, FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status declutter(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;

 private:
  Status drop_zeros(Rewrite& rewrite) const;
};

}  // namespace rill::ops
