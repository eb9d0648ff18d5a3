// How ONNX's Pad is read.

#include <algorithm>

#include "core/base/search.h"
#include "core/graph/onnx.h"
#include "ops/array/broadcast.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/pad.h"
#include "ops/array/slice.h"

namespace rill::ops {
namespace {

/// Amounts in front of and behind an axis.
struct Amounts {
  Dim before;
  Dim after;
};

/// The amounts for every axis of the input.
Result<std::vector<Amounts>> amounts(OnnxCtx& ctx, int rank) {
  RILL_ASSIGN(const std::vector<Dim> written, ctx.dims("pads"));
  std::vector<int64_t> axes;
  if (ctx.given("axes")) {
    RILL_ASSIGN(axes, ctx.integers("axes"));
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  RILL_CHECK(written.size() == 2 * axes.size(), "pads has ", written.size(), " entries, expected ",
             2 * axes.size(), ": all begins, then all ends");
  std::vector<Amounts> pads(static_cast<size_t>(rank), Amounts{Dim(0), Dim(0)});
  for (size_t i = 0; i < axes.size(); ++i) {
    RILL_ASSIGN(const int64_t axis, axis_in(axes[i], rank));
    pads[static_cast<size_t>(axis)] = {written[i], written[axes.size() + i]};
  }
  return pads;
}

/// Amounts that are numbers. What is left as it is has symbols, and becomes 0.
Pads take_numbers(std::vector<Amounts>* written) {
  Pads out;
  for (auto& [before, after] : *written) {
    const auto first = before.to_int();
    const auto last = after.to_int();
    out.emplace_back(first.value_or(0), last.value_or(0));
    if (first) before = Dim(0);
    if (last) after = Dim(0);
  }
  return out;
}

/// Take off what an amount that may be negative cuts; amounts that are left are not negative.
Result<OutletId> cut_sizes(OnnxCtx& ctx, OutletId x, int64_t axis, Amounts* open) {
  const SymbolScope& scope = ctx.graph().scope;
  const auto take = [&](Dim* amount) {
    if (scope.proves_non_negative(*amount)) return Dim(0);
    const Dim cut = scope.proves_ge(Dim(0), *amount) ? -*amount : max(-*amount, Dim(0));
    *amount = scope.proves_ge(Dim(0), *amount) ? Dim(0) : max(*amount, Dim(0));
    return cut;
  };
  const Dim first = take(&open->before);
  const Dim behind = take(&open->after);
  if (first == Dim(0) && behind == Dim(0)) return x;
  const Dim extent = ctx.fact(x).shape[static_cast<size_t>(axis)];
  return ctx.add1(make_op<Slice>(axis, first, extent - behind), {x}, "cut");
}

/// Put copies of a constant around the input, as many as sizes tell.
Result<OutletId> surrounded(OnnxCtx& ctx, OutletId x, std::vector<Amounts> open,
                            const TensorPtr& fill) {
  for (size_t axis = 0; axis < open.size(); ++axis) {
    RILL_ASSIGN(x, cut_sizes(ctx, x, static_cast<int64_t>(axis), &open[axis]));
    std::vector<OutletId> parts = {x};
    const auto put = [&](const Dim& amount, bool front) -> Status {
      if (amount == Dim(0)) return {};
      std::vector<Dim> shape = ctx.fact(x).shape;
      shape[axis] = amount;
      RILL_ASSIGN(Tensor value,
                  fill->reshaped(std::vector<int64_t>(ctx.fact(x).shape.size(), 1)));
      RILL_ASSIGN(const OutletId one, ctx.konst(std::move(value), "fill"));
      RILL_ASSIGN(const OutletId part,
                  ctx.add1(make_op<Broadcast>(std::move(shape)), {one}, "border"));
      parts.insert(front ? parts.begin() : parts.end(), part);
      return {};
    };
    RILL_TRY(put(open[axis].before, true));
    RILL_TRY(put(open[axis].after, false));
    if (parts.size() == 1) continue;
    auto joined = draft_op<Concat>(static_cast<int64_t>(axis));
    RILL_ASSIGN(x, ctx.add1(std::move(joined), parts, "around"));
  }
  return x;
}

Result<TensorPtr> fill_of(OnnxCtx& ctx, const Fact& in) {
  Tensor value = Tensor::scalar(0.0F);
  if (ctx.given("constant_value")) {
    RILL_ASSIGN(const OutletId wire, ctx.wire("constant_value"));
    const TensorPtr konst = ctx.fact(wire).konst;
    if (!konst) return fail(Code::kUnsupported, "input \"constant_value\" depends on data");
    RILL_CHECK(konst->volume() == 1, "constant_value is ", ctx.fact(wire),
               ": expected one element");
    RILL_ASSIGN(value, konst->reshaped({}));
  } else if (ctx.has("value")) {
    RILL_ASSIGN(const float number, ctx.number("value"));
    value = Tensor::scalar(number);
  }
  RILL_ASSIGN(Tensor fill, cast(value, in.dtype, in.q));
  return std::make_shared<const Tensor>(std::move(fill));
}

/// Negative amounts cut.
Result<OutletId> cut(OnnxCtx& ctx, OutletId x, Pads* pads) {
  for (size_t axis = 0; axis < pads->size(); ++axis) {
    auto& [before, after] = (*pads)[axis];
    if (before >= 0 && after >= 0) continue;
    const Dim extent = ctx.fact(x).shape[axis];
    const int64_t first = std::max<int64_t>(0, -before);
    const int64_t behind = std::max<int64_t>(0, -after);
    auto op = draft_op<Slice>(static_cast<int64_t>(axis), Dim(first), extent - Dim(behind));
    RILL_ASSIGN(x, ctx.add1(std::move(op), {x}, "cut"));
    before = std::max<int64_t>(0, before);
    after = std::max<int64_t>(0, after);
  }
  return x;
}

/// Go on with the entries of the other side, as often as that takes.
Result<OutletId> wrapped(OnnxCtx& ctx, OutletId x, const Pads& pads) {
  for (size_t axis = 0; axis < pads.size(); ++axis) {
    const auto [before, after] = pads[axis];
    if (before == 0 && after == 0) continue;
    const auto at = static_cast<int64_t>(axis);
    RILL_ASSIGN(const int64_t extent, ctx.fact(x).shape[axis].as_int());
    RILL_CHECK(extent > 0, "nothing goes on behind no entries");
    // Whole copies on both sides, of which the outer ones are cut.
    const int64_t front = (before + extent - 1) / extent;
    const int64_t copies = front + 1 + (after + extent - 1) / extent;
    RILL_CHECK(copies <= 4096, "pads of ", before, " and ", after, " for ", extent, " entries");
    auto joined = draft_op<Concat>(at);
    const std::vector<OutletId> all(static_cast<size_t>(copies), x);
    RILL_ASSIGN(x, ctx.add1(std::move(joined), all, "copies"));
    const int64_t begin = front * extent - before;
    RILL_ASSIGN(x, ctx.add1(make_op<Slice>(at, Dim(begin), Dim(begin + before + extent + after)),
                            {x}, "around"));
  }
  return x;
}

Result<Value> pad(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("data"));
  RILL_ASSIGN(std::vector<Amounts> open, amounts(ctx, ctx.fact(x).rank()));
  Pads pads = take_numbers(&open);
  RILL_ASSIGN(std::string mode, ctx.text("mode"));
  RILL_ASSIGN(TensorPtr fill, fill_of(ctx, ctx.fact(x)));
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return fail(Code::kUnsupported, "attribute \"mode\" is ", mode,
                ": expected constant, reflect, edge or wrap");
  }
  if (mode == "edge") mode = "replicated";
  RILL_ASSIGN(x, cut(ctx, x, &pads));
  const auto is_open = [](const Amounts& each) {
    return !each.before.is_const() || !each.after.is_const();
  };
  if (any_of(open, is_open)) {
    if (mode != "constant") {
      return fail(Code::kUnsupported, "pads that sizes tell, of mode ", mode, ": expected constant")
          .hint("Set the symbols, as in --set S=16000");
    }
    RILL_ASSIGN(x, surrounded(ctx, x, open, fill));
  }
  if (mode == "wrap") {
    RILL_ASSIGN(x, wrapped(ctx, x, pads));
    return as_value(x);
  }
  return ctx.add_value(make_op<Pad>(std::move(pads), std::move(mode), std::move(fill)), {x});
}

/// Cut or put zeros on both sides; of an odd number, the larger half goes behind.
Result<Value> center(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("input_data"));
  RILL_ASSIGN(const std::vector<int64_t> shape, ctx.integers("shape"));
  std::vector<int64_t> axes;
  if (ctx.given("axes")) {
    RILL_ASSIGN(axes, ctx.integers("axes"));
  } else {
    for (int axis = 0; axis < ctx.fact(x).rank(); ++axis) axes.push_back(axis);
  }
  RILL_CHECK(shape.size() == axes.size(), "shape has ", shape.size(), " entries, expected ",
             axes.size());
  Pads pads(static_cast<size_t>(ctx.fact(x).rank()));
  for (size_t i = 0; i < axes.size(); ++i) {
    RILL_ASSIGN(const int64_t axis, axis_in(axes[i], ctx.fact(x).rank()));
    RILL_ASSIGN(const int64_t own, ctx.fact(x).dim(static_cast<int>(axis)).as_int());
    const int64_t more = shape[i] - own;
    const int64_t front = more >= 0 ? more / 2 : -(-more / 2);
    pads[static_cast<size_t>(axis)] = {front, more - front};
  }
  RILL_ASSIGN(x, cut(ctx, x, &pads));
  RILL_ASSIGN(Tensor zero, cast(Tensor::scalar(0.0F), ctx.fact(x).dtype, ctx.fact(x).q));
  return ctx.add_value(
      make_op<Pad>(std::move(pads), "constant", std::make_shared<const Tensor>(std::move(zero))),
      {x});
}

const OnnxOp kOps[] = {
    {"", 18,
     "fragment CenterCropPad(input_data: tensor<?>, shape: tensor<integer>, axes: integer[] = []) "
     "-> (output_data: tensor<?>);",
     center},
    {"", 2, "fragment Pad(data: tensor<?>, mode: string = 'constant', pads: integer[], "
            "value: scalar = 0.0) -> (output: tensor<?>);",
     pad},
    {"", 11, "fragment Pad(data: tensor<?>, pads: tensor<integer>, "
             "constant_value: tensor<?> = false, mode: string = 'constant') "
             "-> (output: tensor<?>);",
     pad},
    {"", 18, "fragment Pad(data: tensor<?>, pads: tensor<integer>, "
             "constant_value: tensor<?> = false, axes: tensor<integer> = false, "
             "mode: string = 'constant') -> (output: tensor<?>);",
     pad},
};

}  // namespace

extern const OnnxRoom pad_onnx;
const OnnxRoom pad_onnx = {"pad", kOps};

}  // namespace rill::ops
