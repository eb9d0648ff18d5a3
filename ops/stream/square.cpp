#include "ops/stream/square.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/range.h"
#include "ops/array/trilu.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"
#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

/// Scores of this and less have no weight left: their exponential is 0 beside any other.
constexpr double kHidden = -1e4;

int axis_of_input(const std::vector<AxisTrack>& tracks, size_t input, int output_axis) {
  for (const AxisTrack& track : tracks) {
    if (track.out[0] == output_axis) return track.in[input];
  }
  return -2;
}

}  // namespace

std::optional<std::vector<Square>> squares_of_inputs(const Graph& graph, const Node& node,
                                                     Square output, std::string_view symbol) {
  Facts facts;
  for (const OutletId& input : node.inputs) facts.push_back(graph.fact(input));
  std::vector<Square> out(node.inputs.size());
  if (node.op->as<Softmax>() || node.op->as<Trilu>() || node.op->as<CumSum>()) {
    out[0] = output;
    return out;
  }
  const auto* spread = node.op->as<Broadcast>();
  const std::vector<AxisTrack> tracks = node.op->axes(facts, node.outputs);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto follow = [&](int axis, int* to) {
      if (axis < 0) return true;
      int found = axis_of_input(tracks, i, axis);
      if (found == -2 && spread) found = -1;
      if (found == -2) return facts[i].mentions(symbol) ? false : true;
      // An axis that is repeated does not depend on the position.
      if (found >= 0 && facts[i].dim(found).mentions(symbol)) *to = found;
      return true;
    };
    if (!follow(output.row, &out[i].row) || !follow(output.column, &out[i].column)) {
      return std::nullopt;
    }
  }
  return out;
}

bool is_positional(const Graph& graph, OutletId outlet) {
  std::vector<OutletId> open{outlet};
  std::vector<char> seen(graph.nodes.size());
  while (!open.empty()) {
    const auto id = static_cast<size_t>(open.back().node);
    open.pop_back();
    if (seen[id]) continue;
    seen[id] = 1;
    if (graph.nodes[id].op->as<Source>()) return false;
    open.insert(open.end(), graph.nodes[id].inputs.begin(), graph.nodes[id].inputs.end());
  }
  return true;
}

namespace {

/// Computes wires that depend on positions alone, for one query and one key.
class Positions {
 public:
  Positions(const Graph& graph, std::string_view symbol) : graph_(graph), symbol_(symbol) {}

  /// The value for query i and key j; nothing if an op is not known here.
  std::optional<double> value(OutletId outlet, Square at, int64_t i, int64_t j) const;
  /// By how much the value grows if both positions grow by `by`; nothing if that is not the same
  /// everywhere.
  std::optional<double> shift(OutletId outlet, Square at, int64_t by) const;
  /// A multiple of all numbers that positions are divided by, and a bound on what they are compared
  /// with.
  void scan(OutletId outlet, int64_t* period, double* reach) const;

 private:
  const Node& node_of(OutletId outlet) const { return graph_.node(outlet.node); }
  std::optional<std::vector<Square>> squares(const Node& node, Square at) const {
    return squares_of_inputs(graph_, node, at, symbol_);
  }

  const Graph& graph_;
  std::string_view symbol_;
};

/// The number that a constant holds at every place.
std::optional<double> uniform(const TensorPtr& tensor) {
  if (!tensor || tensor->volume() == 0) return std::nullopt;
  std::optional<double> common;
  for (int64_t i = 0; i < tensor->volume(); ++i) {
    const auto value = element_as_double(*tensor, i);
    if (!value.ok() || (common && *common != *value)) return std::nullopt;
    common = *value;
  }
  return common;
}

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
    default:
      return std::nullopt;
  }
}

bool keeps_values(const Op& op) {
  return op.as<AddAxis>() || op.as<RmAxis>() || op.as<Transpose>() || op.as<Broadcast>();
}

