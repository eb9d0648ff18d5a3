#include "ops/quant/byte_product.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/bits.h"
#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/rounding.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/nn/byte_lower.h"
#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

using kernels::Rounding;

/// Multiply a tensor of bytes by a constant matrix along one axis, both less their zero points, and
/// bring the sums to a type of integers. Made by `fuse` only.
/// Shapes: x, weights [columns, k], bias [columns] of I32, one number of I32 that is the zero point
/// of x -> axis i of the output is axis from[i] of x, or the columns where that is -1.
/// Types: U8, I8, QU8, QI8; weights I8.
/// Accuracy: exact sums modulo 2^32, and the operations of `Rounding`.
/// Errors: kUnsupported outside of a plan. Stream: made of what is pulsed already.
/// Source: tract, `tract_core_einsum_q`; NNEF 1.0, `matmul`.
struct ByteSums final : OpBase<ByteSums> {
  int64_t summed = 0;  ///< the axis of x
  std::vector<int64_t> from;
  int64_t x_zero = 0;
  int64_t w_zero = 0;
  bool has_bias = false;
  bool has_zero = false;  ///< an input; `x_zero` is 0 then
  bool rounds = false;
  Rounding rounding;
  DType to = DType::kI32;
  QParams q;

  std::string_view name() const override { return "EinSum"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("summed", summed);
    visitor.field("from", from);
    visitor.field("x_zero", x_zero);
    visitor.field("w_zero", w_zero);
    visitor.field("has_bias", has_bias);
    visitor.field("has_zero", has_zero);
    visitor.field("rounds", rounds);
    visitor.field("to", to);
    visitor.field("scale", q.scale);
    int64_t zero_point = q.zero_point;
    visitor.field("zero_point", zero_point);
    visitor.field("narrow", rounding.narrow);
    // Nodes that differ in their last bit are no equal nodes.
    for (double* number : {&rounding.mul, &rounding.div, &rounding.before, &rounding.after}) {
      auto bits = bit_cast<int64_t>(*number);
      visitor.field("rounding", bits);
    }
  }
  Result<Facts> infer(FactSpan in) const override {
    Fact out{to, q, {}, {}};
    for (const int64_t axis : from) {
      out.shape.push_back(axis < 0 ? in[1].dim(0) : in[0].dim(static_cast<int>(axis)));
    }
    return Facts{std::move(out)};
  }
  Status eval(EvalCtx&) const override {
    return fail(Code::kUnsupported, "a product of bytes outside of a plan");
  }
  Status lower(Lowering& lowering) const override;
  Cost cost(FactSpan in, FactSpan out) const override {
    Cost cost;
    cost.fma = volume(out[0].shape) * in[1].dim(1);
    cost.bytes = volume(in[0].shape) + volume(in[1].shape) + volume(out[0].shape);
    return cost;
  }
  Status save(SaveCtx&) const override {
    return fail(Code::kUnsupported, "a product of bytes is part of a plan only");
  }
};

Status ByteSums::lower(Lowering& lowering) const {
  std::vector<int> x_order;
  std::vector<int> y_order;
  int column_axis = 0;
  for (const int axis : Lowering::physical_order(lowering.in(0))) {
    if (axis == summed) continue;
    x_order.push_back(axis);
    const auto at = std::find(from.begin(), from.end(), axis);
    y_order.push_back(static_cast<int>(at - from.begin()));
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] < 0) column_axis = static_cast<int>(i);
  }
  x_order.push_back(static_cast<int>(summed));
  y_order.push_back(column_axis);
  const Operand x = lowering.ordered(lowering.in(0), x_order);
  const Operand& w = lowering.in(1);
  ByteProduct product;
  product.x = x.ref;
  product.x_type = x.dtype;
  product.x_zero = static_cast<int32_t>(x_zero);
  product.w_zero = static_cast<int32_t>(w_zero);
  product.columns = w.extent(0);
  product.segment_len = product.row_stride = w.extent(1);
  product.rows = 1;
  for (const int axis : x_order) product.rows *= axis == summed ? 1 : x.extent(axis);
  const auto* bytes = w.konst->data<int8_t>();
  product.weights.resize(static_cast<size_t>(w.konst->volume()));
  for (int64_t n = 0; n < product.columns; ++n) {
    for (int64_t k = 0; k < product.segment_len; ++k) {
      product.weights[static_cast<size_t>(k * product.columns + n)] = *bytes++;
    }
  }
  if (has_bias) {
    const auto values = lowering.in(2).konst->values<int32_t>();
    product.bias.assign(values.begin(), values.end());
    lowering.packed(2);
  }
  if (has_zero) product.zero = lowering.in(has_bias ? 3 : 2).ref;
  if (rounds) product.rounding = rounding;
  lower_byte_product(product, lowering, y_order);
  lowering.packed(1);
  return {};
}

