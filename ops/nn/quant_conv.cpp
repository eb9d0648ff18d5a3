#include <algorithm>
#include <cmath>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/elements.h"
#include "ops/array/rounding.h"
#include "ops/math/binary.h"
#include "ops/nn/byte_lower.h"
#include "ops/nn/quant_conv.h"
#include "ops/nn/window.h"

namespace rill::ops {
namespace {

/// Correlate a quantised signal with quantised filters, summing in 32-bit integers.
/// Shapes: as `conv`; the bias is [O] of I32, in units of the product of both scales.
/// Types: QU8 and QI8 -> a quantised type, or I32 sums. Padding holds the zero point.
/// Errors: kShape, kDType. Accuracy: the sums are exact; the result rounds half to even.
/// Stream: on a spatial axis, history and a mask of the zero point for the padding; on the batch
/// axis each frame alone; refused on channels.
/// Source: NNEF 1.0, `conv`; tract, `tract_core_qconv`.
struct QuantConv final : OpBase<QuantConv> {
  Window window;
  int64_t groups = 1;
  bool has_bias = false;
  DType to = DType::kI32;
  QParams q;
  bool positive = false;  ///< nothing below the zero point is kept; made by `fuse` only
  /// Written as a convolution of the numbers that the bytes stand for, in f64, which is exact: NNEF
  /// has none whose sums are integers.
  bool sums = false;

