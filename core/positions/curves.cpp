// Comparisons of curves of positions with a number. Squares, exponentials and similar functions
// have no abstract value, because abstract values grow linearly. But on a range where such a
// function is monotone, it crosses a number at most once.

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/positions/abstract_math.h"
#include "core/tensor/uniform.h"

namespace rill {
namespace {

using Abstract = AbstractValue;
using Form = Course::Form;
using Function = Course::Function;
using Tail = PositionBound;

constexpr size_t kMostStages = 16;
/// The ends of the examined half-lines, at which doubles still represent the squares of integers.
constexpr double kFarFloat = 1e30;
constexpr double kFarWhole = 1 << 26;
/// Rounding cannot move a value with this relative distance across the threshold.
constexpr double kMargin = 1e-4;

bool is_comparison_of_order(Function kind) {
  return kind == Function::kLt || kind == Function::kLe ||
         kind == Function::kGt || kind == Function::kGe;
}

/// One of the nested functions in a curve.
struct Stage {
  const PositionOp* op = nullptr;
  std::optional<double> number;  ///< the other operand
  size_t argument = 0;
  bool twice = false;  ///< both operands are the argument

  std::optional<double> at(double x) const {
    const double other = twice ? x : number.value_or(0);
    const std::array<double, 2> in = {argument == 0 || twice ? x : other,
                                      argument == 0 || twice ? other : x};
    return number_of(*op, std::span(in.data(), op->read.size()));
  }
  bool is_monotone_beyond(double low, double high) const {
    // A product with itself is a square.
    if (twice) return op->is(Function::kMul) && (low >= 0 || high <= 0);
    return argument < static_cast<size_t>(op->course.monotone_inputs) &&
           op->course.is_monotone(low, high);
  }
};

struct Curve {
  std::vector<Stage> stages;
  Function kind = Function::kLt;  ///< the comparison of the curve with `number`
  double number = 0;
  double far = kFarFloat;  ///< the end of either half-line

  std::optional<double> at(double x) const {
    std::optional<double> y = x;
    for (size_t i = stages.size(); y && i-- > 0;) y = stages[i].at(*y);
    return y;
  }
  bool holds(double y) const {
    switch (kind) {
      case Function::kLt:
        return y < number;
      case Function::kLe:
        return y <= number;
      case Function::kGt:
        return y > number;
      default:
        return y >= number;
    }
  }
};

/// The point on a half-line from which a comparison keeps its result, and this result.
struct Settled {
  double from = 0;
  bool holds = false;
};

std::optional<Settled> settled_on(const Curve& curve, double sign) {
  std::optional<double> begin = 0.0;
  std::optional<double> end = sign * curve.far;
  for (size_t i = curve.stages.size(); i-- > 0;) {
    if (!curve.stages[i].is_monotone_beyond(std::min(*begin, *end), std::max(*begin, *end))) {
      return std::nullopt;
    }
    begin = curve.stages[i].at(*begin);
    end = curve.stages[i].at(*end);
    if (!begin || !end) return std::nullopt;
  }
  const Settled out{0, curve.holds(*end)};
  // Integers keep growing beyond the examined range, and must not return to the threshold.
  const bool away = (*end > curve.number) == (*end > *begin);
  if (curve.far == kFarWhole && !away && *begin != *end) return std::nullopt;
  const auto is_past = [&](double x) {
    const auto y = curve.at(sign * x);
    return y && curve.holds(*y) == out.holds &&
           std::abs(*y - curve.number) > kMargin * std::max(std::abs(*y), std::abs(curve.number));
  };
  if (is_past(0)) return out;
  double high = 1;
  while (high < kFarWhole && !is_past(high)) high *= 2;
  if (!is_past(high)) return std::nullopt;
  double low = std::floor(high / 2);
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (is_past(middle) ? high : low) = middle;
  }
  return Settled{high, out.holds};
}

Function mirrored(Function kind) {
  switch (kind) {
    case Function::kLt:
      return Function::kGt;
    case Function::kLe:
      return Function::kGe;
    case Function::kGt:
      return Function::kLt;
    default:
      return Function::kLe;
  }
}

/// Return the abstract value of the comparison of a curve: on either side of the diagonal, the wire
/// grows past the point from which the comparison is constant.
std::optional<Abstract> passed(const Curve& curve, const Abstract& wire,
                               const AbstractMath& abstracts) {
  const auto right = settled_on(curve, 1);
  const auto left = settled_on(curve, -1);
  const auto compared_with = [&](const std::optional<Settled>& half, double sign, Function kind) {
    return half ? abstracts.comparison(wire, AbstractMath::number(sign * half->from), kind)
                : std::nullopt;
  };
  const auto above = compared_with(right, 1, Function::kGe);
  const auto below = compared_with(left, -1, Function::kLe);
  const auto tail = [&](Tail Abstract::*which) -> std::optional<Tail> {
    if (above && (*above.*which).low > 0) {
      const double value = right->holds ? 1 : 0;
      return Tail{0, 0, value, value};
    }
    if (below && (*below.*which).low > 0) {
      const double value = left->holds ? 1 : 0;
      return Tail{0, 0, value, value};
    }
    const bool recurs = (wire.*which).row == 0.0 && (wire.*which).column == 0.0;
    return recurs ? std::optional(Tail{0, 0, 0, 1}) : std::nullopt;
  };
  const auto before = tail(&Abstract::before);
  const auto after = tail(&Abstract::after);
  if (!before || !after) return std::nullopt;
  Abstract out = AbstractMath::constant(0, 1, true);
  out.before = *before;
  out.after = *after;
  out.least_distance = wire.least_distance;
  out.settled = wire.settled;
  for (const auto* half : {&above, &below}) {
    if (!*half) continue;
    out.least_distance = std::max(out.least_distance, (*half)->least_distance);
    out.settled = std::max(out.settled, (*half)->settled);
  }
  return out;
}

}  // namespace

