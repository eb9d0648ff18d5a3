#include <algorithm>
#include <cmath>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/rewrite.h"
#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/elements.h"
#include "ops/math/binary.h"
#include "ops/nn/quant_conv.h"
#include "ops/nn/quant_conv_op.h"

// Recognises int8 convolutions, in files and in graphs that are planned.

namespace rill::ops {
namespace {

/// Return the number that all elements of a constant equal; 0 without a wire. Nothing if they
/// differ, or are not an integer from -255 to 255.
std::optional<int32_t> number_of(const Wiring& wiring, OutletId wire) {
  if (!wire.valid()) return 0;
  const auto number = uniform_number(wiring.fact(wire).konst);
  if (!number || !(std::abs(*number) <= 255) || *number != std::rint(*number)) return std::nullopt;
  return static_cast<int32_t>(*number);
}

/// Return the same bytes as quantised numbers of scale 1.
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

/// Return whether no sum needs more than 32 bits.
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
  const OutletId out = wiring.add(make_op<QuantConv>(op), inputs);
  if (!wiring.ok()) return wiring.take_status();
  return {out};
}

namespace {

/// Return f64 integers as bytes of scale 1, if their range fits in a byte.
std::optional<Tensor> bytes_of(const Tensor& real) {
  const auto values = real.values<double>();
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const bool whole =
      all_of(values, [](double v) { return std::abs(v) <= 255 && v == std::rint(v); });
  if (!whole || *high - *low > 255) return std::nullopt;
  const int32_t zero = *low >= -128 && *high <= 127 ? 0 : -128 - static_cast<int32_t>(*low);
  auto out = Tensor::zeros(DType::kQI8, real.shape(), QParams{zero, 1.0F});
  if (!out.ok()) return std::nullopt;
  std::transform(values.begin(), values.end(), out->mutable_data<int8_t>(),
                 [&](double v) { return static_cast<int8_t>(static_cast<int32_t>(v) + zero); });
  return std::move(out).value();
}

/// Return f64 integers as 32-bit integers.
std::optional<Tensor> sums_of(const Tensor& real) {
  const auto values = real.values<double>();
  const bool whole =
      all_of(values, [](double v) { return std::abs(v) <= INT32_MAX && v == std::rint(v); });
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
  RILL_ASSIGN(const OutletId sums, ctx.add1(make_op<QuantConv>(op), inputs, "sums"));
  RILL_ASSIGN(const OutletId out, ctx.add1(make_op<Cast>(DType::kF64, QParams{}), {sums}));
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
  return ctx.add1(make_op<QuantConv>(op), inputs);
}

namespace {

/// Bytes minus a zero point, as real numbers that are integers.
struct Centered {
  OutletId bytes;
  OutletId zero;       ///< a zero point that is computed, in the type of the bytes
  int32_t number = 0;  ///< else the zero point
};

/// Return whether a type represents every byte, and every difference of two.
bool holds_bytes(DType type) {
  return type == DType::kI16 || type == DType::kI32 || type == DType::kI64 ||
         type == DType::kF32 || type == DType::kF64;
}

/// Return the wire upstream of casts and, if `wire` holds one number (`of_one`), of reshapes. It is
/// `wire` itself if its producer is another operator.
OutletId input_of_casts(const Graph& graph, OutletId wire, bool of_one) {
  while (holds_bytes(graph.fact(wire).dtype)) {
    const Node& node = graph.node(wire.node);
    const bool reshapes = of_one && node.op->traits().keeps_order;
    if (!reshapes && !cast_from(node)) break;
    wire = node.inputs[0];
  }
  return wire;
}

std::optional<Centered> centered_bytes(const Graph& graph, OutletId x) {
  Centered out;
  x = input_of_casts(graph, x, false);
  const Node* node = &graph.node(x.node);
  if (holds_bytes(graph.fact(x).dtype) && node->op->course().is(Course::Function::kSub)) {
    const OutletId zero = node->inputs[1];
    const auto number = uniform_number(graph.fact(zero).konst);
    if (number && std::abs(*number) <= 255 && *number == std::rint(*number)) {
      out.number = static_cast<int32_t>(*number);
    } else {
      if (volume(graph.fact(zero).shape) != Dim(1)) return std::nullopt;
      out.zero = input_of_casts(graph, zero, true);
    }
    x = node->inputs[0];
  }
  out.bytes = input_of_casts(graph, x, false);
  const DType type = graph.fact(out.bytes).dtype;
  const bool same = !out.zero.valid() || graph.fact(out.zero).dtype == type;
  if ((type != DType::kU8 && type != DType::kI8) || !same) return std::nullopt;
  return out;
}

/// The int8 convolution that equals a convolution of `Centered` numbers by constants.
struct FoundConv {
  QuantConv op;
  Centered x;
  Tensor filter;
  std::optional<Tensor> start;
};

std::optional<FoundConv> find_byte_conv(const Conv& conv, const Graph& graph, const Node& node) {
  const TensorPtr& filter = graph.fact(node.inputs[1]).konst;
  auto x = centered_bytes(graph, node.inputs[0]);
  if (!x || !filter) return std::nullopt;
  auto bytes = bytes_of(*filter);
  if (!bytes) return std::nullopt;
  FoundConv found;
  found.x = *x;
  found.op.window = conv.window;
  found.op.groups = conv.groups;
  if (conv.has_bias) {
    const TensorPtr& bias = graph.fact(node.inputs[2]).konst;
    if (!bias) return std::nullopt;
    if (uniform_number(bias) != 0.0) {
      found.start = bias->rank() == 1 ? sums_of(*bias) : std::nullopt;
      if (!found.start) return std::nullopt;
      found.op.has_bias = true;
    }
  }
  if (!sums_fit(*bytes, found.start ? largest_of(found.start->values<int32_t>()) : 0)) {
    return std::nullopt;
  }
  found.filter = std::move(*bytes);
  return found;
}

/// Return whether all sums of bytes minus a zero point are integers that f32 represents.
bool are_whole(const Conv& conv, const Graph& graph, const Node& node) {
  const TensorPtr& filter = graph.fact(node.inputs[1]).konst;
  const bool is_plain = !conv.has_residual && !conv.clip.on && conv.slope == 1;
  if (!is_plain || !filter || filter->volume() == 0 || !centered_bytes(graph, node.inputs[0])) {
    return false;
  }
  double most = 0;
  if (conv.has_bias) {
    const TensorPtr& bias = graph.fact(node.inputs[2]).konst;
    if (!bias) return false;
    for (const float each : bias->values<float>()) {
      most = each == std::rint(each) ? std::max(most, std::abs(double{each})) : INFINITY;
    }
  }
  double largest = 0;
  for (const float each : filter->values<float>()) {
    largest = each == std::rint(each) ? std::max(largest, std::abs(double{each})) : INFINITY;
  }
  const auto terms = static_cast<double>(filter->volume() / filter->extent(0));
  return terms * 255 * largest + most <= double{1 << 24};
}

}  // namespace

Status take_as_bytes(const Conv& conv, const Node& producer, Rewrite& rewrite) {
  const DType to = rewrite.out().dtype;
  const Graph& graph = rewrite.old_graph();
  if (!cast_from(rewrite.node()) || (to != DType::kI32 && to != DType::kF32)) return {};
  if (producer.outputs[0].dtype == DType::kF32) {
    return to == DType::kI32 && are_whole(conv, graph, producer) ? mark_whole(rewrite) : Status();
  }
  auto found = find_byte_conv(conv, graph, producer);
  if (!found) return {};
  const std::string& name = rewrite.node().name;
  QuantConv& op = found->op;
  OutletId x = rewrite.mapped(found->x.bytes);
  const DType type = graph.fact(found->x.bytes).dtype;
  op.has_zero = found->x.zero.valid();
  if (!op.has_zero) {
    const DType quantised = type == DType::kU8 ? DType::kQU8 : DType::kQI8;
    const QParams q{found->x.number, 1.0F};
    RILL_ASSIGN(x, rewrite.wire1(name, make_op<Cast>(quantised, q), {x}));
  }
  std::vector<OutletId> inputs{x, rewrite.konst(name + "_steps", std::move(found->filter))};
  if (op.has_bias) inputs.push_back(rewrite.konst(name + "_start", std::move(*found->start)));
  if (op.has_zero) {
    const OutletId zero = rewrite.mapped(found->x.zero);
    inputs.push_back(zero);
    RILL_ASSIGN(const OutletId wide,
                rewrite.wire1(name, make_op<Cast>(DType::kI32, QParams{}), {zero}));
    inputs.push_back(wide);
  }
  RILL_ASSIGN(OutletId out, rewrite.wire1(name, make_op<QuantConv>(op), inputs));
  if (to != DType::kI32) {
    RILL_ASSIGN(out, rewrite.wire1(name, make_op<Cast>(to, QParams{}), {out}));
  }
  return rewrite.replace({out});
}

}  // namespace rill::ops
