#include "ops/quant/byte_product.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/graph/course.h"
#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/rounding.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/nn/einsum.h"
#include "ops/quant/byte_sums.h"
#include "ops/quant/whole_cast.h"

namespace rill::ops {
namespace {

using kernels::Rounding;

/// Walks upstream from the rewritten node, along one input per node.
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
  /// Return the constant on one side of a binary operation, and that side.
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

/// An integer matmul as an int8 GEMM.
struct Found {
  ByteSums op;
  OutletId x;
  OutletId zero;  ///< the zero point of x, unless it is constant
  Tensor weights;  ///< I8 [columns, parts * k]
  int column_axis = 0;
  int64_t largest = 0;  ///< an upper bound of the magnitudes of sums
};

/// Return weights in 8 bits, minus a zero point if they do not fit otherwise. Weights of 9 bits, as
/// with separate zero points per column, are split into two summands: [columns, 2 * k].
std::optional<Tensor> as_bytes(const Tensor& matrix, int64_t columns, int64_t k, bool transposed,
                               int64_t* zero) {
  const auto values = matrix.values<int32_t>();
  if (values.empty()) return std::nullopt;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const int64_t low = *lowest, high = *highest;
  const int64_t parts = high - low > 255 ? 2 : 1;
  const int64_t least = parts == 1 ? low : low >> 1, most = parts == 1 ? high : (high + 1) >> 1;
  if (most - least > 255) return std::nullopt;
  *zero = least >= -128 && most <= 127 ? 0 : -128 - least;
  auto out = Tensor::zeros(DType::kI8, {columns, parts * k});
  if (!out.ok()) return std::nullopt;
  for (int64_t n = 0; n < columns; ++n) {
    int8_t* column = out->mutable_data<int8_t>() + n * parts * k;
    for (int64_t p = 0; p < k; ++p) {
      const int32_t value = values[static_cast<size_t>(transposed ? p * columns + n : n * k + p)];
      const int32_t first = parts == 1 ? value : value >> 1;
      column[p] = static_cast<int8_t>(first + *zero);
      if (parts == 2) column[k + p] = static_cast<int8_t>(value - first + *zero);
    }
  }
  return std::move(out).value();
}

/// Locate the axes of x and of the output of an einsum; false if it has no matrix form.
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

/// The operands of a binary einsum: the constant one, and the other.
struct Operands {
  const EinSum* product = nullptr;
  int columns = 0;  ///< the operand that is the matrix
  TensorPtr matrix;
  OutletId x;
};

std::optional<Operands> operands_of(const Graph& graph, const Node& node, DType type) {
  Operands out;
  out.product = node.op->as<EinSum>();
  if (!out.product || out.product->operands != 2 || node.outputs[0].dtype != type) {
    return std::nullopt;
  }
  out.columns = graph.fact(node.inputs[0]).konst ? 0 : 1;
  out.matrix = graph.fact(node.inputs[static_cast<size_t>(out.columns)]).konst;
  out.x = node.inputs[static_cast<size_t>(1 - out.columns)];
  if (!out.matrix || graph.fact(out.x).konst) return std::nullopt;
  return out;
}

/// Complete `found`, whose `x` has the axes of the operand, with a matrix of I32.
bool take_matrix(const Graph& graph, const Node& node, const Operands& operands,
                 const Tensor& matrix, Found* found) {
  const EinSum& product = *operands.product;
  bool transposed = false;
  if (!place_axes(product.letters(1 - operands.columns), product.letters(operands.columns),
                  product.letters(2), matrix, found, &transposed)) {
    return false;
  }
  const auto k = graph.fact(found->x).dim(static_cast<int>(found->op.summed)).to_int();
  if (!k || *k == 0 || matrix.volume() % *k != 0) return false;
  // The operand may be broadcast along this axis.
  if (node.outputs[0].dim(found->column_axis).to_int() != matrix.volume() / *k) return false;
  auto weights = as_bytes(matrix, matrix.volume() / *k, *k, transposed, &found->op.w_zero);
  if (!weights) return false;
  found->weights = std::move(*weights);
  found->op.parts = found->weights.extent(1) / *k;
  found->largest = found->zero.valid() ? INT64_MAX / 2 : found->weights.extent(1) * 383 * 255;
  return true;
}

std::optional<Found> find_sums(const Rewrite& rewrite, const Node& node) {
  const Graph& old = rewrite.old_graph();
  const auto operands = operands_of(old, node, DType::kI32);
  if (!operands) return std::nullopt;
  OutletId at = operands->x;
  Found found;
  if (old.node(at.node).op->course().is(Course::Function::kSub)) {
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
  if (!bytes || !is_byte(old.fact(*bytes).dtype)) return std::nullopt;
  found.x = *bytes;
  if (!take_matrix(old, node, *operands, *operands->matrix, &found)) return std::nullopt;
  return found;
}

/// Return f32 integers as integers; nothing for other numbers.
std::optional<Tensor> whole_matrix(const Tensor& matrix) {
  for (const float each : matrix.values<float>()) {
    if (each != std::nearbyint(each) || std::abs(each) > 255) return std::nullopt;
  }
  auto out = cast(matrix, DType::kI32);
  return out.ok() ? std::optional(std::move(out).value()) : std::nullopt;
}

/// Return whether f32 holds every sum of products with numbers of 255 at most, in any order.
bool held_in_f32(const Found& found) {
  constexpr int64_t kMostHeld = 1 << 24;
  const int64_t k = found.weights.extent(1);
  const auto* weight = found.weights.data<int8_t>();
  for (int64_t column = 0; column < found.weights.extent(0); ++column) {
    int64_t most = 0;
    for (int64_t p = 0; p < k; ++p) most += 255 * std::abs(*weight++ - found.op.w_zero);
    if (most > kMostHeld) return false;
  }
  return true;
}

/// Find an f32 matmul of integers in the range of bytes, minus one zero point.
std::optional<Found> find_whole_sums(const Rewrite& rewrite, const Node& node) {
  const Graph& old = rewrite.old_graph();
  const auto operands = operands_of(old, node, DType::kF32);
  if (!operands || operands->product->has_bias || operands->product->has_residual) {
    return std::nullopt;
  }
  const Node& less = old.node(operands->x.node);
  if (!less.op->course().is(Course::Function::kSub) ||
      !gives_whole_bytes(old, less.inputs[0]) || !gives_whole_bytes(old, less.inputs[1]) ||
      volume(old.fact(less.inputs[1]).shape) != Dim(1)) {
    return std::nullopt;
  }
  const auto matrix = whole_matrix(*operands->matrix);
  Found found;
  found.op.has_zero = true;
  found.x = less.inputs[0];
  found.zero = less.inputs[1];
  if (!matrix || !take_matrix(old, node, *operands, *matrix, &found) || !held_in_f32(found)) {
    return std::nullopt;
  }
  return found;
}

/// Return the bias per column if the constant varies along that axis alone.
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

/// A whole pattern that ends in a cast to bytes.
struct Rounded {
  Found found;
  std::optional<Tensor> bias;
};

/// Match sums as QI32, a bias in the same scale, and the cast, which computes in f32.
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
  // Unfused, sums wrap and adding the bias saturates; fused, both wrap. So nothing may overflow.
  if (out.found.largest > INT32_MAX) return std::nullopt;
  out.found.op.rounding.mul = static_cast<double>(scale.scale);
  out.found.op.rounding.div = static_cast<double>(to.scale);
  out.found.op.rounding.before = static_cast<double>(to.zero_point);
  return out;
}

/// Match sums times a factor in f64, rounded in f32, plus the zero point.
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

/// Add the int8 GEMM that replaces the current node.
Result<OutletId> wire_sums(Rewrite& rewrite, Rounded rounded, OutletId x, OutletId zero) {
  const std::string& name = rewrite.node().name;
  ByteSums& op = rounded.found.op;
  std::vector<OutletId> inputs{x,
                               rewrite.konst(name + "_bytes", std::move(rounded.found.weights))};
  if (rounded.bias) {
    op.has_bias = true;
    inputs.push_back(rewrite.konst(name + "_start", std::move(*rounded.bias)));
  }
  if (op.has_zero) inputs.push_back(zero);
  return rewrite.wire1(name, make_op<ByteSums>(op), inputs);
}

Status replace_by(Rewrite& rewrite, Rounded rounded) {
  const Fact& out = rewrite.out();
  ByteSums& op = rounded.found.op;
  op.to = out.dtype;
  op.q = out.q;
  const OutletId x = rewrite.mapped(rounded.found.x);
  const OutletId zero = op.has_zero ? rewrite.mapped(rounded.found.zero) : OutletId{};
  RILL_ASSIGN(const OutletId y, wire_sums(rewrite, std::move(rounded), x, zero));
  // The shape differs if an axis of extent 1 was broadcast: keep the node then.
  if (!(rewrite.new_fact(y).shape == out.shape)) return {};
  return rewrite.replace({y});
}

}  // namespace

Status fuse_whole_sums(Rewrite& rewrite) {
  auto found = find_whole_sums(rewrite, rewrite.node());
  if (!found) return {};
  const std::string& name = rewrite.node().name;
  auto rounds = draft_op<Cast>(DType::kU8);
  rounds->whole = true;
  RILL_ASSIGN(const OutletId x,
              rewrite.wire1(name + "_x", std::move(rounds), {rewrite.mapped(found->x)}));
  RILL_ASSIGN(const OutletId zero, rewrite.wire1(name + "_zero", make_op<Cast>(DType::kI32),
                                                 {rewrite.mapped(found->zero)}));
  RILL_ASSIGN(const OutletId sums, wire_sums(rewrite, {std::move(*found), {}}, x, zero));
  if (!(rewrite.new_fact(sums).shape == rewrite.out().shape)) return {};
  return rewrite.replace_by(make_op<Cast>(DType::kF32), {sums});
}

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
