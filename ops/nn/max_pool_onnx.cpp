// Reads ONNX's max pools.

#include <algorithm>

#include "ops/array/slice.h"
#include "ops/nn/onnx_pool.h"

namespace rill::ops {
namespace {

/// Pad the spatial axes with constants.
OutletId bordered(Formula& f, OutletId x, const Pads& pads, double value) {
  for (size_t i = 0; i < pads.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    std::vector<OutletId> parts = {x};
    const auto put = [&](int64_t count, bool front) {
      if (count <= 0) return;
      std::vector<Dim> shape = f.fact(x).shape;
      shape[static_cast<size_t>(axis)] = Dim(count);
      const OutletId part = f.broadcast(f.number(value, x), std::move(shape));
      parts.insert(front ? parts.begin() : parts.end(), part);
    };
    put(pads[i].first, true);
    put(pads[i].second, false);
    if (parts.size() > 1) x = f.concat(parts, axis);
  }
  return x;
}

/// Return the element of each window at the tap `tap`.
OutletId at_tap(Formula& f, OutletId x, OutletId out, const Window& window,
                const std::vector<int64_t>& tap) {
  for (size_t i = 0; i < tap.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Dim first(tap[i] * window.dilation[i]);
    const Dim span = (f.dim(out, axis) - Dim(1)) * Dim(window.stride[i]) + Dim(1);
    x = f.slice(x, axis, first, first + span);
    if (window.stride[i] != 1) {
      x = f.add(make_op<Downsample>(axis, window.stride[i], 0), {x});
    }
  }
  return x;
}

/// Return the index in the whole input of each window's largest value: the first one if several are
/// equal. Indices are row-major; with `storage_order` 1, column-major within each channel.
Result<OutletId> places(OnnxCtx& ctx, OutletId x, OutletId out, Window window) {
  constexpr int64_t kMostTaps = 128;
  Formula f(ctx);
  const Fact fact = f.fact(x);
  resolve_same(&window, fact);
  int64_t taps = 1;
  for (const int64_t extent : window.kernel) taps *= std::min(extent, kMostTaps + 1);
  if (window.same || taps > kMostTaps) {
    return fail(Code::kUnsupported, "output \"Indices\" of windows of ", counted(taps, "tap"),
                " or of unknown size: expected at most ", kMostTaps)
        .hint("Drop it from the graph, if it has no reader");
  }
  constexpr int64_t kMostPadding = int64_t{1} << 20;  // entries of padding have indices, too
  for (const auto& [before, after] : window.padding) {
    RILL_CHECK(before <= kMostPadding && after <= kMostPadding, "attribute \"pads\" is ",
               nnef_text(window.padding), " with an output \"Indices\": expected at most ",
               kMostPadding);
  }
  RILL_ASSIGN(const int64_t order, ctx.integer("storage_order"));
  std::vector<Dim> spatial(fact.shape.begin() + 2, fact.shape.end());
  std::vector<Dim> written = spatial;
  if (order != 0) std::reverse(written.begin(), written.end());
  OutletId place = f.reshape(f.range(volume(spatial)), written);
  if (order != 0) {
    std::vector<int64_t> reversed_axes;
    for (auto axis = static_cast<int64_t>(spatial.size()); axis-- > 0;)
      reversed_axes.push_back(axis);
    place = f.transpose(place, std::move(reversed_axes));
  }
  const Dim planes = fact.dim(0) * fact.dim(1);
  // The only plane begins at 0, so its size need not be known.
  if (!(planes == Dim(1))) {
    std::vector<Dim> channels = {fact.dim(0), fact.dim(1)};
    OutletId first = f.range(planes);
    first = f.times(first, f.number(volume(spatial), first));
    channels.resize(static_cast<size_t>(fact.rank()), Dim(1));
    place = f.plus(place, f.reshape(first, channels));
  }
  place = f.broadcast(place, fact.shape);
  const OutletId values = bordered(f, x, window.padding, 0.0);
  place = bordered(f, place, window.padding, -1.0);
  OutletId found;
  for (int64_t number = taps; number-- > 0;) {
    std::vector<int64_t> tap(window.kernel.size());
    int64_t rest = number;
    for (size_t i = tap.size(); i-- > 0; rest /= window.kernel[i]) tap[i] = rest % window.kernel[i];
    const OutletId here = at_tap(f, place, out, window, tap);
    const OutletId is_valid =
        f.binary(BinaryKind::kAnd, f.binary(BinaryKind::kGe, here, f.number(0.0, here)),
                 f.binary(BinaryKind::kEq, at_tap(f, values, out, window, tap), out));
    found = f.select(is_valid, here, found.valid() ? found : f.number(0.0, here));
  }
  if (!f.ok()) return f.take_status();
  return found;
}

Result<Value> max_pool(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  Window window;
  RILL_ASSIGN(const OutletId out, onnx_max_pool(ctx, x, &window));
  if (!ctx.wants(1)) return as_value(out);
  RILL_ASSIGN(const OutletId found, places(ctx, x, out, window));
  return Value(std::vector<Value>{Value(out), Value(found)});
}

/// Read MaxUnpool: put each element where it was the largest of its window, and zeros elsewhere.
/// Indices refer to the input of the pool, whose extents follow from those of X and the window; a
/// larger output ends with zeros.
Result<Value> max_unpool(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  const OutletId places = f.arg("I");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_CHECK(f.rank(places) == in.rank(), "I ", f.fact(places), ": expected the shape of X ", in);
  for (int i = 0; i < in.rank(); ++i) RILL_TRY(ctx.take_as_equal(f.dim(places, i), in.dim(i)));
  RILL_ASSIGN(const std::vector<int64_t> kernel, ctx.integers("kernel_shape"));
  RILL_ASSIGN(const Window window, onnx_window(ctx, kernel, in, WindowPads::kAsWritten));
  std::vector<Dim> shape = in.shape;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Dim pads(window.padding[i].first + window.padding[i].second);
    shape[i + 2] = (shape[i + 2] - Dim(1)) * Dim(window.stride[i]) + Dim(kernel[i]) - pads;
  }
  const OutletId zeros = f.broadcast(f.number(0.0, x), {volume(shape)});
  OutletId out = f.call("tract_core_scatter_elements",
                        {{"input", Value(zeros)},
                         {"indices", Value(f.reshape(places, {volume(in.shape)}))},
                         {"updates", Value(f.reshape(x, {volume(in.shape)}))},
                         {"axis", Value(Dim(0))},
                         {"reduction", Value(std::string("none"))}});
  out = f.reshape(out, shape);
  if (!ctx.given("output_shape")) return f.value(out);
  RILL_ASSIGN(const std::vector<Dim> stated, ctx.dims("output_shape"));
  RILL_CHECK(stated.size() == shape.size(), "output_shape ", stated, " of X ", in);
  Pads at_ends;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto more = (stated[i] - shape[i]).to_int();
    RILL_CHECK(more && *more >= 0 && (i >= 2 || *more == 0), "output_shape ", stated,
               ": expected at least ", shape, ", and the same batch and channels");
    if (i >= 2) at_ends.emplace_back(0, *more);
  }
  return f.value(bordered(f, out, at_ends, 0.0));
}

