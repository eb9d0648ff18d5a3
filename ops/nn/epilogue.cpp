#include "ops/nn/epilogue.h"

#include <cmath>

#include "ops/array/broadcast.h"
#include "ops/array/reshape.h"
#include "ops/built.h"
#include "ops/math/binary.h"

namespace rill::ops {
namespace {

constexpr float kInfinity = __builtin_inff();

/// Return the constant on the other side of a binary operation; null if it is not constant.
const Fact* constant_operand(const Rewrite& consumer, int input) {
  const Fact& other = consumer.in(1 - input);
  return other.konst ? &other : nullptr;
}

/// Return one value per channel (axis 1) if the constant varies along no other axis.
std::optional<std::vector<float>> per_channel(const Tensor& tensor, int64_t channels) {
  if (tensor.dtype() != DType::kF32 || tensor.block_format() != BlockFormat::kNone) {
    return std::nullopt;
  }
  if (tensor.volume() == 1) {
    return std::vector<float>(static_cast<size_t>(channels), tensor.data<float>()[0]);
  }
  if (tensor.rank() < 2 || tensor.extent(1) != channels || tensor.volume() != channels) {
    return std::nullopt;
  }
  return std::vector<float>(tensor.data<float>(), tensor.data<float>() + channels);
}

}  // namespace

std::optional<Clip> clip_with(const Clip& own, const Rewrite& consumer, int input) {
  const auto* binary = consumer.node().op->as<Binary>();
  if (!binary) return std::nullopt;
  const auto limit = uniform_f32(consumer.in(1 - input));
  if (!limit || std::isnan(*limit)) return std::nullopt;
  if (!(consumer.in(input).shape == consumer.out().shape)) return std::nullopt;
  const BinaryKind kind = binary->kind_of;
  Clip both = own.on ? own : Clip{true, -kInfinity, kInfinity};
  if (kind == BinaryKind::kMin) {
    both.hi = std::min(both.hi, *limit);
  } else if (kind == BinaryKind::kMax) {
    both.lo = std::max(both.lo, *limit);
  } else {
    return std::nullopt;
  }
  return both.hi >= both.lo ? std::optional<Clip>(both) : std::nullopt;
}

std::optional<float> slope_of(const Rewrite& consumer) {
  const float slope = consumer.node().op->traits().slope;
  const bool leaks = slope > 0.0F && consumer.out().dtype == DType::kF32;
  return leaks ? std::optional<float>(slope) : std::nullopt;
}

std::optional<OutletId> sum_with(Rewrite& consumer, int input, const Fact& fact) {
  const auto* binary = consumer.node().op->as<Binary>();
  if (!binary || binary->kind_of != BinaryKind::kAdd) return std::nullopt;
  const Fact& other = consumer.in(1 - input);
  if (other.konst || other.dtype != fact.dtype || !(other.shape == fact.shape)) return std::nullopt;
  if (consumer.input(0) == consumer.input(1)) return std::nullopt;
  return consumer.mapped(consumer.input(1 - input));
}

Status absorb_affine(OpPtr folded, const Node& producer, Rewrite& consumer, int input) {
  const auto* binary = consumer.node().op->as<Binary>();
  const Fact* other = binary ? constant_operand(consumer, input) : nullptr;
  if (!other || !(consumer.out().shape == producer.outputs[0].shape)) return {};
  const Graph& old = consumer.old_graph();
  const TensorPtr& filter = old.fact(producer.inputs[1]).konst;
  const bool has_bias = producer.inputs.size() > 2;
  const TensorPtr old_bias = has_bias ? old.fact(producer.inputs[2]).konst : nullptr;
  if (!filter || (has_bias && !old_bias)) return {};
  if (filter->block_format() != BlockFormat::kNone) return {};
  const int64_t outputs = filter->extent(0);
  const auto values = per_channel(*other->konst, outputs);
  if (!values) return {};
  std::vector<float> scale(static_cast<size_t>(outputs), 1.0F);
  std::vector<float> shift(static_cast<size_t>(outputs), 0.0F);
  for (size_t o = 0; o < scale.size(); ++o) {
    const float value = (*values)[o];
    switch (binary->kind_of) {
      case BinaryKind::kAdd:
        shift[o] = value;
        break;
      case BinaryKind::kSub:
        scale[o] = input == 0 ? 1.0F : -1.0F;
        shift[o] = input == 0 ? -value : value;
        break;
      case BinaryKind::kMul:
        scale[o] = value;
        break;
      case BinaryKind::kDiv:
        if (input != 0) return {};
        scale[o] = static_cast<float>(1.0 / static_cast<double>(value));
        break;
      default:
        return {};
    }
    if (!std::isfinite(scale[o]) || !std::isfinite(shift[o])) return {};
  }
  RILL_ASSIGN(Tensor new_filter, Tensor::zeros(DType::kF32, filter->shape()));
  RILL_ASSIGN(Tensor new_bias, Tensor::zeros(DType::kF32, {outputs}));
  const int64_t row = outputs == 0 ? 0 : filter->volume() / outputs;
  for (int64_t o = 0; o < outputs; ++o) {
    const auto at = static_cast<size_t>(o);
    for (int64_t k = 0; k < row; ++k) {
      new_filter.mutable_data<float>()[o * row + k] =
          filter->data<float>()[o * row + k] * scale[at];
    }
    const float bias = old_bias ? old_bias->data<float>()[o] : 0.0F;
    new_bias.mutable_data<float>()[o] =
        static_cast<float>(static_cast<double>(bias) * static_cast<double>(scale[at]) +
                           static_cast<double>(shift[at]));
  }
  std::vector<OutletId> inputs{
      consumer.mapped(producer.inputs[0]),
      consumer.konst(old.node(producer.inputs[1].node).name, std::move(new_filter)),
      consumer.konst(producer.name + "_bias", std::move(new_bias))};
  return consumer.replace_by(std::move(folded), inputs);
}

Result<std::optional<OutletId>> load_bias(LoadCtx& ctx, DType dtype, int64_t outputs) {
  RILL_ASSIGN(OutletId bias, ctx.wire("bias"));
  const TensorPtr value = ctx.fact(bias).konst;
  if (!value) {
    const Fact given = ctx.fact(bias);
    const Dim count = volume(given.shape);
    RILL_CHECK(count == Dim(outputs) || count == Dim(1), "bias ", given, ": expected ", outputs,
               " values");
    if constexpr (!built("reshape")) return left_out("a bias that is computed", "reshape");
    RILL_ASSIGN(bias, cast_to(ctx, bias, dtype));
    RILL_ASSIGN(
        bias, ctx.add1(make_op<Reshape>(0, given.rank(), std::vector<Dim>{count}), {bias}, "bias"));
    if (count == Dim(outputs)) return std::optional<OutletId>(bias);
    RILL_ASSIGN(bias, ctx.add1(make_op<Broadcast>(std::vector<Dim>{Dim(outputs)}), {bias}, "bias"));
    return std::optional<OutletId>(bias);
  }
  if (value->volume() == 1) {
    RILL_ASSIGN(const double number, element_as_double(*value, 0));
    // A zero is dropped, unless it is a list of one channel.
    if (number == 0.0 && value->rank() != 1) return std::optional<OutletId>();
    RILL_ASSIGN(Tensor spread, Tensor::zeros(dtype, {outputs}));
    RILL_ASSIGN(const Tensor one, cast(*value, dtype));
    View from = one.view();
    from.rank = 1;
    from.shape[0] = outputs;
    from.stride[0] = 0;
    copy_view(from, spread.view());
    RILL_ASSIGN(bias, ctx.konst(std::move(spread), "bias"));
    return std::optional<OutletId>(bias);
  }
  RILL_CHECK(value->volume() == outputs, "bias ", ctx.fact(bias), ": expected ", outputs,
             " values");
  RILL_ASSIGN(const Tensor as_input, cast(*value, dtype));
  RILL_ASSIGN(Tensor flat, as_input.reshaped({outputs}));
  if (value->rank() == 1 && value->dtype() == dtype) return std::optional<OutletId>(bias);
  RILL_ASSIGN(bias, ctx.konst(std::move(flat), value->rank() > 1 ? "bias_rm_0" : "bias"));
  return std::optional<OutletId>(bias);
}

}  // namespace rill::ops