  std::string_view name() const override { return "Conv"; }
  void fields(FieldVisitor& visitor) override {
    window.fields(visitor);
    int64_t zero_point = q.zero_point;
    visitor.field("groups", groups);
    visitor.field("has_bias", has_bias);
    visitor.field("to", to);
    visitor.field("zero_point", zero_point);
    visitor.field("scale", q.scale);
    visitor.field("positive", positive);
    if (sums) visitor.field("sums", sums);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  OpTraits traits() const override { return {.by_channels = true}; }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<int> track(in.size(), -1);
    track[0] = 0;
    return {{track, {0}}};
  }
  Status pulsify(PulseBuilder& b) const override;
  Cost cost(FactSpan in, FactSpan out) const override {
    Cost cost;
    cost.fma = volume(out[0].shape) * in[1].dim(1);
    for (const int64_t k : window.kernel) cost.fma *= Dim(k);
    cost.bytes = volume(in[0].shape) + volume(in[1].shape) + volume(out[0].shape);
    return cost;
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    RILL_ASSIGN(const std::string w, ctx.in(1));
    std::string bias = "0.0";
    if (has_bias) {
      RILL_ASSIGN(bias, ctx.in(2));
    }
    const auto expression = [&](std::string_view a, std::string_view b, std::string_view c) {
      return str_cat("conv(", a, ", ", b, ", ", c, window_text(window, 0), ", groups = ", groups,
                     ")");
    };
    if (!sums) {
      ctx.assign(expression(x, w, bias));
      return {};
    }
    ctx.need_registry("tract_core");
    const auto as = [](std::string_view type, std::string_view text) {
      return str_cat("tract_core_cast(", text, ", to = ", nnef_text(type), ")");
    };
    ctx.assign(as("i32", expression(as("f64", x), as("f64", w),
                                    has_bias ? as("f64", bias) : std::string("0.0"))));
    return {};
  }
};

Result<Facts> QuantConv::infer(FactSpan in) const {
  const Fact& x = in[0];
  const Fact& w = in[1];
  RILL_CHECK(x.rank() >= 3 && w.rank() == x.rank(), "input ", x, ", filter ", w,
             ": expected one rank of at least 3");
  RILL_TRY(window.check(x.rank() - 2));
  if (!is_quantised_byte(x.dtype) || !is_quantised_byte(w.dtype)) {
    return fail(Code::kDType, "input ", x, ", filter ", w, ": expected QU8 or QI8");
  }
  const auto outputs = w.dim(0).to_int();
  const auto channels = w.dim(1).to_int();
  RILL_CHECK(outputs && channels, "filter ", w, ": expected a known shape");
  RILL_CHECK(groups >= 1 && *outputs % groups == 0 && x.dim(1) == Dim(*channels * groups), "input ",
             x, ", filter ", w, ", ", groups, " groups: the channels do not fit");
  if (has_bias) {
    RILL_CHECK(in[2].rank() == 1 && in[2].dim(0) == w.dim(0), "bias ", in[2], ": expected ",
               *outputs, " values");
    if (in[2].dtype != DType::kI32 && in[2].dtype != DType::kQI32) {
      return fail(Code::kDType, "bias ", in[2], ": expected I32");
    }
  }
  Fact out{to, q, {x.dim(0), w.dim(0)}, {}};
  for (int i = 0; i < window.axes(); ++i) {
    RILL_CHECK(w.dim(i + 2) == Dim(window.kernel[static_cast<size_t>(i)]), "filter ", w,
               " and window ", window.kernel, " differ");
    out.shape.push_back(window.output(i, x.dim(i + 2)));
  }
  return Facts{std::move(out)};
}

int32_t byte_at(const View& view, int64_t at) {
  return view.dtype == DType::kQU8 ? int32_t{view.as<uint8_t>()[at]}
                                   : int32_t{view.as<int8_t>()[at]};
}

void store(const View& y, int64_t at, int32_t sum, double scale, bool positive) {
  if (y.dtype == DType::kI32) {
    y.as<int32_t>()[at] = sum;
    return;
  }
  const double real = static_cast<double>(sum) * scale;
  double value = std::nearbyint(real / static_cast<double>(y.q.scale)) + y.q.zero_point;
  if (positive) value = std::max<double>(value, y.q.zero_point);
  if (y.dtype == DType::kQU8) {
    y.as<uint8_t>()[at] = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
  } else if (y.dtype == DType::kQI8) {
    y.as<int8_t>()[at] = static_cast<int8_t>(std::clamp(value, -128.0, 127.0));
  } else {
    y.as<int32_t>()[at] = static_cast<int32_t>(
        std::clamp(value, static_cast<double>(INT32_MIN), static_cast<double>(INT32_MAX)));
  }
}

/// The sum of one window for output channel `o`, wrapping like the hardware's.
int32_t sum_at(const QuantConv& op, const View& x, const View& w,
               const std::array<int64_t, kMaxRank>& out, int32_t start) {
  const int64_t o = out[1];
  const int64_t group = o / (w.shape[0] / op.groups);
  auto sum = static_cast<uint32_t>(start);
  std::array<int64_t, kMaxRank> tap{};
  do {
    int64_t at_x = out[0] * x.stride[0] + group * w.shape[1] * x.stride[1];
    int64_t at_w = o * w.stride[0];
    bool inside = true;
    for (int i = 0; i < op.window.axes(); ++i) {
      const auto a = static_cast<size_t>(i);
      const int64_t at = out[a + 2] * op.window.stride[a] + tap[a] * op.window.dilation[a] -
                         op.window.pads(i, x.extent(i + 2)).first;
      inside &= at >= 0 && at < x.shape[a + 2];
      at_x += at * x.stride[a + 2];
      at_w += tap[a] * w.stride[a + 2];
    }
    for (int64_t c = 0; inside && c < w.shape[1]; ++c) {
      const int32_t xv = byte_at(x, at_x + c * x.stride[1]) - x.q.zero_point;
      const int32_t wv = byte_at(w, at_w + c * w.stride[1]) - w.q.zero_point;
      sum += static_cast<uint32_t>(xv) * static_cast<uint32_t>(wv);
    }
  } while (next_index(&tap, op.window.kernel.data(), op.window.axes()));
  return static_cast<int32_t>(sum);
}

Status QuantConv::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& w = ctx.in[1];
  const View& y = ctx.out[0];
  const double scale = static_cast<double>(x.q.scale) * static_cast<double>(w.q.scale);
  std::array<int64_t, kMaxRank> out{};
  for (int64_t n = y.volume(); n > 0; --n) {
    const int32_t start = has_bias ? ctx.in[2].as<int32_t>()[out[1] * ctx.in[2].stride[0]] : 0;
    int64_t at = 0;
    for (int i = 0; i < y.rank; ++i) at += out[static_cast<size_t>(i)] * y.step(i);
    store(y, at, sum_at(*this, x, w, out, start), scale, positive);
    next_index(&out, y.shape.data(), y.rank);
  }
  return {};
}

/// The windows of the output's frames as rows, [N, D'..., taps..., C].
Operand windows_of(const Window& window, const Operand& x, const Operand& y) {
  Operand windows = x;
  const auto spatial = static_cast<size_t>(window.axes());
  windows.rank = static_cast<int>(2 + 2 * spatial);
  windows.shape[0] = x.shape[0];
  windows.stride[0] = x.stride[0];
  for (size_t i = 0; i < spatial; ++i) {
    windows.shape[1 + i] = y.shape[2 + i];
    windows.stride[1 + i] = window.stride[i] * x.stride[2 + i];
    windows.shape[1 + spatial + i] = window.kernel[i];
    windows.stride[1 + spatial + i] = window.dilation[i] * x.stride[2 + i];
  }
  windows.shape[1 + 2 * spatial] = x.shape[1];
  windows.stride[1 + 2 * spatial] = x.stride[1];
  return windows;
}

/// The filters as [groups][taps * channels][outputs of a group].
void take_filters(const Operand& w, int64_t groups, ByteProduct* product) {
  const bool is_unsigned = w.dtype == DType::kQU8;
  product->w_zero = w.q.zero_point - (is_unsigned ? 128 : 0);
  const int64_t outputs = w.extent(0) / groups, channels = w.extent(1);
  const int64_t k = product->k(), taps = channels == 0 ? 0 : k / channels;
  const auto* bytes = w.konst->data<uint8_t>();
  product->weights.resize(static_cast<size_t>(w.extent(0) * k));
  for (int64_t o = 0; o < w.extent(0); ++o) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t at = ((o / outputs) * k + t * channels + c) * outputs + o % outputs;
        const uint8_t byte = bytes[(o * channels + c) * taps + t];
        product->weights[static_cast<size_t>(at)] =
            static_cast<int8_t>(is_unsigned ? byte ^ 0x80 : byte);
      }
    }
  }
}