Result<Value> global_max_pool(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  std::vector<int64_t> axes;
  for (int axis = 2; axis < f.rank(x); ++axis) axes.push_back(axis);
  return f.value(f.reduce(ReduceKind::kMax, x, axes));
}

const OnnxOp kOps[] = {
    {"", 1,
     "fragment MaxPool(X: tensor<?>, auto_pad: string = 'NOTSET', kernel_shape: integer[], "
     "pads: integer[] = [], strides: integer[] = []) -> (Y: tensor<?>);",
     max_pool},
    {"", 8,
     "fragment MaxPool(X: tensor<?>, auto_pad: string = 'NOTSET', kernel_shape: integer[], "
     "pads: integer[] = [], storage_order: integer = 0, strides: integer[] = []) "
     "-> (Y: tensor<?>, Indices: tensor<integer>);",
     max_pool},
    {"", 10,
     "fragment MaxPool(X: tensor<?>, auto_pad: string = 'NOTSET', ceil_mode: logical = false, "
     "dilations: integer[] = [], kernel_shape: integer[], pads: integer[] = [], "
     "storage_order: integer = 0, strides: integer[] = []) "
     "-> (Y: tensor<?>, Indices: tensor<integer>);",
     max_pool},
    {"", 9,
     "fragment MaxUnpool(X: tensor<?>, I: tensor<integer>, output_shape: tensor<integer> = false, "
     "kernel_shape: integer[], pads: integer[] = [], strides: integer[] = []) "
     "-> (output: tensor<?>);",
     max_unpool},
    {"", 1, "fragment GlobalMaxPool(X: tensor<?>) -> (Y: tensor<?>);", global_max_pool},
};

}  // namespace

extern const OnnxModule max_pool_onnx;
const OnnxModule max_pool_onnx = {"max_pool", kOps};

}  // namespace rill::ops
