// Reads ONNX's Fourier transforms.

#include <array>
#include <cmath>
#include <numbers>

#include "ops/array/common.h"
#include "ops/array/slice.h"
#include "ops/math/formula.h"

namespace rill::ops {
namespace {

/// Return pairs of real and imaginary parts on the last axis; for real numbers, the imaginary parts
/// are zero.
Result<OutletId> pairs_of(Formula& f, OutletId x) {
  if (!f.ok()) return f.take_status();
  const int last = f.rank(x) - 1;
  RILL_CHECK(last >= 1, "input ", f.fact(x), ": expected 1 or 2 numbers on the last axis");
  if (f.dim(x, last) == Dim(2)) return x;
  RILL_CHECK(f.dim(x, last) == Dim(1), "input ", f.fact(x),
             ": expected 1 or 2 numbers on the last axis");
  return f.concat({x, f.times(x, f.number(0.0, x))}, last);
}

/// Cut an axis to a length, or append zeros up to that length.
OutletId with_length(Formula& f, const SymbolScope& scope, OutletId x, int64_t axis,
                     const Dim& length) {
  const Dim own = f.dim(x, static_cast<int>(axis));
  if (own == length) return x;
  if (scope.proves_ge(own, length)) return f.slice(x, axis, Dim(0), length);
  std::vector<Dim> shape = f.fact(x).shape;
  shape[static_cast<size_t>(axis)] = scope.simplify(max(length - own, Dim(0)));
  x = f.concat({x, f.broadcast(f.number(0.0, x), shape)}, axis);
  return scope.proves_ge(length, own) ? x : f.slice(x, axis, Dim(0), length);
}

OutletId transformed(Formula& f, OutletId x, int64_t axis, bool inverse) {
  return f.call("tract_core_fft",
                {{"input", Value(x)}, {"axis", Value(Dim(axis))}, {"inverse", Value(inverse)}});
}

/// Append the second half of the spectrum of a real signal: the first half, mirrored and
/// conjugated.
OutletId mirrored(Formula& f, OutletId x, int64_t axis, const Dim& length) {
  const Dim kept = f.dim(x, static_cast<int>(axis));
  const int last = f.rank(x) - 1;
  OutletId rest = f.slice(x, axis, Dim(1), length - kept + Dim(1));
  rest = f.add(make_op<Downsample>(axis, -1, 0), {rest});
  const OutletId real = f.slice(rest, last, Dim(0), Dim(1));
  const OutletId imaginary = f.slice(rest, last, Dim(1), Dim(2));
  return f.concat({x, f.concat({real, f.unary(UnaryKind::kNeg, imaginary)}, last)}, axis);
}

/// Cast to the type of another wire: transforms compute in f32.
OutletId like(Formula& f, OutletId x, OutletId of) {
  return f.ok() && f.dtype(x) != f.dtype(of) ? f.cast(x, f.dtype(of)) : x;
}

/// Refuse half of the spectrum of a complex signal: only that of a real signal determines the other
/// half.
Status check_onesided(Formula& f, OutletId x) {
  if (!f.ok()) return f.take_status();
  const int last = f.rank(x) - 1;
  if (last < 0 || !(f.dim(x, last) == Dim(2))) return {};
  return fail(Code::kUnsupported, "onesided is 1, and input ", f.fact(x),
              " is complex: expected real numbers, 1 on the last axis")
      .hint("Set onesided to 0: half of a complex spectrum does not determine the other half");
}

Result<Value> dft(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId given = f.arg("input");
  RILL_ASSIGN(const bool inverse, ctx.boolean("inverse"));
  RILL_ASSIGN(const bool onesided, ctx.boolean("onesided"));
  if (onesided && !inverse) RILL_TRY(check_onesided(f, given));
  RILL_ASSIGN(OutletId x, pairs_of(f, f.upcast(given)));
  int64_t written = ctx.opset() < 20 ? 1 : -2;
  if (ctx.given("axis")) {
    RILL_ASSIGN(written, ctx.integer("axis"));
  }
  RILL_ASSIGN(const int64_t axis, axis_in(written, f.rank(x)));
  RILL_CHECK(axis < f.rank(x) - 1, "no transform along axis ", axis, ", that of the parts");
  const int at = static_cast<int>(axis);
  const int last = f.rank(x) - 1;
  const bool from_half = inverse && onesided;
  Dim length = from_half ? (f.dim(x, at) - Dim(1)) * Dim(2) : f.dim(x, at);
  if (ctx.given("dft_length")) {
    RILL_ASSIGN(length, ctx.dim("dft_length"));
  }
  const Dim half = floor_div(length, 2) + Dim(1);
  x = with_length(f, ctx.graph().scope, x, axis, from_half ? half : length);
  if (from_half) x = mirrored(f, x, axis, length);
  x = transformed(f, x, axis, inverse);
  if (inverse) x = f.over(x, f.number(length, x));
  if (from_half) {
    x = f.slice(x, last, Dim(0), Dim(1));
  } else if (onesided) {
    x = f.slice(x, axis, Dim(0), half);
  }
  return f.value(like(f, x, given));
}

Result<Value> stft(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId given = f.arg("signal");
  OutletId x = f.upcast(given);
  if (f.ok() && f.rank(x) == 2) x = f.with_axis(x, 2);
  RILL_ASSIGN(const bool onesided, ctx.boolean("onesided"));
  if (onesided) RILL_TRY(check_onesided(f, x));
  RILL_ASSIGN(x, pairs_of(f, x));
  RILL_ASSIGN(const int64_t step, ctx.integer("frame_step"));
  int64_t frame = 0;
  OutletId window;
  if (ctx.given("window")) {
    window = f.upcast(f.arg("window"));
    RILL_ASSIGN(frame, f.dim(window, 0).as_int());
  }
  if (ctx.given("frame_length")) {
    RILL_ASSIGN(const int64_t length, ctx.integer("frame_length"));
    RILL_CHECK(!window.valid() || length == frame, "frame_length ", length, " and a window of ",
               frame, ": expected equal lengths");
    frame = length;
  }
  RILL_CHECK(frame > 0 && step > 0, "frames of ", frame, ", ", step, " apart");
  OutletId out;
  if (window.valid()) {
    out = f.call("tract_core_stft", {{"input", Value(x)},
                                     {"axis", Value(Dim(1))},
                                     {"frame", Value(Dim(frame))},
                                     {"stride", Value(Dim(step))},
                                     {"window", Value(window)}});
  } else {
    out = f.call("tract_core_stft", {{"input", Value(x)},
                                     {"axis", Value(Dim(1))},
                                     {"frame", Value(Dim(frame))},
                                     {"stride", Value(Dim(step))}});
  }
  if (onesided) out = f.slice(out, 2, Dim(0), Dim(frame / 2 + 1));
  return f.value(like(f, out, given));
}

/// Return a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N). N is the number of samples, or one less if
/// the window is not periodic.
Result<Value> cosine_window(OnnxCtx& ctx, const std::array<double, 3>& terms) {
  RILL_ASSIGN(const int64_t size, ctx.integer("size"));
  RILL_ASSIGN(const bool periodic, ctx.boolean("periodic"));
  RILL_ASSIGN(const int64_t number, ctx.integer("output_datatype"));
  constexpr int64_t kMostSamples = int64_t{1} << 24;
  RILL_CHECK(size >= 0 && size <= kMostSamples, "a window of ", counted(size, "sample"));
  const auto type = onnx_type(number);
  if (!type) return fail(Code::kUnsupported, "a window of ", onnx_type_name(number));
  const auto period = static_cast<double>(periodic ? size : size - 1);
  std::vector<double> values;
  for (int64_t n = 0; n < size; ++n) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(n) / period;
    values.push_back(terms[0] - terms[1] * std::cos(angle) + terms[2] * std::cos(2.0 * angle));
  }
  RILL_ASSIGN(Tensor wide,
              Tensor::of<double>(DType::kF64, {size}, std::span<const double>(values)));
  RILL_ASSIGN(Tensor typed, cast(wide, *type));
  return as_value(ctx.konst(std::move(typed)));
}

Result<Value> hann(OnnxCtx& ctx) { return cosine_window(ctx, {0.5, 0.5, 0.0}); }
Result<Value> hamming(OnnxCtx& ctx) { return cosine_window(ctx, {25.0 / 46, 21.0 / 46, 0.0}); }
Result<Value> blackman(OnnxCtx& ctx) { return cosine_window(ctx, {0.42, 0.5, 0.08}); }

double mel_of(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double hertz_of(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

/// Return triangular filters over the bins of a spectrum, with equal widths on the mel scale.
Result<Value> mel_weights(OnnxCtx& ctx) {
  RILL_ASSIGN(const int64_t bins, ctx.integer("num_mel_bins"));
  RILL_ASSIGN(const int64_t length, ctx.integer("dft_length"));
  RILL_ASSIGN(const int64_t rate, ctx.integer("sample_rate"));
  RILL_ASSIGN(const TensorPtr lower, ctx.constant("lower_edge_hertz"));
  RILL_ASSIGN(const TensorPtr upper, ctx.constant("upper_edge_hertz"));
  RILL_CHECK(lower->volume() == 1 && upper->volume() == 1, "edges: expected one number each");
  RILL_ASSIGN(const double first, element_as_double(*lower, 0));
  RILL_ASSIGN(const double last, element_as_double(*upper, 0));
  RILL_ASSIGN(const int64_t number, ctx.integer("output_datatype"));
  const auto type = onnx_type(number);
  if (!type) return fail(Code::kUnsupported, "weights of ", onnx_type_name(number));
  constexpr int64_t kMost = int64_t{1} << 24;
  RILL_CHECK(bins > 0 && length > 0 && rate > 0 && bins <= kMost / (length / 2 + 1),
             counted(bins, "bin"), " of a transform of ", length, " samples at ", rate, " Hz");
  const int64_t lines = length / 2 + 1;
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double step = (mel_of(last) - mel_of(first)) / static_cast<double>(bins + 2);
    const double hertz = hertz_of(mel_of(first) + step * static_cast<double>(i));
    const double line = std::floor(static_cast<double>(length + 1) * hertz / double(rate));
    RILL_CHECK(line >= 0.0 && line < double(lines) + 1.0, "edges of ", static_cast<float>(first),
               " and ", static_cast<float>(last), " Hz");
    edges.push_back(static_cast<int64_t>(line));
  }
  std::vector<double> weights(static_cast<size_t>(lines * bins), 0.0);
  for (int64_t bin = 0; bin < bins; ++bin) {
    const auto at = static_cast<size_t>(bin);
    const int64_t low = edges[at];
    const int64_t middle = edges[at + 1];
    const int64_t high = edges[at + 2];
    const auto put = [&](int64_t line, double weight) {
      if (line < lines) weights[static_cast<size_t>(line * bins + bin)] = weight;
    };
    put(middle, 1.0);
    for (int64_t line = low; line < middle; ++line) {
      put(line, double(line - low) / double(middle - low));
    }
    for (int64_t line = middle; line < high; ++line) {
      put(line, double(high - line) / double(high - middle));
    }
  }
  RILL_ASSIGN(Tensor wide,
              Tensor::of<double>(DType::kF64, {lines, bins}, std::span<const double>(weights)));
  RILL_ASSIGN(Tensor typed, cast(wide, *type));
  return as_value(ctx.konst(std::move(typed)));
}

#define RILL_ONNX_COSINES(name, reader)                                                        \
  {                                                                                            \
    "", 17, "fragment " name "(size: tensor<integer>, output_datatype: integer = 1, "          \
        "periodic: logical = true) -> (output: tensor<?>);",                                   \
        reader                                                                                 \
  }

const OnnxOp kOps[] = {
    RILL_ONNX_COSINES("HannWindow", hann),
    RILL_ONNX_COSINES("HammingWindow", hamming),
    RILL_ONNX_COSINES("BlackmanWindow", blackman),
    {"", 17,
     "fragment MelWeightMatrix(num_mel_bins: tensor<integer>, dft_length: tensor<integer>, "
     "sample_rate: tensor<integer>, lower_edge_hertz: tensor<?>, upper_edge_hertz: tensor<?>, "
     "output_datatype: integer = 1) -> (output: tensor<?>);",
     mel_weights},
    {"", 17,
     "fragment DFT(input: tensor<?>, dft_length: tensor<integer> = false, axis: integer = 1, "
     "inverse: logical = false, onesided: logical = false) -> (output: tensor<?>);",
     dft},
    {"", 20,
     "fragment DFT(input: tensor<?>, dft_length: tensor<integer> = false, "
     "axis: tensor<integer> = false, inverse: logical = false, onesided: logical = false) "
     "-> (output: tensor<?>);",
     dft},
    {"", 17,
     "fragment STFT(signal: tensor<?>, frame_step: tensor<integer>, window: tensor<?> = false, "
     "frame_length: tensor<integer> = false, onesided: logical = true) -> (output: tensor<?>);",
     stft},
};

}  // namespace

extern const OnnxModule fft_onnx;
const OnnxModule fft_onnx = {"fft", kOps};

}  // namespace rill::ops