/// Looks back along single inputs from the node that is rewritten.
class Chain {
 public:
  explicit Chain(const Rewrite& rewrite) : old_(rewrite.old_graph()), at_(&rewrite.node()) {}

  const Node& node() const { return *at_; }
  const Fact& out() const { return at_->outputs[0]; }
  const Fact& in(int i) const { return old_.fact(at_->inputs[static_cast<size_t>(i)]); }
  template <class T>
  const T* as() const {
    return at_->op->as<T>();
  }
  void back(int input = 0) { at_ = &old_.node(at_->inputs[static_cast<size_t>(input)].node); }

  bool is_cast(DType to) const { return as<Cast>() && out().dtype == to; }
  /// The constant that is on one side of a binary operation, and which side that is.
  TensorPtr other(BinaryKind kind, int* side) const {
    const auto* binary = as<Binary>();
    if (!binary || binary->kind_of != kind) return nullptr;
    *side = in(1).konst ? 1 : 0;
    return in(*side).konst;
  }

 private:
  const Graph& old_;
  const Node* at_;
};

std::optional<double> one_number(const TensorPtr& value) {
  const auto number = uniform_number(value);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// What a product of integers is as one of bytes.
struct Found {
  ByteSums op;
  OutletId x;
  OutletId zero;  ///< the zero point of x, if it is no constant
  Tensor weights;  ///< I8 [columns, k]
  int column_axis = 0;
  int64_t largest = 0;  ///< the largest size of a sum
};

/// Weights within 8 bits, less a zero point if there are none without one.
std::optional<Tensor> as_bytes(const Tensor& matrix, int64_t columns, int64_t k, bool transposed,
                               int64_t* zero) {
  const auto values = matrix.values<int32_t>();
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const int64_t least = *low, most = *high;
  if (most - least > 255) return std::nullopt;
  *zero = least >= -128 && most <= 127 ? 0 : -128 - least;
  auto out = Tensor::zeros(DType::kI8, {columns, k});
  if (!out.ok()) return std::nullopt;
  for (int64_t n = 0; n < columns; ++n) {
    for (int64_t p = 0; p < k; ++p) {
      const int32_t value = values[static_cast<size_t>(transposed ? p * columns + n : n * k + p)];
      out->mutable_data<int8_t>()[n * k + p] = static_cast<int8_t>(value + *zero);
    }
  }
  return std::move(out).value();
}

/// Where x and the output of an einsum have their axes; nothing if it is no product of a matrix.
bool place_axes(std::string_view x, std::string_view w, std::string_view y, const Tensor& matrix,
                Found* found, bool* transposed) {
  char summed = 0, column = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    const bool in_x = x.find(w[i]) != std::string_view::npos;
    const bool in_y = y.find(w[i]) != std::string_view::npos;
    if (in_x && in_y && matrix.extent(static_cast<int>(i)) == 1) continue;
    if (in_x == in_y || (in_x ? summed : column) != 0) return false;
    (in_x ? summed : column) = w[i];
  }
  if (summed == 0 || column == 0 || x.size() != y.size()) return false;
  *transposed = w.find(summed) < w.find(column);
  found->op.summed = static_cast<int64_t>(x.find(summed));
  for (const char letter : y) {
    const size_t at = x.find(letter);
    if (letter != column && (at == std::string_view::npos || x.find(letter, at + 1) != x.npos)) {
      return false;
    }
    if (letter == column) found->column_axis = static_cast<int>(found->op.from.size());
    found->op.from.push_back(letter == column ? -1 : static_cast<int64_t>(at));
  }
  return std::count(y.begin(), y.end(), column) == 1;
}