std::optional<double> Positions::value(OutletId outlet, Square at, int64_t i, int64_t j) const {
  const Node& node = node_of(outlet);
  if (const auto* constant = node.op->as<Const>()) return uniform(constant->value);
  if (const auto* range = node.op->as<Range>()) {
    const auto start = range->start.to_int();
    if (!start) return std::nullopt;
    return static_cast<double>(*start + range->step * (at.row >= 0 ? i : j));
  }
  const auto inner = squares(node, at);
  if (!inner) return std::nullopt;
  const auto input = [&](size_t k) { return value(node.inputs[k], (*inner)[k], i, j); };
  if (const auto* sum = node.op->as<CumSum>()) {
    const auto each = input(0);
    if (!each || sum->reverse || (sum->axis != at.row && sum->axis != at.column)) {
      return std::nullopt;
    }
    const int64_t position = sum->axis == at.row ? i : j;
    return *each * static_cast<double>(position + (sum->exclusive ? 0 : 1));
  }
  const auto a = node.inputs.empty() ? std::nullopt : input(0);
  if (!a) return std::nullopt;
  if (keeps_values(*node.op)) return a;
  if (const auto* cast_op = node.op->as<Cast>()) {
    if (cast_op->to == DType::kBool) return *a != 0.0 ? 1.0 : 0.0;
    return is_float(cast_op->to) ? *a : std::trunc(*a);
  }
  if (const auto* unary = node.op->as<Unary>()) return apply(unary->kind_of, *a);
  if (const auto* part = node.op->as<Trilu>()) {
    const int rank = node.outputs[0].rank();
    if (at.row != rank - 2 || at.column != rank - 1) return std::nullopt;
    return (part->upper ? j - i >= part->k : j - i <= part->k) ? *a : 0.0;
  }
  const auto b = node.inputs.size() > 1 ? input(1) : std::nullopt;
  if (!b) return std::nullopt;
  if (const auto* binary = node.op->as<Binary>()) {
    return combine(binary->kind_of, *a, *b, graph_.fact(node.inputs[0]).dtype);
  }
  if (node.op->as<Select>()) return *a != 0.0 ? b : input(2);
  return std::nullopt;
}

std::optional<double> Positions::shift(OutletId outlet, Square at, int64_t by) const {
  const Node& node = node_of(outlet);
  if (node.op->as<Const>()) return 0.0;
  if (const auto* range = node.op->as<Range>()) {
    const auto start = range->start.to_int();
    if (!start || *start < 0 || range->step < 0) return std::nullopt;
    return static_cast<double>(range->step * by);
  }
  const auto inner = squares(node, at);
  if (!inner) return std::nullopt;
  const auto input = [&](size_t k) { return shift(node.inputs[k], (*inner)[k], by); };
  const auto a = node.inputs.empty() ? std::nullopt : input(0);
  if (!a) return std::nullopt;
  if (node.op->as<CumSum>()) {
    const auto each = value(node.inputs[0], (*inner)[0], 0, 0);
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
    return *a == 0.0 && c && *b == *c ? b : std::nullopt;
  }
  const auto* binary = node.op->as<Binary>();
  if (!binary) return std::nullopt;
  const auto constant = [&](size_t k) { return uniform(graph_.fact(node.inputs[k]).konst); };
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
    default:
      return *a == *b ? std::optional(0.0) : std::nullopt;
  }
}

void Positions::scan(OutletId outlet, int64_t* period, double* reach) const {
  const Node& node = node_of(outlet);
  if (const auto* part = node.op->as<Trilu>()) *reach += std::abs(static_cast<double>(part->k));
  if (const auto* range = node.op->as<Range>()) {
    *reach += std::abs(static_cast<double>(range->start.to_int().value_or(0)));
  }
  const auto* binary = node.op->as<Binary>();
  if (binary && binary->kind_of != BinaryKind::kMul) {
    for (const OutletId& input : node.inputs) {
      const auto number = uniform(graph_.fact(input).konst);
      if (!number || !std::isfinite(*number)) continue;
      *reach += std::abs(*number);
      const auto divisor = static_cast<int64_t>(std::abs(*number));
      if (binary->kind_of != BinaryKind::kDiv || divisor < 1 || divisor > 1 << 16) continue;
      *period = std::min<int64_t>(std::lcm(*period, divisor), int64_t{1} << 20);
    }
  }
  for (const OutletId& input : node.inputs) scan(input, period, reach);
}

/// What a wire must be so that a key is seen.
struct Limit {
  enum class Kind : uint8_t { kTrue, kFalse, kHigh, kNotZero };
  OutletId wire;
  Square at;
  Kind kind = Kind::kTrue;

  bool lets(double value) const {
    switch (kind) {
      case Kind::kTrue:
        return value != 0.0;
      case Kind::kFalse:
        return value == 0.0;
      case Kind::kHigh:
        return value > kHidden;
      case Kind::kNotZero:
        return value != 0.0;
    }
    return true;
  }
};

/// Collects what hides keys, from the use of the weights up to the scores.
class Limits {
 public:
  Limits(const Graph& graph, std::string_view symbol)
      : graph_(graph), symbol_(symbol), positions_(graph, symbol) {}

  std::vector<Limit> take(OutletId wire, Square at) {
    while (step(&wire, &at)) {
    }
    return std::move(limits_);
  }

 private:
  using Squares = std::vector<Square>;

