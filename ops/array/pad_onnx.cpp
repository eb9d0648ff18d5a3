// Reads ONNX's Pad and CenterCropPad.

#include <algorithm>

#include "core/base/search.h"
#include "core/graph/onnx.h"
#include "core/graph/typed.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/open_pad.h"
#include "ops/array/pad.h"
#include "ops/array/slice.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

/// Return the amounts for every axis of the input, 0 for axes that the node omits.
Result<std::vector<Amounts>> amounts(OnnxCtx& ctx, int rank) {
  RILL_ASSIGN(const std::vector<Dim> written, ctx.dims("pads"));
  std::vector<int64_t> axes;
  if (ctx.given("axes")) {
    RILL_ASSIGN(axes, ctx.integers("axes"));
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  RILL_CHECK(written.size() == 2 * axes.size(), "pads has ",
             counted(written.size(), "entry", "entries"), ", expected ", 2 * axes.size(),
             ": all begins, then all ends");
  std::vector<Amounts> pads(static_cast<size_t>(rank), Amounts{Dim(0), Dim(0)});
  for (size_t i = 0; i < axes.size(); ++i) {
    RILL_ASSIGN(const int64_t axis, axis_in(axes[i], rank));
    pads[static_cast<size_t>(axis)] = {written[i], written[axes.size() + i]};
  }
  return pads;
}

/// Move the amounts of axes with two constants out, and set them to 0; the amounts of other axes
/// stay in `written`.
Pads take_numbers(std::vector<Amounts>* written) {
  Pads out;
  for (auto& [before, after] : *written) {
    const auto first = before.to_int();
    const auto last = after.to_int();
    const bool known = first && last;
    out.emplace_back(known ? *first : 0, known ? *last : 0);
    if (known) before = after = Dim(0);
  }
  return out;
}

/// Return the axes that have an amount other than 0.
std::vector<OpenPads> open_pads(const std::vector<Amounts>& amounts) {
  std::vector<OpenPads> out;
  for (size_t axis = 0; axis < amounts.size(); ++axis) {
    const auto& [before, after] = amounts[axis];
    if (before == Dim(0) && after == Dim(0)) continue;
    out.push_back({static_cast<int>(axis), before, after});
  }
  return out;
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
  RILL_ASSIGN(Tensor fill, as_type_of(value, in));
  return std::make_shared<const Tensor>(std::move(fill));
}

/// Apply negative amounts as cuts, and set them to 0. If a cut may reach entries that are added at
/// the other end, put it into `later` instead; null if no cut can be made later.
Result<OutletId> cut_negative(OnnxCtx& ctx, OutletId x, Pads* pads, std::vector<Amounts>* later) {
  for (size_t axis = 0; axis < pads->size(); ++axis) {
    auto& [before, after] = (*pads)[axis];
    if (before >= 0 && after >= 0) continue;
    const Dim extent = ctx.fact(x).shape[axis];
    const auto left = (extent + Dim(before) + Dim(after)).to_int();
    RILL_CHECK(!left || *left >= 0, "pads of ", before, " and ", after, " cut more than the ",
               extent, " entries of axis ", axis);
    const Amounts cuts{Dim(std::max<int64_t>(0, -before)), Dim(std::max<int64_t>(0, -after))};
    before = std::max<int64_t>(0, before);
    after = std::max<int64_t>(0, after);
    if (later && cuts_take_added(ctx.graph().scope, extent, cuts, {Dim(before), Dim(after)})) {
      (*later)[axis] = cuts;
    } else {
      RILL_ASSIGN(x, cut_ends(ctx, x, static_cast<int>(axis), cuts));
    }
  }
  return x;
}

/// Pad with the entries from the other end, wrapping around as often as needed.
Result<OutletId> wrapped(OnnxCtx& ctx, OutletId x, const Pads& pads) {
  for (size_t axis = 0; axis < pads.size(); ++axis) {
    const auto [before, after] = pads[axis];
    if (before == 0 && after == 0) continue;
    const auto at = static_cast<int64_t>(axis);
    const auto number = ctx.fact(x).shape[axis].to_int();
    if (!number) {
      return fail(Code::kSymbol, "mode wrap repeats the other end of axis ", axis, ", which has ",
                  ctx.fact(x).shape[axis], " entries: expected a number")
          .hint("It cannot stream. Whole runs bind the symbols, or set them, as in --set S=16000");
    }
    const int64_t extent = *number;
    RILL_CHECK(extent > 0, "an empty axis has no entries to repeat");
    // Concatenate whole copies, and cut the outer ones.
    const int64_t front = (before + extent - 1) / extent;
    const int64_t copies = front + 1 + (after + extent - 1) / extent;
    RILL_CHECK(copies <= 4096, "pads of ", before, " and ", after, " for ",
               counted(extent, "entry", "entries"));
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
  std::vector<Amounts> later(pads.size(), Amounts{Dim(0), Dim(0)});
  RILL_ASSIGN(x, cut_negative(ctx, x, &pads, mode == "constant" ? &later : nullptr));
  const std::vector<OpenPads> amounts_open = open_pads(open);
  if (!amounts_open.empty()) {
    if (mode == "wrap") {
      return fail(Code::kUnsupported, "symbolic pads of mode wrap: expected constant, ",
                  "reflect or edge")
          .hint("Set the symbols, as in --set S=16000");
    }
    RILL_ASSIGN(x, pad_open(ctx, x, amounts_open, mode, *fill));
  }
  if (mode == "wrap") {
    RILL_ASSIGN(x, wrapped(ctx, x, pads));
    return as_value(x);
  }
  const bool cuts = any_of(later, [](const Amounts& each) {
    return !(each.before == Dim(0)) || !(each.after == Dim(0));
  });
  RILL_ASSIGN(x, ctx.add1(make_op<Pad>(std::move(pads), std::move(mode), std::move(fill)), {x},
                          cuts ? "padded" : ""));
  for (size_t axis = 0; axis < later.size(); ++axis) {
    RILL_ASSIGN(x, cut_ends(ctx, x, static_cast<int>(axis), later[axis]));
  }
  return as_value(x);
}

/// Cut or zero-pad both ends of an axis if an extent is symbolic. If the difference is odd, the
/// larger half is at the end.
Result<OutletId> centered_open(OnnxCtx& ctx, OutletId x, int axis, const Dim& to,
                               const Tensor& zero) {
  const Dim from = ctx.fact(x).dim(axis);
  const SymbolScope& scope = ctx.graph().scope;
  const Dim more = scope.simplify(max(to - from, Dim(0)));
  const Dim less = scope.simplify(max(from - to, Dim(0)));
  const Dim front = floor_div(more, 2);
  RILL_ASSIGN(x, pad_open(ctx, x, {{axis, front, more - front}}, "constant", zero));
  const Dim begin = floor_div(less, 2);
  return ctx.add1(make_op<Slice>(axis, begin, begin + to), {x}, "center");
}

/// Cut or zero-pad both ends of axes. If the difference is odd, the larger half is at the end.
Result<Value> center(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("input_data"));
  RILL_ASSIGN(const std::vector<Dim> shape, computed_dims(ctx, "shape"));
  std::vector<int64_t> axes;
  if (ctx.given("axes")) {
    RILL_ASSIGN(axes, ctx.integers("axes"));
  } else {
    for (int axis = 0; axis < ctx.fact(x).rank(); ++axis) axes.push_back(axis);
  }
  RILL_CHECK(shape.size() == axes.size(), "shape has ", counted(shape.size(), "entry", "entries"),
             ", expected ", axes.size());
  RILL_ASSIGN(Tensor zero, as_type_of(Tensor::scalar(0.0F), ctx.fact(x)));
  Pads pads(static_cast<size_t>(ctx.fact(x).rank()));
  for (size_t i = 0; i < axes.size(); ++i) {
    RILL_ASSIGN(const int64_t axis, axis_in(axes[i], ctx.fact(x).rank()));
    const Dim own = ctx.fact(x).dim(static_cast<int>(axis));
    const auto more = (shape[i] - own).to_int();
    if (!more) {
      RILL_ASSIGN(x, centered_open(ctx, x, static_cast<int>(axis), shape[i], zero));
      continue;
    }
    const int64_t front = *more >= 0 ? *more / 2 : -(-*more / 2);
    pads[static_cast<size_t>(axis)] = {front, *more - front};
  }
  RILL_ASSIGN(x, cut_negative(ctx, x, &pads, nullptr));
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

extern const OnnxModule pad_onnx;
const OnnxModule pad_onnx = {"pad", kOps};

}  // namespace rill::ops