Status QuantConv::lower(Lowering& lowering) const {
  const Operand& w = lowering.in(1);
  const bool constant = w.konst && (!has_bias || lowering.in(2).konst);
  if (!constant || window.axes() > 3) return Op::lower(lowering);
  const Operand y = lowering.out_shape(0);
  const auto zero = static_cast<float>(lowering.in(0).q.zero_point);
  const Operand x = padded_rows(lowering, lowering.in(0), window, zero);
  ByteProduct product;
  product.x_type = x.dtype;
  product.x_zero = lowering.in(0).q.zero_point;
  product.groups = groups;
  product.group_stride = product.segment_len = w.extent(1);
  product.segments = 1;
  for (const int64_t k : window.kernel) product.segments *= k;
  product.segment_stride = x.extent(1);
  product.row_stride = product.segments * product.segment_stride;
  product.columns = groups == 0 ? 0 : w.extent(0) / groups;
  product.rows = w.extent(0) == 0 ? 0 : y.volume() / w.extent(0);
  take_filters(w, groups, &product);
  if (has_bias) {
    const auto values = lowering.in(2).konst->values<int32_t>();
    product.bias.assign(values.begin(), values.end());
    lowering.packed(2);
  }
  if (to != DType::kI32) {
    product.rounding = rounding_within(to);
    product.rounding->mul =
        static_cast<double>(lowering.in(0).q.scale) * static_cast<double>(w.q.scale);
    product.rounding->div = q.scale;
    product.rounding->after = q.zero_point;
    if (positive) product.rounding->lo = std::max<double>(product.rounding->lo, q.zero_point);
  }
  if (product.rows > 0) {
    const Operand windows = windows_of(window, x, y);
    const Operand rows = lowering.scratch(
        x.dtype, {windows.shape.data(), static_cast<size_t>(windows.rank)});
    lowering.copy(windows, rows);
    product.x = rows.ref;
  }
  lower_byte_product(product, lowering, channels_last(y.rank));
  lowering.packed(1);
  return {};
}

/// Take in a relu: the larger one of the result and of 0 in the same type.
Status QuantConv::absorb(const Node& producer, Rewrite& consumer, int input) const {
  const auto* max = consumer.node().op->as<Binary>();
  const bool fits = consumer.fusing() && !positive && is_quantised_byte(to) && max &&
                    max->kind_of == BinaryKind::kMax &&
                    consumer.out().same_type(producer.outputs[0]);
  const TensorPtr other = fits ? consumer.in(1 - input).konst : nullptr;
  if (!other || other->volume() != 1 || other->dtype() != to) return {};
  RILL_ASSIGN(const double real, element_as_double(*other, 0));
  if (real != 0.0) return {};
  auto fused = std::make_shared<QuantConv>(*this);
  fused->positive = true;
  RILL_ASSIGN(const OutletId out, consumer.wire1(consumer.node().name, std::move(fused),
                                                 consumer.mapped_inputs(producer)));
  return consumer.replace({out});
}