  /// Look at the node that makes a wire, and go on to what it hides keys of; false at the end.
  bool step(OutletId* wire, Square* at) {
    const Node& node = graph_.node(wire->node);
    const auto inner = squares_of_inputs(graph_, node, *at, symbol_);
    if (!inner) return false;
    int next = -1;
    int squares = 0;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const bool square = (*inner)[k].row >= 0 && (*inner)[k].column >= 0;
      if (!square || is_positional(graph_, node.inputs[k])) continue;
      const bool truth = graph_.fact(node.inputs[k]).dtype == DType::kBool;
      if (truth) continue;
      next = static_cast<int>(k);
      ++squares;
    }
    if (node.op->as<Select>()) choose(node, *inner);
    if (const auto* binary = node.op->as<Binary>(); binary && squares == 1) {
      combine_with(*binary, node, static_cast<size_t>(1 - next), *inner);
    }
    if (node.op->as<Softmax>()) {
      // It runs over all keys that were not hidden before.
      limits_.clear();
      weights_ = false;
    }
    if (squares != 1) return false;
    *at = (*inner)[static_cast<size_t>(next)];
    *wire = node.inputs[static_cast<size_t>(next)];
    return true;
  }

  /// A choice between scores and a number that hides.
  void choose(const Node& node, const Squares& inner) {
    for (const size_t k : {1U, 2U}) {
      if (!is_positional(graph_, node.inputs[k])) continue;
      const auto fill = positions_.value(node.inputs[k], inner[k], 0, 0);
      const bool hides = fill && (weights_ ? *fill == 0.0 : *fill <= kHidden);
      // Where a number below all others hides every key that is seen otherwise, all count alike:
      // only positions, which leave one at least, may do that.
      const bool endless = fill && (weights_ || std::isinf(*fill));
      if (hides && (endless || is_positional(graph_, node.inputs[0]))) {
        demand(node.inputs[0], inner[0], k == 2);
      }
    }
  }

  void combine_with(const Binary& binary, const Node& node, size_t other, const Squares& inner) {
    if (!is_positional(graph_, node.inputs[other])) return;
    if (weights_ && binary.kind_of == BinaryKind::kMul) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kNotZero});
    }
    if (!weights_ && binary.kind_of == BinaryKind::kAdd) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kHigh});
    }
  }

  /// Keys are seen only where a condition has that value. Of one that depends on more than
  /// positions, the parts that do not.
  void demand(OutletId wire, Square at, bool wanted) {
    if (is_positional(graph_, wire)) {
      limits_.push_back({wire, at, wanted ? Limit::Kind::kTrue : Limit::Kind::kFalse});
      return;
    }
    const Node& node = graph_.node(wire.node);
    const auto inner = squares_of_inputs(graph_, node, at, symbol_);
    if (!inner || node.inputs.empty()) return;
    const auto* unary = node.op->as<Unary>();
    if (unary && unary->kind_of == UnaryKind::kNot) demand(node.inputs[0], (*inner)[0], !wanted);
    if (keeps_values(*node.op)) demand(node.inputs[0], (*inner)[0], wanted);
    const auto* binary = node.op->as<Binary>();
    const BinaryKind both = wanted ? BinaryKind::kAnd : BinaryKind::kOr;
    for (size_t k = 0; binary && binary->kind_of == both && k < 2; ++k) {
      demand(node.inputs[k], (*inner)[k], wanted);
    }
  }

  const Graph& graph_;
  std::string_view symbol_;
  Positions positions_;
  std::vector<Limit> limits_;
  bool weights_ = true;  ///< behind the softmax 0 hides a key; before it, minus infinity
};

}  // namespace

Band band_of(const Graph& graph, OutletId used, Square at, std::string_view symbol) {
  const Positions positions(graph, symbol);
  std::vector<Limit> limits = Limits(graph, symbol).take(used, at);
  Band band;
  double reach = 4;
  for (const Limit& limit : limits) positions.scan(limit.wire, &band.period, &reach);
  std::erase_if(limits, [&](const Limit& limit) {
    return positions.shift(limit.wire, limit.at, band.period) != 0.0;
  });
  // Beyond this, differences of positions have passed all that they are compared with.
  const double far = 2 * (reach + 4) * static_cast<double>(band.period);
  const auto all = static_cast<size_t>(band.period);
  band.first.assign(all, INT64_MIN);
  band.last.assign(all, INT64_MAX);
  if (limits.empty() || far * static_cast<double>(band.period) > 1e6) return band;
  const auto limit = static_cast<int64_t>(far);
  const int64_t base = (limit / band.period + 2) * band.period;
  for (int64_t phase = 0; phase < band.period; ++phase) {
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (int64_t d = -limit; d <= limit; ++d) {
      const bool seen = std::all_of(limits.begin(), limits.end(), [&](const Limit& each) {
        const auto value = positions.value(each.wire, each.at, base + phase, base + phase + d);
        return !value || each.lets(*value);
      });
      if (!seen) continue;
      first = std::min(first, d);
      last = d;
    }
    const auto at_phase = static_cast<size_t>(phase);
    // A query that sees no key at all gives NaN, whatever it has.
    if (first == INT64_MAX) first = last = 0;
    band.first[at_phase] = first <= -limit + band.period ? INT64_MIN : first;
    band.last[at_phase] = last >= limit - band.period ? INT64_MAX : last;
  }
  return band;
}

}  // namespace rill::ops
