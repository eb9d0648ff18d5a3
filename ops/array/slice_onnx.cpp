// Reads ONNX's Slice.

#include <limits>
#include <numeric>

#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/course.h"
#include "core/graph/onnx.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/gather.h"
#include "ops/array/index_run.h"
#include "ops/array/range.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

// Exporters write the largest 32-bit or 64-bit number for "to the end", and the least one for "to
// the start" of a backward slice.
constexpr int64_t kFar = std::numeric_limits<int32_t>::max();

// Larger than any axis: JAX writes 10^9 for "to the end".
constexpr int64_t kBeyond = int64_t{1} << 28;

/// Count a bound from the start, and clamp it to the axis as far as this is provable.
Result<Dim> bound(OnnxCtx& ctx, const Dim& written, const Dim& extent, const Dim& least,
                  const Dim& most) {
  const SymbolScope& scope = ctx.graph().scope;
  const auto number = written.to_int();
  if (number && *number >= kFar) return most;
  if (number && *number < -kFar) return least;
  if (number && *number >= kBeyond && !scope.proves_ge(most, written)) return most;
  Dim out = written;
  if (number ? *number < 0 : scope.proves_non_negative(Dim(-1) - written)) {
    out = written + extent;
  } else if (!number && !scope.proves_non_negative(written)) {
    const Dim from_start = written + extent * (Dim(1) - ge(written, Dim(0)));
    if (ctx.clamps()) return min(max(from_start, least), most);
    // If this leads to invalid shapes, assert extents that decide the sign.
    RILL_TRY(presume_sign(ctx.graph(), written, extent));
    if (!scope.proves_non_negative(written)) out = written + extent;
  }
  if (scope.proves_ge(out, most)) return most;
  if (scope.proves_ge(least, out)) return least;
  return out;
}

/// Return whether an end means "no end". onnxruntime accepts these numbers in both directions. The
/// standard requires the least number for a backward slice down to the first element.
bool is_no_end(const Dim& end) {
  const auto number = end.to_int();
  return number && (*number == kFar || *number == std::numeric_limits<int64_t>::max());
}

/// Slice downwards in steps from `begin` to the element after `end`.
Result<OutletId> backwards(OnnxCtx& ctx, OutletId x, int64_t axis, const Dim& written_begin,
                           const Dim& written_end, int64_t step) {
  const SymbolScope& scope = ctx.graph().scope;
  const Dim extent = ctx.fact(x).dim(static_cast<int>(axis));
  const Dim last = extent - Dim(1);
  RILL_ASSIGN(Dim begin, bound(ctx, written_begin, extent, Dim(0), last));
  if (begin.is_const() && !scope.proves_ge(last, begin) && ctx.clamps()) begin = min(begin, last);
  const Dim stated_end = is_no_end(written_end) ? Dim(-kFar - 1) : written_end;
  RILL_ASSIGN(const Dim end, bound(ctx, stated_end, extent, Dim(-1), last));
  // A begin before the first frame is read as the first frame, where NumPy's slice would be empty.
  // The last frame is assumed to exist.
  const bool from_last = (last - begin).to_int().value_or(0) == 0;
  if (!from_last && !scope.proves_non_negative(begin) && ctx.clamps()) begin = max(begin, Dim(0));
  Dim from = end + Dim(1);
  if (!scope.proves_non_negative(from) && ctx.clamps()) from = max(from, Dim(0));
  const Dim to = scope.proves_ge(from, begin + Dim(1)) ? from : begin + Dim(1);
  if (!scope.proves_ge(to, from) && ctx.clamps()) from = min(from, to);
  RILL_ASSIGN(x, ctx.add1(make_op<Slice>(axis, from, to), {x}, "part"));
  return ctx.add1(make_op<Downsample>(axis, step, 0), {x});
}

