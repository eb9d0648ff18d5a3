#include "ops/array/open_pad.h"

#include "core/dim/bound.h"
#include "ops/array/broadcast.h"
#include "ops/array/concat.h"
#include "ops/array/pad.h"
#include "ops/array/slice.h"

namespace rill::ops {
namespace {

// More frames than any window has. More padding, which is cut afterwards, would cost time.
constexpr int64_t kMostCut = 1 << 16;

constexpr const char* kConstant = "constant";

class OpenPadder {
 public:
  OpenPadder(LoadCtx& ctx, const std::string& mode, const Tensor& border)
      : ctx_(ctx), mode_(mode), border_(border) {}

  Result<OutletId> padded(OutletId x, const OpenPads& pads) {
    axis_ = pads.axis;
    Dim before = ctx_.graph().scope.simplify(pads.before);
    Dim after = ctx_.graph().scope.simplify(pads.after);
    const Amounts cuts = take_cuts(&before, &after);
    if (mode_ == kConstant &&
        cuts_take_added(ctx_.graph().scope, extent(x), cuts, {before, after})) {
      RILL_ASSIGN(x, added(x, before, after));
      return cut_ends(ctx_, x, axis_, cuts);
    }
    RILL_ASSIGN(x, cut_ends(ctx_, x, axis_, cuts));
    return added(x, before, after);
  }

 private:
  /// Pad by non-negative amounts.
  Result<OutletId> added(OutletId x, const Dim& before, const Dim& after) {
    if (before == Dim(0) && after == Dim(0)) return x;
    const auto most_before = bound_of(before);
    const auto most_after = bound_of(after);
    if (most_before && *most_before <= kMostCut && most_after && *most_after <= kMostCut) {
      return padded_and_cut(x, before, after, {*most_before, *most_after});
    }
    if (mode_ == kConstant) return joined(x, before, after);
    return fail(Code::kUnsupported, "padding of ", before, " and ", after, " frames, of mode ",
                mode_, ": the amounts have no bound")
        .hint("Set the symbols, as in --set S=16000");
  }

  /// Return the cuts that negative amounts mean, and set those amounts to 0.
  Amounts take_cuts(Dim* before, Dim* after) const {
    const SymbolScope& scope = ctx_.graph().scope;
    const auto take = [&](Dim* amount) {
      if (scope.proves_non_negative(*amount)) return Dim(0);
      const bool negative = scope.proves_ge(Dim(0), *amount);
      const Dim cut = negative ? -*amount : max(-*amount, Dim(0));
      *amount = negative ? Dim(0) : max(*amount, Dim(0));
      return cut;
    };
    Dim first = take(before);
    return {std::move(first), take(after)};
  }

  /// Pad by the upper bounds of the amounts, and cut the surplus.
  Result<OutletId> padded_and_cut(OutletId x, const Dim& before, const Dim& after,
                                  std::pair<int64_t, int64_t> most) {
    const Dim length = extent(x);
    Pads pads(ctx_.fact(x).shape.size());
    pads[static_cast<size_t>(axis_)] = most;
    auto op = draft_op<Pad>(std::move(pads), mode_, std::make_shared<const Tensor>(border_));
    const bool whole = before == Dim(most.first) && after == Dim(most.second);
    RILL_ASSIGN(x, ctx_.add1(std::move(op), {x}, whole ? "" : "most"));
    if (whole) return x;
    const Dim begin = Dim(most.first) - before;
    auto part = draft_op<Slice>(axis_, begin, Dim(most.first) + length + after);
    return ctx_.add1(std::move(part), {x}, "around");
  }

  /// Concatenate copies of the border on both sides.
  Result<OutletId> joined(OutletId x, const Dim& before, const Dim& after) {
    std::vector<OutletId> parts = {x};
    const auto put = [&](const Dim& amount, bool front) -> Status {
      if (amount == Dim(0)) return {};
      std::vector<Dim> shape = ctx_.fact(x).shape;
      shape[static_cast<size_t>(axis_)] = amount;
      RILL_ASSIGN(Tensor one, border_.reshaped(std::vector<int64_t>(shape.size(), 1)));
      RILL_ASSIGN(const OutletId fill, ctx_.konst(std::move(one), "fill"));
      RILL_ASSIGN(const OutletId part,
                  ctx_.add1(make_op<Broadcast>(std::move(shape)), {fill}, "border"));
      parts.insert(front ? parts.begin() : parts.end(), part);
      return {};
    };
    RILL_TRY(put(before, true));
    RILL_TRY(put(after, false));
    return ctx_.add1(make_op<Concat>(axis_), parts, "around");
  }

  Dim extent(OutletId x) const { return ctx_.fact(x).dim(axis_); }

  LoadCtx& ctx_;
  const std::string& mode_;
  const Tensor& border_;
  int axis_ = 0;
};

}  // namespace

Result<OutletId> cut_ends(LoadCtx& ctx, OutletId x, int axis, const Amounts& cuts) {
  if (cuts.before == Dim(0) && cuts.after == Dim(0)) return x;
  const Dim extent = ctx.fact(x).dim(axis);
  return ctx.add1(make_op<Slice>(axis, cuts.before, extent - cuts.after), {x}, "cut");
}

bool cuts_take_added(const SymbolScope& scope, const Dim& extent, const Amounts& cuts,
                     const Amounts& added) {
  const bool at_other_end = (!(cuts.before == Dim(0)) && !(added.after == Dim(0))) ||
                            (!(cuts.after == Dim(0)) && !(added.before == Dim(0)));
  return at_other_end && !scope.proves_ge(extent, cuts.before + cuts.after);
}

Result<OutletId> pad_open(LoadCtx& ctx, OutletId x, const std::vector<OpenPads>& pads,
                          const std::string& mode, const Tensor& border) {
  OpenPadder padder(ctx, mode, border);
  for (const OpenPads& each : pads) {
    RILL_ASSIGN(x, padder.padded(x, each));
  }
  return x;
}

}  // namespace rill::ops