/// Return the abstract value of a comparison of a function of a wire with a number.
std::optional<AbstractValue> Positions::curved(const Place& place, int64_t period) const {
  const Function compares = entry(place.first, place.second).op.function();
  if (!is_comparison_of_order(compares)) return std::nullopt;
  const auto number = [&](const Node& node, size_t k) {
    return uniform_number(graph_.fact(node.inputs[k]).konst);
  };
  const Node& comparison = node_of(place.first);
  const size_t side = number(comparison, 0) ? 1 : 0;
  const auto with = number(comparison, 1 - side);
  if (!with || !std::isfinite(*with)) return std::nullopt;
  Curve curve;
  curve.kind = side == 0 ? compares : mirrored(compares);
  curve.number = *with;
  Place at{comparison.inputs[side], entry(place.first, place.second).inputs[side]};
  std::vector<Place> wires;  // the wires that the stages read
  while (curve.stages.size() < kMostStages) {
    const Entry& own = entry(at.first, at.second);
    const Node& node = node_of(at.first);
    if (!own.known || node.inputs.empty()) break;
    Stage stage;
    if (own.op.is(Form::kMoved)) {
      at = {node.inputs[0], own.inputs[0]};
      continue;
    }
    const bool pair = node.inputs.size() == 2;
    if (!own.op.is(Form::kPerElement) || node.inputs.size() > 2) break;
    stage.op = &own.op;
    stage.twice = pair && node.inputs[0] == node.inputs[1] && own.inputs[0] == own.inputs[1];
    if (pair && !stage.twice) {
      stage.argument = number(node, 0) ? 1 : 0;
      stage.number = number(node, 1 - stage.argument);
      if (!stage.number || !std::isfinite(*stage.number)) break;
    }
    curve.stages.push_back(stage);
    if (!is_float(own.op.read[stage.argument])) curve.far = kFarWhole;
    at = {node.inputs[stage.argument], own.inputs[stage.argument]};
    wires.push_back(at);
  }
  // A parabola is not monotone on a half-line of its input, but it is on a half-line of the wire
  // that it squares. So also try the inner stages as wires.
  for (; !curve.stages.empty(); curve.stages.pop_back(), wires.pop_back()) {
    const Entry& own = entry(wires.back().first, wires.back().second);
    if (!own.abstract || own.abstract->per_period != 0.0) continue;
    if (const auto found = passed(curve, *own.abstract, AbstractMath(place.second, period)))
      return found;
  }
  return std::nullopt;
}

}  // namespace rill
