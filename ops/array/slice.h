#pragma once

#include <cstdint>

#include "core/graph/op.h"

namespace rill::ops {

/// Keep `begin <= index < end` along one axis.
/// Shapes: [D0..Dn] -> the same with end - begin on `axis`, or 0 if `end` is before `begin`; bounds
/// may be symbolic.
/// Types: all except block-quantised constants.
/// Errors: kShape if there is no such axis, or a bound is out of range once it is a number.
/// Stream: on the streaming axis, `begin` is added to the delay, and no data moves. A fixed range
/// of frames is kept once it has arrived. A begin at an unknown distance from the start is refused.
/// On other axes, each pulse is sliced. A slice of a table to the length of a stream gives one row
/// per frame.
/// Source: NNEF 1.0, `slice`.
class Slice final : public OpBase<Slice> {
 public:
  int64_t axis = 0;
  Dim begin;
  Dim end;
  /// Whether the bounds contained symbols originally. Such a slice of a table is not folded when
  /// the symbols are bound, so that a whole run computes the same bits as a stream.
  bool open = false;
  Slice(int64_t on, Dim from, Dim to)
      : axis(on),
        begin(std::move(from)),
        end(std::move(to)),
        open(!(begin.is_const() && end.is_const())) {}
  std::string_view name() const override { return "Slice"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("axis", axis);
    visitor.field("begin", begin);
    visitor.field("end", end);
    if (open && begin.is_const() && end.is_const()) visitor.field("open", open);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return !open; }
  Course course() const override;
  bool repeatable() const override { return begin.is_const() && end.is_const(); }
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;

 private:
  Status take_from_padding(Rewrite& rewrite) const;
};

/// Keep every |stride|-th element along one axis: upwards from index `modulo`, or, for a negative
/// stride, downwards from index D - 1 - `modulo`.
/// Shapes: [D0..Dn] -> the same with ceil((D - modulo) / |stride|) on `axis`.
/// Types: all except block-quantised constants.
/// Errors: kShape if there is no such axis, `stride` is 0 or `modulo` is negative.
/// Stream: on the streaming axis, the stride must divide the pulse, and must be positive; the delay
/// becomes floor((delay + modulo) / stride).
/// Source: tract, `tract_core_downsample`; NNEF 1.0, `slice` with a stride.
class Downsample final : public OpBase<Downsample> {
 public:
  int64_t axis = 0;
  int64_t stride = 1;
  int64_t modulo = 0;
  Downsample() = default;
  Downsample(int64_t on, int64_t every, int64_t first) : axis(on), stride(every), modulo(first) {}
  std::string_view name() const override { return "Downsample"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("axis", axis);
    visitor.field("stride", stride);
    visitor.field("modulo", modulo);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
