// Bounds on wires of positions, derived from their operators: a bound that holds for some queries
// and keys is proved for all others.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/positions/abstract_math.h"
#include "core/tensor/uniform.h"

namespace rill {
namespace {

using Abstract = AbstractValue;
using Form = Course::Form;
using Function = Course::Function;
using Tail = PositionBound;

constexpr double kEndless = std::numeric_limits<double>::infinity();
/// The maximum period over which a selection by one position is evaluated.
constexpr int64_t kMostPhases = 4096;

bool holds_large_numbers(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kDim ||
         dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBool;
}

bool grows(const Abstract& x) {
  return x.per_period != 0.0 || x.before.row != 0.0 || x.after.column != 0.0;
}

std::optional<Abstract> cast_of(const AbstractMath& math, const Abstract& x, DType to) {
  if (to == DType::kBool) {
    return math.comparison(x, AbstractMath::number(0), Function::kNe);
  }
  return is_float(to) ? std::optional(x) : math.rounded(x, true);
}

std::optional<Abstract> magnitude(const AbstractMath& math, const Abstract& x) {
  const auto negative = math.times(x, -1);
  return negative ? math.extreme(x, *negative, true) : std::nullopt;
}

}  // namespace

std::optional<AbstractValue> Positions::abstract(OutletId outlet, Square at, int64_t period) {
  std::vector<Place> open{{outlet, at}};
  while (!open.empty()) {
    const Place place = open.back();
    if (entry(place.first, place.second).abstract_known) {
      open.pop_back();
      continue;
    }
    const size_t before = open.size();
    for (const Place& part : parts_of(place)) {
      if (!entry(part.first, part.second).abstract_known) open.push_back(part);
    }
    if (open.size() > before) continue;
    auto found = abstract_of(place, period);
    const DType dtype = graph_.fact(place.first).dtype;
    if (found) found->exact |= !is_float(dtype);
    if (found && !holds_large_numbers(dtype) && grows(*found)) found.reset();
    Entry& own = entry(place.first, place.second);
    own.abstract = found;
    own.abstract_known = true;
  }
  return entry(outlet, at).abstract;
}

const Node& Positions::end_of_walk(OutletId outlet, Square at) const {
  const auto has_value = [&](const Place& place) {
    const auto& abstract = entry(place.first, place.second).abstract;
    return abstract && abstract->is_known_before() && abstract->is_known_after();
  };
  for (Place place{outlet, at};;) {
    const std::vector<Place> parts = parts_of(place);
    const auto next = std::find_if_not(parts.begin(), parts.end(), has_value);
    if (next == parts.end()) return node_of(place.first);
    place = *next;
  }
}

std::optional<AbstractValue> Positions::compared(OutletId outlet, Square at, int64_t period,
                                                  double with) {
  auto own = abstract(outlet, at, period);
  if (!own || !std::isfinite(with)) return own;
  const bool before = own->is_known_before();
  const bool after = own->is_known_after();
  const Tail anything = {0, 0, -kEndless, kEndless};
  if (!before) own->before = anything;
  if (!after) own->after = anything;
  auto out =
      AbstractMath(at, period).comparison(*own, AbstractMath::number(with), Function::kGt);
  if (out && !before) out->before = Tail::unknown();
  if (out && !after) out->after = Tail::unknown();
  return out;
}

std::optional<AbstractValue> Positions::abstract_of_numbers(const Place& place,
                                                           int64_t period) const {
  const auto& [outlet, at] = place;
  const Entry& own = entry(outlet, at);
  const AbstractMath math(at, period);
  if (own.op.constant) {
    if (!own.constant)
      return AbstractMath::constant(-kEndless, kEndless, !is_float(own.op.constant->dtype()));
    return AbstractMath::number(*own.constant);
  }
  if (own.op.is(Form::kCounted)) {
    const auto start = own.op.course.begin->to_int();
    if (!start || (at.row < 0 && at.column < 0)) return std::nullopt;
    return math.counted(at, static_cast<double>(*start), static_cast<double>(own.op.course.step));
  }
  const PositionTable& table = *own.table;
  if (period % table.period() != 0) return std::nullopt;
  const double step = table.growth() / static_cast<double>(table.period());
  const double noise = table.start() + std::abs(table.growth());
  const bool bounded = at.row < 0 || at.column < 0;
  Abstract out = math.counted(at, 0, bounded ? step : 0);
  for (Tail* tail : {&out.before, &out.after}) {
    tail->low = bounded ? -noise : -kEndless;
    tail->high = bounded ? noise : kEndless;
  }
  out.per_period = table.growth() * static_cast<double>(period / table.period());
  out.least_distance = bounded ? 0 : table.reach() + 1;
  out.exact = table.exact();
  return out;
}

std::optional<AbstractValue> Positions::abstract_of(const Place& place, int64_t period) const {
  const auto& [outlet, at] = place;
  const Node& node = node_of(outlet);
  const Entry& own = entry(outlet, at);
  const AbstractMath math(at, period);
  if (own.op.constant || own.op.is(Form::kCounted) || own.table) {
    return abstract_of_numbers(place, period);
  }
  if (!own.known || too_deep(outlet)) return std::nullopt;
  if (own.op.is(Form::kSummed)) {
    const auto each = summed_number(graph_, node);
    const int axis = own.op.course.axis();
    const bool counts = axis == at.row || axis == at.column;
    if (!each || !counts || own.op.course.reverse) return std::nullopt;
    const Square along = axis == at.row ? Square{at.row, -1, -1} : Square{-1, at.column, -1};
    Abstract out = math.counted(along, 0, *each);
    for (Tail* tail : {&out.before, &out.after}) {
      tail->low = std::min(0.0, *each);
      tail->high = std::max(0.0, *each);
    }
    return out;
  }
  std::vector<Abstract> in;
  const bool part = own.op.is(Form::kTriangle);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const auto& made = entry(node.inputs[k], own.inputs[k]).abstract;
    if (made) {
      in.push_back(*made);
    } else if (part) {
      // The values of frames are unknown; only the distance decides where the result is zero.
      in.push_back(AbstractMath::constant(-kEndless, kEndless, false));
    } else {
      return std::nullopt;
    }
  }
  if (in.empty()) return std::nullopt;
  if (own.op.is(Form::kMoved)) return in[0];
  if (part) {
    const auto k = own.op.course.begin->to_int();
    if (!k || *k > (1 << 24) || *k < -(1 << 24) || in[0].per_period != 0.0) return std::nullopt;
    Abstract out = in[0];
    (own.op.course.upper ? out.before : out.after) = Tail{};
    out.least_distance = std::max(out.least_distance, std::abs(*k) + 1);
    return out;
  }
  if (!own.op.pointwise) return std::nullopt;
  const auto value = pointwise(place, period, in);
  return value ? value : math.recurring(in);
}