Status QuantConv::pulsify(PulseBuilder& b) const {
  for (int i = 1; i < b.inputs(); ++i) {
    if (b.stream(i)) return b.refuse("Use constant filters", "its filter or bias streams");
  }
  const int axis = b.stream(0)->axis;
  if (axis == 0) return Op::pulsify(b);
  QuantConv pulsed = *this;
  StreamFact stream;
  RILL_ASSIGN(Tensor zero, Tensor::zeros(b.in(0).dtype, {}, b.in(0).q));
  *zero.mutable_data<int8_t>() = static_cast<int8_t>(b.in(0).q.zero_point);
  RILL_ASSIGN(const OutletId x, pulse_window(b, window, zero, &stream, &pulsed.window));
  std::vector<OutletId> inputs{x};
  for (int i = 1; i < b.inputs(); ++i) inputs.push_back(b.wire(i));
  RILL_ASSIGN(const OutletId out,
              b.add1("", std::make_shared<QuantConv>(pulsed), std::move(inputs)));
  stream.dim = b.out(0).dim(axis);
  b.set(0, out, stream);
  return {};
}

/// The one number of a constant of bytes, 0 without a wire; nothing for several numbers.
std::optional<int32_t> number_of(const Wiring& wiring, OutletId wire) {
  if (!wire.valid()) return 0;
  const auto number = uniform_number(wiring.fact(wire).konst);
  return number ? std::optional<int32_t>(static_cast<int32_t>(*number)) : std::nullopt;
}

/// The same bytes as quantised numbers of scale 1.
Result<Tensor> with_zero_point(const Tensor& bytes, int32_t zero_point) {
  const DType type = bytes.dtype() == DType::kU8 ? DType::kQU8 : DType::kQI8;
  RILL_ASSIGN(Tensor out, Tensor::zeros(type, bytes.shape(), QParams{zero_point, 1.0F}));
  const auto* from = bytes.data<uint8_t>();
  std::copy_n(from, bytes.volume(), out.mutable_data<uint8_t>());
  return out;
}

int64_t largest_of(std::span<const int32_t> values) {
  int64_t most = 0;
  for (const int32_t value : values) most = std::max(most, std::abs(int64_t{value}));
  return most;
}

/// Whether no sum needs more than 32 bits.
bool sums_fit(const Tensor& filter, int64_t largest_bias) {
  const int64_t outputs = filter.extent(0);
  const int64_t terms = outputs == 0 ? 0 : filter.volume() / outputs;
  constexpr int64_t kLargest = 255 * 255;
  return terms <= (INT32_MAX - largest_bias) / kLargest;
}

}  // namespace

std::optional<int64_t> largest_start(const Wiring& wiring, OutletId bias) {
  if (!bias.valid()) return 0;
  const TensorPtr value = wiring.fact(bias).konst;
  if (!value || value->dtype() != DType::kI32 || value->rank() != 1) return std::nullopt;
  return largest_of(value->values<int32_t>());
}

Result<std::optional<OutletId>> add_byte_conv(Wiring& wiring, const ByteConv& conv) {
  const auto is_plain_byte = [&](OutletId wire) {
    return wiring.dtype(wire) == DType::kU8 || wiring.dtype(wire) == DType::kI8;
  };
  const TensorPtr filter = wiring.fact(conv.w).konst;
  const auto x_zero = number_of(wiring, conv.x_zero), w_zero = number_of(wiring, conv.w_zero);
  if (!filter || !x_zero || !w_zero || !is_plain_byte(conv.x) || !is_plain_byte(conv.w)) {
    return {std::nullopt};
  }
  const auto largest = largest_start(wiring, conv.bias);
  if (!largest || !sums_fit(*filter, *largest)) return {std::nullopt};
  QuantConv op;
  op.window = conv.window;
  op.groups = conv.groups;
  op.has_bias = conv.bias.valid();
  op.sums = true;
  const DType type = wiring.dtype(conv.x) == DType::kU8 ? DType::kQU8 : DType::kQI8;
  RILL_ASSIGN(Tensor bytes, with_zero_point(*filter, *w_zero));
  std::vector<OutletId> inputs{wiring.cast(conv.x, type, QParams{*x_zero, 1.0F}),
                               wiring.konst(std::move(bytes))};
  if (op.has_bias) inputs.push_back(conv.bias);
  const OutletId out = wiring.add(std::make_shared<QuantConv>(op), std::move(inputs));
  if (!wiring.ok()) return wiring.take_status();
  return {out};
}

