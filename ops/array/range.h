#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Count from `start` in steps, up to but not including `end`.
/// Shapes: no input -> [ceil(|end - start| / |step|)]; empty if symbolic bounds turn out to be in
/// the wrong order.
/// Types: none -> i64. Errors: kShape if the step is 0.
/// Stream: a range up to the length of a stream counts its frames; `start` must be a number.
/// Source: tract, `tract_core_range`.
class Range final : public OpBase<Range> {
 public:
  Dim start;
  Dim end;
  int64_t step = 1;
  /// Whether the bounds contained symbols originally. Such a range is not folded when the symbols
  /// are bound, so that a whole run computes the same bits as a stream.
  bool open = false;
  Range() = default;
  Range(Dim from, Dim to, int64_t by)
      : start(std::move(from)),
        end(std::move(to)),
        step(by),
        open(!(start.is_const() && end.is_const())) {}
  std::string_view name() const override { return "Range"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("start", start);
    visitor.field("end", end);
    visitor.field("step", step);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return !open; }
  Course course() const override;
  bool repeatable() const override { return start.is_const(); }
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