std::optional<AbstractValue> Positions::pointwise(const Place& place, int64_t period,
                                                   const std::vector<AbstractValue>& in) const {
  const Node& node = node_of(place.first);
  const AbstractMath math(place.second, period);
  const PositionOp& op = entry(place.first, place.second).op;
  const Function function = op.function();
  const auto number = [&](size_t k) { return uniform_number(graph_.fact(node.inputs[k]).konst); };
  switch (function) {
    case Function::kCast:
      return cast_of(math, in[0], op.made);
    case Function::kNeg:
      return math.times(in[0], -1);
    case Function::kFloor:
    case Function::kCeil:
      return math.rounded(in[0], false);
    case Function::kAbs:
      return magnitude(math, in[0]);
    case Function::kNot:
      return math.comparison(in[0], AbstractMath::number(0), Function::kEq);
    case Function::kChoice:
      return chosen(place, period, in);
    case Function::kAdd:
    case Function::kSub:
      return math.added(in[0], in[1], function == Function::kAdd ? 1 : -1);
    case Function::kMul:
      for (const size_t k : {0U, 1U}) {
        const auto by = number(k);
        if (by && std::isfinite(*by)) return math.times(in[1 - k], *by);
      }
      return std::nullopt;
    case Function::kDiv:
      if (const auto by = number(1)) {
        return math.divided(in[0], *by, graph_.fact(node.inputs[0]).dtype);
      }
      return std::nullopt;
    case Function::kFloorDiv:
      if (const auto by = number(1)) return math.divided(in[0], *by, DType::kDim);
      return std::nullopt;
    case Function::kShiftRight: {
      const auto bits = number(1);
      if (!bits || *bits < 0 || *bits > 16) return std::nullopt;
      return math.divided(in[0], std::exp2(*bits), DType::kDim);
    }
    case Function::kMin:
    case Function::kMax:
      return math.extreme(in[0], in[1], function == Function::kMax);
    case Function::kLt:
    case Function::kLe:
    case Function::kGt:
    case Function::kGe:
    case Function::kEq:
    case Function::kNe:
      if (const auto compared = math.comparison(in[0], in[1], function)) return compared;
      return curved(place, period);
    case Function::kAnd:
    case Function::kOr:
      return math.joined_conditions(in, function == Function::kAnd);
    default:
      return std::nullopt;
  }
}

std::optional<AbstractValue> Positions::chosen(const Place& place, int64_t period,
                                                const std::vector<AbstractValue>& in) const {
  const Node& node = node_of(place.first);
  const AbstractMath math(place.second, period);
  if (in.size() != 3 || in[0].per_period != 0.0) return std::nullopt;
  Abstract out = math.joined(in[1], in[2]);
  out.least_distance = std::max(out.least_distance, in[0].least_distance);
  out.settled = std::max(out.settled, in[0].settled);
  if (in[1].per_period != in[2].per_period) {
    // If one position decides, the selection is the same at all positions far from the start.
    const Square& chooses = entry(place.first, place.second).inputs[0];
    if (!math.one_position() || period > kMostPhases) return std::nullopt;
    const int64_t from = in[0].settled;
    const auto choice = value(node.inputs[0], chooses, from, from);
    for (int64_t n = from; n < from + period; ++n) {
      const auto other = value(node.inputs[0], chooses, n, n);
      if (!choice || other != choice) return std::nullopt;
    }
    const auto difference = math.added(in[1], in[2], -1);
    if (!difference) return std::nullopt;
    const bool yes = *choice != 0.0;
    return math.won(out, in[yes ? 1 : 2], in[yes ? 2 : 1], *difference);
  }
  out.per_period = in[1].per_period;
  const auto tail = [](const Tail& choice, const Tail& yes, const Tail& no, Tail* to) {
    const bool sure = choice.low > 0 || choice.high <= 0;
    const bool recurs = choice.row == 0.0 && choice.column == 0.0;
    if (!sure && !(recurs && parallel(yes, no))) return false;
    *to = !sure ? either(yes, no) : choice.low > 0 ? yes : no;
    return true;
  };
  const bool is_known = tail(in[0].before, in[1].before, in[2].before, &out.before) &&
                        tail(in[0].after, in[1].after, in[2].after, &out.after);
  return is_known ? std::optional(out) : std::nullopt;
}

}  // namespace rill