/// Return whether an end with symbols of the extent counts as within the axis. With one symbol,
/// decide whether it is. One frame is assumed to exist.
bool ends_inside(const Dim& end, const Dim& extent) {
  if (end == Dim(1)) return true;
  std::vector<std::string> symbols;
  end.collect_symbols(&symbols);
  if (none_of(symbols, [&](const std::string& each) { return extent.mentions(each); })) {
    return false;
  }
  extent.collect_symbols(&symbols);
  const auto pattern = DimPattern::of(extent - end, symbols[0]);
  if (!pattern.ok()) return symbols.size() > 1;
  const auto least = pattern->least(1);
  return least.ok() && *least && **least >= 0;
}

/// Clamp a slice of the first or last frames to an axis that may be shorter. One frame is assumed
/// to exist.
void clamp(OnnxCtx& ctx, const Dim& extent, Dim* begin, Dim* end) {
  const SymbolScope& scope = ctx.graph().scope;
  if (!ends_inside(*end, extent) && !scope.proves_ge(extent, *end) && ctx.clamps()) {
    *end = min(*end, extent);
  }
  const auto back = (extent - *begin).to_int();
  if (back && *back > 1 && !scope.proves_non_negative(*begin) && ctx.clamps()) {
    *begin = max(*begin, Dim(0));
  }
}

Result<OutletId> forwards(OnnxCtx& ctx, OutletId x, int64_t axis, const Dim& written_begin,
                          const Dim& written_end, int64_t step) {
  const SymbolScope& scope = ctx.graph().scope;
  const Dim extent = ctx.fact(x).dim(static_cast<int>(axis));
  RILL_ASSIGN(Dim begin, bound(ctx, written_begin, extent, Dim(0), extent));
  RILL_ASSIGN(Dim end, bound(ctx, written_end, extent, Dim(0), extent));
  if (scope.proves_ge(begin, end)) end = begin;
  clamp(ctx, extent, &begin, &end);
  if (begin != Dim(0) || end != extent) {
    RILL_ASSIGN(x, ctx.add1(make_op<Slice>(axis, begin, end), {x}));
  }
  if (step == 1) return x;
  return ctx.add1(make_op<Downsample>(axis, step, 0), {x}, "steps");
}

/// An integer that is computed from data, plus a size.
struct DataOffset {
  OutletId from;
  Dim plus = 0;
};

/// Trace a wire with one integer upstream through sums with sizes.
DataOffset offset_of(const Graph& graph, OutletId wire) {
  constexpr int kMostSteps = 16;
  DataOffset out{wire};
  for (int step = 0; step < kMostSteps; ++step) {
    const Node& node = graph.node(out.from.node);
    const Course course = node.op->course();
    const auto raw = cast_from(node);
    const bool cast =
        raw && counts_rows(graph.fact(*raw).dtype) && counts_rows(node.outputs[0].dtype);
    int next = node.op->traits().keeps_order || cast ? 0 : -1;
    const bool less = course.is(Course::Function::kSub);
    const bool sum = less || course.is(Course::Function::kAdd);
    for (int i = less ? 1 : 0; sum && i < 2 && next < 0; ++i) {
      const OutletId other = node.inputs[static_cast<size_t>(i)];
      if (!(volume(graph.fact(other).shape) == Dim(1))) continue;
      const auto size = symbolic_value(graph, other);
      const Dim plus = size ? (less ? out.plus - *size : out.plus + *size) : Dim::invalid();
      if (!plus.valid()) continue;
      out.plus = plus;
      next = 1 - i;
    }
    if (next < 0) break;
    out.from = node.inputs[static_cast<size_t>(next)];
  }
  return out;
}