std::optional<Found> find_sums(const Rewrite& rewrite, const Node& node) {
  const auto* sums = node.op->as<EinSum>();
  if (!sums || sums->operands != 2 || node.outputs[0].dtype != DType::kI32) return std::nullopt;
  const Graph& old = rewrite.old_graph();
  const int columns = old.fact(node.inputs[0]).konst ? 0 : 1;
  const TensorPtr matrix = old.fact(node.inputs[static_cast<size_t>(columns)]).konst;
  OutletId at = node.inputs[static_cast<size_t>(1 - columns)];
  if (!matrix || old.fact(at).konst) return std::nullopt;
  Found found;
  if (old.node(at.node).op->traits().elementwise == Elementwise::kSub) {
    const OutletId taken = old.node(at.node).inputs[1];
    const auto zero = one_number(old.fact(taken).konst);
    if (zero && std::abs(*zero) <= 255) {
      found.op.x_zero = static_cast<int64_t>(*zero);
    } else if (volume(old.fact(taken).shape) == Dim(1)) {
      found.op.has_zero = true;
      found.zero = taken;
    } else {
      return std::nullopt;
    }
    at = old.node(at.node).inputs[0];
  }
  const auto bytes = cast_from(old.node(at.node));
  if (!bytes) return std::nullopt;
  found.x = *bytes;
  bool transposed = false;
  if (!is_byte(old.fact(found.x).dtype) ||
      !place_axes(sums->letters(1 - columns), sums->letters(columns), sums->letters(2), *matrix,
                  &found, &transposed)) {
    return std::nullopt;
  }
  const auto k = old.fact(found.x).dim(static_cast<int>(found.op.summed)).to_int();
  if (!k || *k == 0 || matrix->volume() % *k != 0) return std::nullopt;
  // An axis of one frame may meet more of them.
  if (node.outputs[0].dim(found.column_axis).to_int() != matrix->volume() / *k) return std::nullopt;
  auto weights = as_bytes(*matrix, matrix->volume() / *k, *k, transposed, &found.op.w_zero);
  if (!weights) return std::nullopt;
  found.weights = std::move(*weights);
  found.largest = found.zero.valid() ? INT64_MAX / 2 : *k * 383 * 255;
  return found;
}

/// The bias per column, if the constant varies along that axis alone.
std::optional<Tensor> bias_of(const Tensor& value, int axis, int64_t columns, int64_t* largest) {
  const bool fits =
      axis < value.rank() && value.extent(axis) == columns && value.volume() == columns;
  if (!fits && value.volume() != 1) return std::nullopt;
  auto out = Tensor::zeros(DType::kI32, {columns});
  if (!out.ok()) return std::nullopt;
  int64_t most = 0;
  for (int64_t i = 0; i < columns; ++i) {
    const int32_t one = value.data<int32_t>()[fits ? i : 0];
    most = std::max(most, std::abs(int64_t{one}));
    out->mutable_data<int32_t>()[i] = one;
  }
  *largest += most;
  return std::move(out).value();
}

/// Everything that a cast to bytes ends.
struct Rounded {
  Found found;
  std::optional<Tensor> bias;
};

/// Sums as QI32, a bias in the same scale, and the cast, which computes in f32.
std::optional<Rounded> cast_of_sums(const Rewrite& rewrite, Chain chain, const QParams& to) {
  chain.back();
  int side = 0;
  TensorPtr bias = chain.other(BinaryKind::kAdd, &side);
  if (chain.out().dtype != DType::kQI32 || chain.out().q.zero_point != 0) return std::nullopt;
  const QParams scale = chain.out().q;
  if (chain.as<Binary>()) {
    if (!bias || !(bias->qparams() == scale)) return std::nullopt;
    chain.back(1 - side);
  }
  if (!chain.is_cast(DType::kQI32) || !(chain.out().q == scale)) return std::nullopt;
  chain.back();
  auto found = find_sums(rewrite, chain.node());
  if (!found) return std::nullopt;
  Rounded out{std::move(*found), {}};
  const int64_t columns = out.found.weights.extent(0);
  if (bias) {
    out.bias = bias_of(*bias, out.found.column_axis, columns, &out.found.largest);
    if (!out.bias) return std::nullopt;
  }
  // Sums that wrap are one thing before the bias is added, which limits them, and another after.
  if (out.found.largest > INT32_MAX) return std::nullopt;
  out.found.op.rounding.mul = static_cast<double>(scale.scale);
  out.found.op.rounding.div = static_cast<double>(to.scale);
  out.found.op.rounding.before = static_cast<double>(to.zero_point);
  return out;
}

