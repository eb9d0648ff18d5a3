#include "ops/stream/position_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/tensor/uniform.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/range.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/trilu.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

constexpr int64_t kLongest = int64_t{1} << 20;
constexpr int64_t kMostPhases = 4096;
constexpr double kMostShift = 16;
constexpr int64_t kMostKept = int64_t{1} << 16;
// Far from the beginning, and from where floats no longer tell positions apart.
constexpr int64_t kFar = int64_t{1} << 40;

std::optional<double> combine(BinaryKind kind, double a, double b, DType dtype) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      if (b == 0.0) return std::nullopt;
      if (dtype == DType::kDim) return std::floor(a / b);
      return is_int(dtype) ? std::trunc(a / b) : a / b;
    case BinaryKind::kMin:
      return std::min(a, b);
    case BinaryKind::kMax:
      return std::max(a, b);
    case BinaryKind::kEq:
      return a == b ? 1.0 : 0.0;
    case BinaryKind::kNe:
      return a != b ? 1.0 : 0.0;
    case BinaryKind::kLt:
      return a < b ? 1.0 : 0.0;
    case BinaryKind::kLe:
      return a <= b ? 1.0 : 0.0;
    case BinaryKind::kGt:
      return a > b ? 1.0 : 0.0;
    case BinaryKind::kGe:
      return a >= b ? 1.0 : 0.0;
    case BinaryKind::kAnd:
      return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
    case BinaryKind::kOr:
      return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
    case BinaryKind::kXor:
      return (a != 0.0) != (b != 0.0) ? 1.0 : 0.0;
    case BinaryKind::kPow:
      return std::pow(a, b);
    case BinaryKind::kShr:
      return b >= 0 && b < kMostShift
                 ? std::optional(std::floor(std::ldexp(a, -static_cast<int>(b))))
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<double> apply(UnaryKind kind, double a) {
  switch (kind) {
    case UnaryKind::kNeg:
      return -a;
    case UnaryKind::kAbs:
      return std::abs(a);
    case UnaryKind::kFloor:
      return std::floor(a);
    case UnaryKind::kCeil:
      return std::ceil(a);
    case UnaryKind::kNot:
      return a == 0.0 ? 1.0 : 0.0;
    case UnaryKind::kExp:
      return std::exp(a);
    case UnaryKind::kSquare:
      return a * a;
    case UnaryKind::kSqrt:
      return std::sqrt(a);
    case UnaryKind::kLn:
      return std::log(a);
    default:
      return std::nullopt;
  }
}

}  // namespace

Positions::Entry& Positions::entry(OutletId outlet, Square at) const {
  const auto [found, fresh] = entries_.try_emplace({outlet, at});
  Entry& made = found->second;
  if (!fresh) return made;
  const Node& node = node_of(outlet);
  if (const auto* constant = node.op->as<Const>()) made.constant = uniform_number(constant->value);
  if (node.op->as<Select>()) made.chosen_by_position = is_positional(graph_, outlet);
  if (node.op->as<Slice>()) made.table = PositionTable::of(graph_, node, at);
  auto inputs = squares_of_inputs(graph_, node, at, symbol_);
  made.known = inputs.has_value();
  if (inputs) made.inputs = std::move(*inputs);
  return made;
}

bool keeps_values(const Op& op) {
  return op.as<AddAxis>() || op.as<RmAxis>() || op.as<Transpose>() || op.as<Broadcast>() ||
         op.as<Reshape>();
}

std::optional<double> Positions::value(OutletId outlet, Square at, int64_t i, int64_t j) const {
  Entry& own = entry(outlet, at);
  const int64_t position = at.row >= 0 ? i : j;
  if ((at.row >= 0 && at.column >= 0) || position < 0 || position >= kMostKept) {
    return compute(own, outlet, at, i, j);
  }
  const auto place = static_cast<size_t>(at.row < 0 && at.column < 0 ? 0 : position);
  if (place >= own.asked.size()) {
    own.asked.resize(place + 1);
    own.seen.resize(place + 1);
  }
  if (!own.asked[place]) {
    // Its inputs are other entries: references stay.
    const auto found = compute(own, outlet, at, i, j);
    own.asked[place] = 1;
    own.seen[place] = found;
  }
  return own.seen[place];
}