/// Replace a slice with a fixed number of rows and a data-dependent begin, such as `pe[:, t:t +
/// 4]`, by a gather. Nothing for other slices.
Result<std::optional<Value>> rows_at_data(OnnxCtx& ctx, OutletId x) {
  constexpr int64_t kMostRows = 1 << 20;
  RILL_ASSIGN(const OutletId start, ctx.wire("starts"));
  RILL_ASSIGN(const OutletId end, ctx.wire("ends"));
  const DataOffset first = offset_of(ctx.graph(), start);
  const DataOffset last = offset_of(ctx.graph(), end);
  const DType dtype = ctx.fact(first.from).dtype;
  const bool one = volume(ctx.fact(start).shape) == Dim(1) && first.from == last.from;
  const Dim count = ctx.graph().scope.simplify(last.plus - first.plus);
  const auto number = count.to_int();
  const bool some = !number || (*number >= 1 && *number <= kMostRows);
  if (!one || !some || (dtype != DType::kI64 && dtype != DType::kI32)) {
    return std::optional<Value>();
  }
  std::vector<int64_t> axes = {0};
  std::vector<int64_t> steps = {1};
  if (ctx.given("axes")) {
    RILL_ASSIGN(axes, ctx.integers("axes"));
  }
  if (ctx.given("steps")) {
    RILL_ASSIGN(steps, ctx.integers("steps"));
  }
  if (axes.size() != 1 || steps != std::vector<int64_t>{1}) return std::optional<Value>();
  RILL_ASSIGN(const int64_t axis, axis_in(axes[0], ctx.fact(x).rank()));
  RILL_ASSIGN(OutletId counted,
              ctx.add1(make_op<Range>(first.plus, first.plus + count, 1), {}, "rows"));
  RILL_ASSIGN(counted, cast_to(ctx, counted, dtype));
  const int rank = ctx.fact(first.from).rank();
  RILL_ASSIGN(const OutletId from, ctx.add1(make_op<Reshape>(0, rank, std::vector<Dim>{Dim(1)}),
                                            {first.from}, "first"));
  RILL_ASSIGN(const OutletId places,
              ctx.call1("add", {{"x", Value(counted)}, {"y", Value(from)}}));
  RILL_ASSIGN(const OutletId out, ctx.add1(make_op<Gather>(axis), {x, places}));
  return std::optional(Value(out));
}

Result<Value> slice(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("data"));
  if (ctx.opset() >= 10 && !computed_dims(ctx, "starts").ok()) {
    RILL_ASSIGN(auto rows, rows_at_data(ctx, x));
    if (rows) return *std::move(rows);
  }
  RILL_ASSIGN(const std::vector<Dim> starts, computed_dims(ctx, "starts"));
  RILL_ASSIGN(const std::vector<Dim> ends, computed_dims(ctx, "ends"));
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.given("axes")) {
    RILL_ASSIGN(axes, ctx.integers("axes"));
  }
  std::vector<int64_t> steps(starts.size(), 1);
  if (ctx.given("steps")) {
    RILL_ASSIGN(steps, ctx.integers("steps"));
  }
  RILL_CHECK(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      "starts, ends, axes and steps have ", starts.size(), ", ", ends.size(), ", ", axes.size(),
      " and ", counted(steps.size(), "entry", "entries"), ", expected one each per axis");
  std::vector<int64_t> seen;
  for (size_t i = 0; i < axes.size(); ++i) {
    RILL_ASSIGN(const int64_t axis, axis_in(axes[i], ctx.fact(x).rank()));
    RILL_CHECK(!contains(seen, axis), "axes ", axes, ": expected each axis once");
    seen.push_back(axis);
    RILL_CHECK(steps[i] != 0, "a step of 0");
    RILL_ASSIGN(x, steps[i] > 0 ? forwards(ctx, x, axis, starts[i], ends[i], steps[i])
                                : backwards(ctx, x, axis, starts[i], ends[i], steps[i]));
  }
  return as_value(x);
}

const OnnxOp kOps[] = {
    {"", 1,
     "fragment Slice(data: tensor<?>, axes: integer[] = [], ends: integer[], starts: integer[]) "
     "-> (output: tensor<?>);",
     slice},
    {"", 10,
     "fragment Slice(data: tensor<?>, starts: tensor<integer>, ends: tensor<integer>, "
     "axes: tensor<integer> = false, steps: tensor<integer> = false) -> (output: tensor<?>);",
     slice},
};

}  // namespace

extern const OnnxModule slice_onnx;
const OnnxModule slice_onnx = {"slice", kOps};

}  // namespace rill::ops