namespace {

/// Whole numbers in f64 as bytes of scale 1, if they span no more than a byte.
std::optional<Tensor> bytes_of(const Tensor& real) {
  const auto values = real.values<double>();
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const bool whole = std::all_of(values.begin(), values.end(),
                                 [](double v) { return std::abs(v) <= 255 && v == std::rint(v); });
  if (!whole || *high - *low > 255) return std::nullopt;
  const int32_t zero = *low >= -128 && *high <= 127 ? 0 : -128 - static_cast<int32_t>(*low);
  auto out = Tensor::zeros(DType::kQI8, real.shape(), QParams{zero, 1.0F});
  if (!out.ok()) return std::nullopt;
  std::transform(values.begin(), values.end(), out->mutable_data<int8_t>(),
                 [&](double v) { return static_cast<int8_t>(static_cast<int32_t>(v) + zero); });
  return std::move(out).value();
}

/// Whole numbers in f64 as integers of 32 bits.
std::optional<Tensor> sums_of(const Tensor& real) {
  const auto values = real.values<double>();
  const bool whole = std::all_of(values.begin(), values.end(), [](double v) {
    return std::abs(v) <= INT32_MAX && v == std::rint(v);
  });
  auto out = Tensor::zeros(DType::kI32, real.shape());
  if (!whole || !out.ok()) return std::nullopt;
  std::transform(values.begin(), values.end(), out->mutable_data<int32_t>(),
                 [](double v) { return static_cast<int32_t>(v); });
  return std::move(out).value();
}

}  // namespace

Result<std::optional<OutletId>> load_byte_conv(LoadCtx& ctx, const Window& window, int64_t groups,
                                               OutletId x, OutletId w) {
  const TensorPtr filter = ctx.fact(w).konst;
  const auto signal = cast_from(ctx.graph().node(x.node));
  if (ctx.fact(x).dtype != DType::kF64 || !signal || !is_quantised_byte(ctx.fact(*signal).dtype) ||
      ctx.fact(*signal).q.scale != 1.0F || !filter || filter->dtype() != DType::kF64) {
    return {std::nullopt};
  }
  auto bytes = bytes_of(*filter);
  if (!bytes) return {std::nullopt};
  QuantConv op;
  op.window = window;
  op.groups = groups;
  op.sums = true;
  RILL_ASSIGN(const OutletId given, ctx.wire("bias"));
  const TensorPtr bias = ctx.fact(given).konst;
  const auto number = uniform_number(bias);
  std::optional<Tensor> start;
  if (number != 0.0) {
    op.has_bias = bias && bias->rank() == 1 && bias->dtype() == DType::kF64;
    if (op.has_bias) start = sums_of(*bias);
    if (!start) return {std::nullopt};
  }
  if (!sums_fit(*bytes, start ? largest_of(start->values<int32_t>()) : 0)) return {std::nullopt};
  RILL_ASSIGN(const OutletId steps, ctx.konst(std::move(*bytes), "steps"));
  std::vector<OutletId> inputs{*signal, steps};
  if (start) {
    RILL_ASSIGN(const OutletId sum, ctx.konst(std::move(*start), "start"));
    inputs.push_back(sum);
  }
  RILL_ASSIGN(const OutletId sums,
              ctx.add1(std::make_shared<QuantConv>(op), std::move(inputs), "sums"));
  RILL_ASSIGN(const OutletId out,
              ctx.add1(std::make_shared<Cast>(DType::kF64, QParams{}), {sums}));
  return {out};
}

Result<OutletId> load_quant_conv(LoadCtx& ctx, Window window, int64_t groups, OutletId x,
                                 OutletId w) {
  QuantConv op;
  op.window = std::move(window);
  op.groups = groups;
  if (const auto wanted = ctx.quant()) {
    op.to = wanted->dtype;
    op.q = wanted->q;
  }
  std::vector<OutletId> inputs{x, w};
  RILL_ASSIGN(const OutletId bias, ctx.wire("bias"));
  const TensorPtr value = ctx.fact(bias).konst;
  if (!value) return fail(Code::kUnsupported, "bias: expected a constant");
  RILL_ASSIGN(const double first,
              value->volume() == 1 ? element_as_double(*value, 0) : Result<double>(1.0));
  if (value->volume() != 1 || first != 0.0) {
    const int64_t outputs = ctx.fact(w).dim(0).to_int().value_or(0);
    Tensor sums = *value;
    if (!is_int(value->dtype()) && value->dtype() != DType::kQI32) {
      RILL_ASSIGN(sums, cast(*value, DType::kI32));
    } else if (value->dtype() != DType::kI32 && value->dtype() != DType::kQI32) {
      RILL_ASSIGN(sums, cast(*value, DType::kI32));
    }
    OutletId flat = bias;
    if (sums.dtype() != value->dtype() || sums.rank() != 1) {
      RILL_ASSIGN(sums, sums.reshaped({outputs}));
      RILL_ASSIGN(flat, ctx.konst(std::move(sums), "bias"));
    }
    inputs.push_back(flat);
    op.has_bias = true;
  }
  return ctx.add1(std::make_shared<QuantConv>(op), std::move(inputs));
}

}  // namespace rill::ops