namespace {

// Numbers of positions are computed by calls in calls, one operator in the other; what is read
// twice is computed twice for squares. Masks of models are a dozen operators deep and made of some
// tens. An operator takes 250 bytes of stack.
constexpr int kMostDepth = 64;
constexpr int64_t kMostParts = 4096;

}  // namespace

Positions::Positions(const Graph& graph, std::string_view symbol)
    : graph_(graph), symbol_(symbol), too_deep_(graph.nodes.size()) {
  std::vector<int> depth(graph.nodes.size(), 1);
  std::vector<int64_t> parts(graph.nodes.size(), 1);
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    for (const OutletId& input : graph.nodes[id].inputs) {
      const auto from = static_cast<size_t>(input.node);
      depth[id] = std::max(depth[id], depth[from] + 1);
      parts[id] = std::min(parts[id] + parts[from], kMostParts + 1);
    }
    too_deep_[id] = depth[id] > kMostDepth || parts[id] > kMostParts;
  }
}

std::optional<double> Positions::compute(const Entry& own, OutletId outlet, Square at, int64_t i,
                                         int64_t j) const {
  const Node& node = node_of(outlet);
  if (node.op->as<Const>()) return own.constant;
  if (const auto* range = node.op->as<Range>()) {
    const auto start = range->start.to_int();
    if (!start) return std::nullopt;
    return static_cast<double>(*start + range->step * (at.row >= 0 ? i : j));
  }
  if (own.table) return own.table->value(i, j);
  if (!own.known) return std::nullopt;
  const auto input = [&](size_t k) { return value(node.inputs[k], own.inputs[k], i, j); };
  // Scores times 0, as exporters write a number of their shape.
  if (const auto* binary = node.op->as<Binary>(); binary && binary->kind_of == BinaryKind::kMul) {
    for (const size_t k : {0U, 1U}) {
      if (uniform_number(graph_.fact(node.inputs[k]).konst) == 0.0) return 0.0;
    }
  }
  if (too_deep_[static_cast<size_t>(outlet.node)]) return std::nullopt;
  if (const auto* sum = node.op->as<CumSum>()) {
    const auto each = input(0);
    if (!each || sum->reverse || (sum->axis != at.row && sum->axis != at.column)) {
      return std::nullopt;
    }
    const int64_t position = sum->axis == at.row ? i : j;
    return *each * static_cast<double>(position + (sum->exclusive ? 0 : 1));
  }
  if (const auto* part = node.op->as<Trilu>()) {
    const int rank = node.outputs[0].rank();
    const auto k = part->k.to_int();
    if (!k || at.row != rank - 2 || at.column != rank - 1) return std::nullopt;
    return (part->upper ? j - i >= *k : j - i <= *k) ? input(0) : 0.0;
  }
  const auto a = node.inputs.empty() ? std::nullopt : input(0);
  if (!a) return std::nullopt;
  if (keeps_values(*node.op)) return a;
  if (const auto* cast_op = node.op->as<Cast>()) {
    if (cast_op->to == DType::kBool) return *a != 0.0 ? 1.0 : 0.0;
    return is_float(cast_op->to) ? *a : std::trunc(*a);
  }
  if (const auto* unary = node.op->as<Unary>()) return apply(unary->kind_of, *a);
  if (node.op->as<Select>()) {
    // It depends on positions alone if both branches do, though one may have no number here.
    const auto taken = input(*a != 0.0 ? 1 : 2);
    return own.chosen_by_position || input(*a != 0.0 ? 2 : 1) ? taken : std::nullopt;
  }
  const auto* binary = node.op->as<Binary>();
  const auto b = binary ? input(1) : std::nullopt;
  return b ? combine(binary->kind_of, *a, *b, graph_.fact(node.inputs[0]).dtype) : std::nullopt;
}

