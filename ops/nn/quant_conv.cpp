#include <algorithm>
#include <cmath>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/tensor/uniform.h"
#include "ops/array/elements.h"
#include "ops/array/rounding.h"
#include "ops/math/binary.h"
#include "ops/nn/byte_lower.h"
#include "ops/nn/quant_conv_op.h"
#include "ops/nn/window_taps.h"

namespace rill::ops {

Result<Facts> QuantConv::infer(FactSpan in) const {
  const Fact& x = in[0];
  const Fact& w = in[1];
  RILL_CHECK(x.rank() >= 3 && w.rank() == x.rank(), "input ", x, ", filter ", w,
             ": expected one rank of at least 3");
  RILL_TRY(window.check(x.rank() - 2));
  if (!(has_zero ? is_byte(x.dtype) : is_quantised_byte(x.dtype)) || !is_quantised_byte(w.dtype)) {
    return fail(Code::kDType, "input ", x, ", filter ", w, ": expected QU8 or QI8");
  }
  const auto outputs = w.dim(0).to_int();
  const auto channels = w.dim(1).to_int();
  RILL_CHECK(outputs && channels, "filter ", w, ": expected a known shape");
  RILL_CHECK(groups >= 1 && *outputs % groups == 0 && x.dim(1) == Dim(*channels * groups), "input ",
             x, ", filter ", w, ", ", counted(groups, "group"), ": the channels do not fit");
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
  return one_fact(std::move(out));
}

namespace {

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
  if (std::isnan(value)) value = 0.0;
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

/// Return the sum of one window for output channel out[1], modulo 2^32.
int32_t sum_at(const QuantConv& op, const View& x, const View& w,
               const std::array<int64_t, kMaxRank>& out, int32_t start) {
  const int64_t o = out[1];
  const int64_t group = o / (w.shape[0] / op.groups);
  auto sum = static_cast<uint32_t>(start);
  const int64_t base = out[0] * x.stride[0] + group * w.shape[1] * x.stride[1];
  for_each_tap(op.window, x, out, base, [&](const auto& tap, int64_t at_x, int64_t) {
    int64_t at_w = o * w.stride[0];
    for (size_t a = 0; a < op.window.kernel.size(); ++a) at_w += tap[a] * w.stride[a + 2];
    for (int64_t c = 0; c < w.shape[1]; ++c) {
      const int32_t xv = byte_at(x, at_x + c * x.stride[1]) - x.q.zero_point;
      const int32_t wv = byte_at(w, at_w + c * w.stride[1]) - w.q.zero_point;
      sum += static_cast<uint32_t>(xv) * static_cast<uint32_t>(wv);
    }
  });
  return static_cast<int32_t>(sum);
}

}  // namespace

Status QuantConv::eval(EvalCtx& ctx) const {
  if (has_zero) return fail(Code::kUnsupported, "a computed zero point outside of a plan");
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

namespace {

/// Return the windows of the output's frames as rows, [N, D'..., taps..., C].
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

/// Store the filters in `product` as [groups][taps * channels][outputs of a group].
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

/// Describe the windows in place, as rows with one stride, of segments with one stride. Return
/// false if they do not have this form.
bool take_windows(const Window& window, const Operand& x, const Operand& y, ByteProduct* product) {
  product->segments = product->run = 1;
  product->segment_len = x.extent(1) / product->groups;
  // From the last axis to the first: contiguous taps make longer segments, and frames longer runs.
  int64_t dense = x.extent(1);  // bytes of a segment, if its frames are contiguous
  for (int axis = x.rank - 1; axis >= 2; --axis) {
    const auto i = static_cast<size_t>(axis - 2);
    const int64_t taps = window.kernel[i], tap = window.dilation[i] * x.step(axis);
    if (taps == 1) continue;
    if (product->segments > 1) return false;
    if (product->groups == 1 && tap == dense) {
      product->segment_len = dense = dense * taps;
    } else {
      product->segments = taps;
      product->segment_stride = tap;
    }
  }
  int64_t runs = 0;
  for (int axis = x.rank - 1; axis >= 0; --axis) {
    const int64_t frames = y.extent(axis);
    if (axis == 1 || frames == 1) continue;
    const int64_t stride =
        axis == 0 ? x.step(0) : window.stride[static_cast<size_t>(axis - 2)] * x.step(axis);
    if (runs == 0) {
      product->run = frames;
      product->row_stride = stride;
      runs = 1;
    } else {
      if (runs == 1) product->run_stride = stride;
      if (stride != product->run_stride * runs) return false;
      runs *= frames;
    }
  }
  return true;
}

}  // namespace

Status QuantConv::lower(Lowering& lowering) const {
  const Operand& w = lowering.in(1);
  const bool constant = w.konst && (!has_bias || lowering.in(2).konst);
  if (!constant || window.axes() > 3) return Op::lower(lowering);
  const Operand y = lowering.out_shape(0);
  if (!padding_is_cheap(window, lowering.in(0), y, static_cast<double>(w.extent(1)))) {
    return has_zero ? fail(Code::kUnsupported, "padding ", nnef_text(window.padding), " around ",
                           "little data, filled with a computed zero point")
                    : Op::lower(lowering);
  }
  const int32_t zero = has_zero ? 0 : lowering.in(0).q.zero_point;
  const int computed = has_bias ? 3 : 2;
  const Operand x =
      has_zero ? padded_rows(lowering, lowering.in(0), window, lowering.in(computed))
               : padded_rows(lowering, lowering.in(0), window, static_cast<float>(zero));
  ByteProduct product;
  product.x_type = x.dtype;
  product.x_zero = zero;
  if (has_zero) product.zero = lowering.in(computed + 1).ref;
  product.groups = groups;
  product.group_stride = w.extent(1);
  const bool in_place = groups > 0 && take_windows(window, x, y, &product);
  if (!in_place) {
    product.run = product.run_stride = 0;
    product.segment_len = w.extent(1);
    product.segments = 1;
    for (const int64_t k : window.kernel) product.segments *= k;
    product.segment_stride = x.extent(1);
    product.row_stride = product.segments * product.segment_stride;
  }
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
  if (in_place) {
    product.x = x.ref;
  } else if (product.rows > 0) {
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

/// Absorb a relu: the maximum of the result and 0 in the same type.
Status QuantConv::absorb(const Node& producer, Rewrite& consumer, int input) const {
  const auto* max = consumer.node().op->as<Binary>();
  const bool fits = consumer.fusing() && !positive && is_quantised_byte(to) && max &&
                    max->kind_of == BinaryKind::kMax &&
                    consumer.out().same_type(producer.outputs[0]);
  const TensorPtr other = fits ? consumer.in(1 - input).konst : nullptr;
  if (!other || other->volume() != 1 || other->dtype() != to) return {};
  RILL_ASSIGN(const double real, element_as_double(*other, 0));
  if (real != 0.0) return {};
  auto fused = draft_op<QuantConv>(*this);
  fused->positive = true;
  return consumer.replace_by(std::move(fused), consumer.mapped_inputs(producer));
}

Status QuantConv::pulsify(PulseBuilder& b) const {
  for (int i = 1; i < b.inputs(); ++i) {
    if (b.stream(i)) return b.refuse("Use constant filters", "its filter or bias streams");
  }
  if (!b.stream(0)) return Op::pulsify(b);
  const int axis = b.stream(0)->axis;
  if (axis == 0) return Op::pulsify(b);
  QuantConv pulsed = *this;
  StreamFact stream;
  RILL_ASSIGN(Tensor zero, Tensor::zeros(b.in(0).dtype, {}, b.in(0).q));
  *zero.mutable_data<int8_t>() = static_cast<int8_t>(b.in(0).q.zero_point);
  RILL_ASSIGN(const OutletId x, pulse_window(b, window, zero, true, &stream, &pulsed.window));
  std::vector<OutletId> inputs{x};
  for (int i = 1; i < b.inputs(); ++i) inputs.push_back(b.wire(i));
  RILL_ASSIGN(const OutletId out, b.add1(make_op<QuantConv>(pulsed), inputs));
  stream.dim = b.out(0).dim(axis);
  b.set(0, out, stream);
  return {};
}

}  // namespace rill::ops
