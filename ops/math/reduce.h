#pragma once

#include <span>
#include <vector>

#include "core/graph/nnef.h"
#include "core/graph/op.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Return the class of precision: sums and products can leave the range of their operands.
inline Precision precision_of(ReduceKind kind) {
  const bool sums = kind == ReduceKind::kSum || kind == ReduceKind::kProduct;
  return sums ? Precision::kSums : Precision::kFollows;
}

/// Combine all elements along some axes; each axis stays, with extent 1.
/// Shapes: [D0..Dn] -> the same with 1 on `axes`; argmin, argmax: the flat index over them.
/// Types: sum: numbers, integers in 64 bits and wrapped; product: also dims; min, max, argmin,
/// argmax: numbers; any, all: bool. argmin and argmax give i64, the others the input's type.
/// Errors: kShape if there is no such axis; kDType.
/// Empty axes: sum 0, product 1, max the lowest number, min the highest, any false, all true.
/// NaN: an extreme of elements with a NaN is NaN; argmin and argmax return its index, of several
/// the first, or with `last` the last.
/// Stream: pointwise on the axes that are not reduced. Over the streaming axis, numbers and bools
/// only: the result is known at the end of the stream. Static inputs give static results.
/// Source: NNEF 1.0, `sum_reduce` and similar operators; tract, `tract_core_product_reduce`.
class Reduce final : public OpBase<Reduce> {
 public:
  ReduceKind kind_of = ReduceKind::kSum;
  std::vector<int64_t> reduced;  ///< ascending, each once
  bool last = false;             ///< argmin, argmax: the last of equal extrema
  Reduce() = default;
  Reduce(ReduceKind which, std::vector<int64_t> axes_reduced, bool take_last = false)
      : kind_of(which), reduced(std::move(axes_reduced)), last(take_last) {}
  std::string_view name() const override;
  void fields(FieldVisitor& visitor) override;
  void all_fields(FieldVisitor& visitor);
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  OpTraits traits() const override { return {.precision = precision_of(kind_of)}; }
  Status save(SaveCtx& ctx) const override;

 private:
  Status split(Rewrite& rewrite) const;
};

/// Divide a sum by its number of terms.
Result<OutletId> load_mean(LoadCtx& ctx, OutletId sum, const Dim& count,
                           std::string_view suffix = {});

/// Set the extents of ascending axes to 1. Errors: kShape for a missing axis.
Status reduce_axes(std::span<const int64_t> axes, Fact* out);

}  // namespace rill::ops