std::optional<double> Positions::shift(OutletId outlet, Square at, int64_t by) const {
  const Node& node = node_of(outlet);
  if (node.op->as<Const>()) return 0.0;
  if (const auto* range = node.op->as<Range>()) {
    const auto start = range->start.to_int();
    if (!start || *start < 0 || range->step < 0) return std::nullopt;
    return static_cast<double>(range->step * by);
  }
  const Entry& own = entry(outlet, at);
  if (own.table) {
    if (by % own.table->period() != 0) return std::nullopt;
    return own.table->growth() * static_cast<double>(by / own.table->period());
  }
  if (!own.known || too_deep_[static_cast<size_t>(outlet.node)]) return std::nullopt;
  const auto input = [&](size_t k) { return shift(node.inputs[k], own.inputs[k], by); };
  const auto a = node.inputs.empty() ? std::nullopt : input(0);
  // Of frames it tells where they are zeros: by the distance alone.
  if (node.op->as<Trilu>() && !is_positional(graph_, outlet)) return 0.0;
  if (!a) return std::nullopt;
  if (node.op->as<CumSum>()) {
    const auto each = value(node.inputs[0], own.inputs[0], 0, 0);
    return each && *a == 0.0 ? std::optional(*each * static_cast<double>(by)) : std::nullopt;
  }
  if (keeps_values(*node.op)) return a;
  const bool whole = std::trunc(*a) == *a;
  if (const auto* cast_op = node.op->as<Cast>()) {
    if (cast_op->to == DType::kBool && *a != 0.0) return std::nullopt;
    return whole ? a : std::nullopt;
  }
  if (const auto* unary = node.op->as<Unary>()) {
    if (unary->kind_of == UnaryKind::kNeg) return -*a;
    if (unary->kind_of == UnaryKind::kFloor || unary->kind_of == UnaryKind::kCeil) {
      return whole ? a : std::nullopt;
    }
    return *a == 0.0 ? a : std::nullopt;
  }
  if (node.op->as<Trilu>()) return *a == 0.0 ? a : std::nullopt;
  const auto b = node.inputs.size() > 1 ? input(1) : std::nullopt;
  if (!b) return std::nullopt;
  if (node.op->as<Select>()) {
    const auto c = input(2);
    if (*a != 0.0 || !c) return std::nullopt;
    if (*b == *c) return b;
    // Where one position decides, all that are far from the beginning choose alike.
    const Square& chooses = own.inputs[0];
    if (chooses.row >= 0 && chooses.column >= 0) return std::nullopt;
    const auto choice = value(node.inputs[0], chooses, kFar, kFar);
    if (!choice || by > kMostPhases) return std::nullopt;
    for (int64_t back = 1; back <= by; ++back) {
      if (value(node.inputs[0], chooses, kFar - back, kFar - back) != choice) return std::nullopt;
    }
    levels_off_ = true;
    return *choice != 0.0 ? b : c;
  }
  const auto* binary = node.op->as<Binary>();
  if (!binary) return std::nullopt;
  const auto constant = [&](size_t k) { return uniform_number(graph_.fact(node.inputs[k]).konst); };
  // Whether one operand is a constant and the other depends on one position, row or column. A value
  // of both may stay small however large they are, where they lie close to each other.
  const auto one_grows = [&] {
    if (!constant(0) && !constant(1)) return false;
    const Square& grows = own.inputs[constant(0) ? 1 : 0];
    return grows.row < 0 || grows.column < 0;
  };
  switch (binary->kind_of) {
    case BinaryKind::kAdd:
      return *a + *b;
    case BinaryKind::kSub:
      return *a - *b;
    case BinaryKind::kMul:
      if (*a == 0.0 && *b == 0.0) return 0.0;
      if (const auto factor = constant(1)) return *a * *factor;
      if (const auto factor = constant(0)) return *b * *factor;
      return std::nullopt;
    case BinaryKind::kDiv: {
      const auto divisor = constant(1);
      if (*a == 0.0 && *b == 0.0) return 0.0;
      if (!divisor || *divisor == 0.0 || std::trunc(*a / *divisor) != *a / *divisor) {
        return std::nullopt;
      }
      return *a / *divisor;
    }
    case BinaryKind::kShr: {
      const auto bits = constant(1);
      if (*a == 0.0 && *b == 0.0) return 0.0;
      if (!bits || *bits < 0 || *bits >= kMostShift) return std::nullopt;
      const double grown = std::ldexp(*a, -static_cast<int>(*bits));
      return std::trunc(grown) == grown ? std::optional(grown) : std::nullopt;
    }
    case BinaryKind::kMin:
    case BinaryKind::kMax: {
      if (*a == *b) return a;
      // One operand is a constant: from some position on, the growing one is always the larger, or
      // always the smaller.
      if (!one_grows()) return std::nullopt;
      levels_off_ = true;
      const double grows = constant(0) ? *b : *a;
      return (grows > 0) == (binary->kind_of == BinaryKind::kMax) ? grows : 0.0;
    }
    case BinaryKind::kLt:
    case BinaryKind::kLe:
    case BinaryKind::kGt:
    case BinaryKind::kGe:
      // The same holds for a comparison with it.
      if (*a != *b && !one_grows()) return std::nullopt;
      levels_off_ |= *a != *b;
      return 0.0;
    case BinaryKind::kEq:
    case BinaryKind::kNe:
      return *a == *b ? std::optional(0.0) : std::nullopt;
    default:
      return *a == 0.0 && *b == 0.0 ? std::optional(0.0) : std::nullopt;
  }
}