/// Sums times a factor in f64, rounded in f32, and moved by the zero point.
std::optional<Rounded> scaled_sums(const Rewrite& rewrite, Chain chain) {
  int side = 0;
  double zero = 0;
  chain.back();
  if (const TensorPtr moved = chain.other(BinaryKind::kAdd, &side)) {
    const auto number = one_number(moved);
    if (!number || std::abs(*number) > 255) return std::nullopt;
    zero = *number;
    chain.back(1 - side);
  }
  const auto* round = chain.as<Unary>();
  if (!round || round->kind_of != UnaryKind::kRoundEven) return std::nullopt;
  chain.back();
  if (!chain.is_cast(DType::kF32)) return std::nullopt;
  chain.back();
  const auto factor = one_number(chain.other(BinaryKind::kMul, &side));
  if (!factor || chain.out().dtype != DType::kF64) return std::nullopt;
  chain.back(1 - side);
  if (!chain.is_cast(DType::kF64)) return std::nullopt;
  chain.back();
  const TensorPtr bias = chain.other(BinaryKind::kAdd, &side);
  if (bias) chain.back(1 - side);
  auto found = find_sums(rewrite, chain.node());
  if (!found) return std::nullopt;
  Rounded out{std::move(*found), {}};
  if (bias) {
    if (bias->dtype() != DType::kI32) return std::nullopt;
    const int64_t columns = out.found.weights.extent(0);
    out.bias = bias_of(*bias, out.found.column_axis, columns, &out.found.largest);
    if (!out.bias) return std::nullopt;
  }
  out.found.op.rounding.mul = *factor;
  out.found.op.rounding.after = zero;
  return out;
}

Status replace_by(Rewrite& rewrite, Rounded rounded) {
  const Fact& out = rewrite.out();
  ByteSums& op = rounded.found.op;
  op.to = out.dtype;
  op.q = out.q;
  const std::string& name = rewrite.node().name;
  std::vector<OutletId> inputs{rewrite.mapped(rounded.found.x),
                               rewrite.konst(name + "_bytes", std::move(rounded.found.weights))};
  if (rounded.bias) {
    op.has_bias = true;
    inputs.push_back(rewrite.konst(name + "_start", std::move(*rounded.bias)));
  }
  if (op.has_zero) inputs.push_back(rewrite.mapped(rounded.found.zero));
  RILL_ASSIGN(const OutletId y,
              rewrite.wire1(name, std::make_shared<ByteSums>(op), std::move(inputs)));
  // Where an axis of extent 1 was broadcast to more, the sum of bytes has another shape: left
  // alone.
  if (!(rewrite.new_fact(y).shape == out.shape)) return {};
  return rewrite.replace({y});
}

}  // namespace

Status fuse_byte_sums(Rewrite& rewrite) {
  auto found = find_sums(rewrite, rewrite.node());
  return found ? replace_by(rewrite, {std::move(*found), {}}) : Status();
}

Status fuse_byte_bias(Rewrite& rewrite) {
  Chain chain(rewrite);
  int side = 0;
  const TensorPtr bias = chain.other(BinaryKind::kAdd, &side);
  if (!bias || bias->dtype() != DType::kI32 || rewrite.out().dtype != DType::kI32) return {};
  chain.back(1 - side);
  auto found = find_sums(rewrite, chain.node());
  if (!found || rewrite.uses(rewrite.input(1 - side)) != 1) return {};
  const int64_t columns = found->weights.extent(0);
  auto start = bias_of(*bias, found->column_axis, columns, &found->largest);
  if (!start) return {};
  return replace_by(rewrite, {std::move(*found), std::move(*start)});
}

Status fuse_byte_product(Rewrite& rewrite) {
  const Fact& out = rewrite.out();
  if (!is_byte(out.dtype)) return {};
  Chain chain(rewrite);
  auto rounded = is_quantised(out.dtype) ? cast_of_sums(rewrite, chain, out.q) : std::nullopt;
  if (!rounded) {
    const DType raw = out.dtype == DType::kQU8   ? DType::kU8
                      : out.dtype == DType::kQI8 ? DType::kI8
                                                 : out.dtype;
    if (raw != out.dtype && chain.in(0).dtype == raw) chain.back();
    if (chain.is_cast(raw)) rounded = scaled_sums(rewrite, chain);
  }
  if (!rounded) return {};
  Rounding limits = rounding_within(out.dtype);
  rounded->found.op.rounds = true;
  rounded->found.op.rounding.narrow = true;
  rounded->found.op.rounding.lo = limits.lo;
  rounded->found.op.rounding.hi = limits.hi;
  return replace_by(rewrite, std::move(*rounded));
}

}  // namespace rill::ops