void Positions::collect(OutletId outlet, Square at, Numbers* numbers) const {
  const Node& node = node_of(outlet);
  const Entry& own = entry(outlet, at);
  if (own.table) {
    numbers->reach += static_cast<double>(own.table->reach()) + own.table->start();
    const double growth = std::abs(own.table->growth());
    if (growth > 0 && growth < 1) numbers->stretch /= growth;
    numbers->period = std::min<int64_t>(std::lcm(numbers->period, own.table->period()), kLongest);
    return;
  }
  if (const auto* part = node.op->as<Trilu>()) {
    numbers->reach += std::abs(static_cast<double>(part->k.to_int().value_or(0)));
  }
  if (const auto* range = node.op->as<Range>()) {
    numbers->reach += std::abs(static_cast<double>(range->start.to_int().value_or(0)));
  }
  if (node.op->as<CumSum>() && own.known) {
    const double each = std::abs(value(node.inputs[0], own.inputs[0], 0, 0).value_or(1.0));
    if (each > 0 && each < 1) numbers->stretch /= each;
  }
  const auto* binary = node.op->as<Binary>();
  const auto is = [&](BinaryKind kind) { return binary && binary->kind_of == kind; };
  if (binary) {
    for (const OutletId& input : node.inputs) {
      const auto number = uniform_number(graph_.fact(input).konst);
      if (!number || !std::isfinite(*number)) continue;
      // A product with 1/8 is a division by 8.
      const double by = is(BinaryKind::kMul)   ? 1.0 / *number
                        : is(BinaryKind::kShr) ? std::exp2(std::clamp(*number, 0.0, kMostShift))
                                               : *number;
      const auto divisor = static_cast<int64_t>(std::min(std::abs(by), 1e6));
      const bool divides = is(BinaryKind::kDiv) || is(BinaryKind::kShr);
      const bool scales = divides || is(BinaryKind::kMul);
      if (scales && std::abs(by) > 1) {
        const bool whole = static_cast<double>(divisor) == std::abs(by);
        if (!whole) numbers->stretch *= std::abs(by);
      }
      if (is(BinaryKind::kMul) && static_cast<double>(divisor) != std::abs(by)) continue;
      if (!scales) {
        numbers->reach += std::abs(*number);
      } else if (divisor >= 1 && divisor <= 1 << 16) {
        numbers->period = std::min<int64_t>(std::lcm(numbers->period, divisor), kLongest);
      }
    }
  }
  if (too_deep_[static_cast<size_t>(outlet.node)]) return;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    collect(node.inputs[k], own.known ? own.inputs[k] : Square{}, numbers);
  }
}

}  // namespace rill::ops
