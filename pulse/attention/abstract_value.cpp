// Bounds on wires of positions, derived from their operators: a bound found for some queries and
// keys holds for all others.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/range.h"
#include "ops/array/trilu.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum.h"
#include "ops/math/unary.h"
#include "pulse/attention/abstract_math.h"

namespace rill::pulse {
namespace {

using Abstract = AbstractValue;
using Tail = PositionBound;

constexpr double kEndless = std::numeric_limits<double>::infinity();
/// A choice by one position is looked at for one period, up to this.
constexpr int64_t kMostPhases = 4096;

bool holds_large_numbers(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kDim ||
         dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBool;
}

bool grows(const Abstract& x) {
  return x.per_period != 0.0 || x.before.row != 0.0 || x.behind.column != 0.0;
}

std::optional<Abstract> cast_of(const AbstractMath& math, const Abstract& x, const ops::Cast& op) {
  if (op.to == DType::kBool) {
    return math.comparison(x, AbstractMath::number(0), ops::BinaryKind::kNe);
  }
  return is_float(op.to) ? std::optional(x) : math.rounded(x, true);
}

std::optional<Abstract> unary_of(const AbstractMath& math, const Abstract& x, ops::UnaryKind kind) {
  switch (kind) {
    case ops::UnaryKind::kNeg:
      return math.times(x, -1);
    case ops::UnaryKind::kFloor:
    case ops::UnaryKind::kCeil:
      return math.rounded(x, false);
    case ops::UnaryKind::kAbs: {
      const auto negative = math.times(x, -1);
      return negative ? math.extreme(x, *negative, true) : std::nullopt;
    }
    case ops::UnaryKind::kNot:
      return math.comparison(x, AbstractMath::number(0), ops::BinaryKind::kEq);
    default:
      return std::nullopt;
  }
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
  const auto is_told = [&](const Place& place) {
    const auto& abstract = entry(place.first, place.second).abstract;
    return abstract && abstract->is_known_before() && abstract->is_known_behind();
  };
  for (Place place{outlet, at};;) {
    const std::vector<Place> parts = parts_of(place);
    const auto next = std::find_if_not(parts.begin(), parts.end(), is_told);
    if (next == parts.end()) return node_of(place.first);
    place = *next;
  }
}

std::optional<AbstractValue> Positions::compared(OutletId outlet, Square at, int64_t period,
                                                  double with) {
  auto own = abstract(outlet, at, period);
  if (!own || !std::isfinite(with)) return own;
  const bool before = own->is_known_before();
  const bool behind = own->is_known_behind();
  const Tail anything = {0, 0, -kEndless, kEndless};
  if (!before) own->before = anything;
  if (!behind) own->behind = anything;
  auto out =
      AbstractMath(at, period).comparison(*own, AbstractMath::number(with), ops::BinaryKind::kGt);
  if (out && !before) out->before = Tail::unknown();
  if (out && !behind) out->behind = Tail::unknown();
  return out;
}

std::optional<AbstractValue> Positions::abstract_of_numbers(const Place& place,
                                                           int64_t period) const {
  const auto& [outlet, at] = place;
  const Entry& own = entry(outlet, at);
  const AbstractMath math(at, period);
  if (const Const* constant = own.op.constant) {
    if (!own.constant)
      return AbstractMath::constant(-kEndless, kEndless, !is_float(constant->value->dtype()));
    return AbstractMath::number(*own.constant);
  }
  if (const ops::Range* range = own.op.range) {
    const auto start = range->start.to_int();
    if (!start || (at.row < 0 && at.column < 0)) return std::nullopt;
    return math.counted(at, static_cast<double>(*start), static_cast<double>(range->step));
  }
  const PositionTable& table = *own.table;
  if (period % table.period() != 0) return std::nullopt;
  const double step = table.growth() / static_cast<double>(table.period());
  const double noise = table.start() + std::abs(table.growth());
  const bool bounded = at.row < 0 || at.column < 0;
  Abstract out = math.counted(at, 0, bounded ? step : 0);
  for (Tail* tail : {&out.before, &out.behind}) {
    tail->low = bounded ? -noise : -kEndless;
    tail->high = bounded ? noise : kEndless;
  }
  out.per_period = table.growth() * static_cast<double>(period / table.period());
  out.apart = bounded ? 0 : table.reach() + 1;
  out.exact = table.exact();
  return out;
}

std::optional<AbstractValue> Positions::abstract_of(const Place& place, int64_t period) const {
  const auto& [outlet, at] = place;
  const Node& node = node_of(outlet);
  const Entry& own = entry(outlet, at);
  const AbstractMath math(at, period);
  if (own.op.constant || own.op.range || own.table) return abstract_of_numbers(place, period);
  if (!own.known || too_deep(outlet)) return std::nullopt;
  if (const ops::CumSum* sum = own.op.sum) {
    const auto each = summed_number(graph_, node);
    const bool counts = sum->axis == at.row || sum->axis == at.column;
    if (!each || !counts || sum->reverse) return std::nullopt;
    const Square along = sum->axis == at.row ? Square{at.row, -1, -1} : Square{-1, at.column, -1};
    Abstract out = math.counted(along, 0, *each);
    for (Tail* tail : {&out.before, &out.behind}) {
      tail->low = std::min(0.0, *each);
      tail->high = std::max(0.0, *each);
    }
    return out;
  }
  std::vector<Abstract> in;
  const ops::Trilu* part = own.op.part;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const auto& made = entry(node.inputs[k], own.inputs[k]).abstract;
    if (made) {
      in.push_back(*made);
    } else if (part) {
      // The frames' values are unknown; only the distance decides where the result is zero.
      in.push_back(AbstractMath::constant(-kEndless, kEndless, false));
    } else {
      return std::nullopt;
    }
  }
  if (in.empty()) return std::nullopt;
  if (own.op.moves) return in[0];
  if (part) {
    const auto k = part->k.to_int();
    if (!k || *k > (1 << 24) || *k < -(1 << 24) || in[0].per_period != 0.0) return std::nullopt;
    Abstract out = in[0];
    (part->upper ? out.before : out.behind) = Tail{};
    out.apart = std::max(out.apart, std::abs(*k) + 1);
    return out;
  }
  if (!own.op.pointwise) return std::nullopt;
  const auto told = pointwise(place, period, in);
  return told ? told : math.recurring(in);
}

std::optional<AbstractValue> Positions::pointwise(const Place& place, int64_t period,
                                                   const std::vector<AbstractValue>& in) const {
  const Node& node = node_of(place.first);
  const AbstractMath math(place.second, period);
  const PositionOp& op = entry(place.first, place.second).op;
  if (op.cast) return cast_of(math, in[0], *op.cast);
  if (op.unary) return unary_of(math, in[0], op.unary->kind_of);
  if (op.chooses) return chosen(place, period, in);
  const ops::Binary* binary = op.binary;
  if (!binary || in.size() != 2) return std::nullopt;
  const auto number = [&](size_t k) { return uniform_number(graph_.fact(node.inputs[k]).konst); };
  switch (binary->kind_of) {
    case ops::BinaryKind::kAdd:
    case ops::BinaryKind::kSub:
      return math.added(in[0], in[1], binary->kind_of == ops::BinaryKind::kAdd ? 1 : -1);
    case ops::BinaryKind::kMul:
      for (const size_t k : {0U, 1U}) {
        const auto by = number(k);
        if (by && std::isfinite(*by)) return math.times(in[1 - k], *by);
      }
      return std::nullopt;
    case ops::BinaryKind::kDiv:
      if (const auto by = number(1)) {
        return math.divided(in[0], *by, graph_.fact(node.inputs[0]).dtype);
      }
      return std::nullopt;
    case ops::BinaryKind::kFloorDiv:
      if (const auto by = number(1)) return math.divided(in[0], *by, DType::kDim);
      return std::nullopt;
    case ops::BinaryKind::kShr: {
      const auto bits = number(1);
      if (!bits || *bits < 0 || *bits > 16) return std::nullopt;
      return math.divided(in[0], std::exp2(*bits), DType::kDim);
    }
    case ops::BinaryKind::kMin:
    case ops::BinaryKind::kMax:
      return math.extreme(in[0], in[1], binary->kind_of == ops::BinaryKind::kMax);
    case ops::BinaryKind::kLt:
    case ops::BinaryKind::kLe:
    case ops::BinaryKind::kGt:
    case ops::BinaryKind::kGe:
    case ops::BinaryKind::kEq:
    case ops::BinaryKind::kNe:
      if (const auto told = math.comparison(in[0], in[1], binary->kind_of)) return told;
      return curved(place, period);
    case ops::BinaryKind::kAnd:
    case ops::BinaryKind::kOr:
      return math.joined_conditions(in, binary->kind_of == ops::BinaryKind::kAnd);
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
  out.apart = std::max(out.apart, in[0].apart);
  out.settled = std::max(out.settled, in[0].settled);
  if (in[1].per_period != in[2].per_period) {
    // Where one position decides, all that are far from the beginning choose alike.
    const Square& chooses = entry(place.first, place.second).inputs[0];
    if (!math.one_position() || period > kMostPhases) return std::nullopt;
    const int64_t from = in[0].settled;
    const auto choice = value(node.inputs[0], chooses, from, from);
    for (int64_t n = from; n < from + period; ++n) {
      const auto other = value(node.inputs[0], chooses, n, n);
      if (!choice || other != choice) return std::nullopt;
    }
    const auto apart = math.added(in[1], in[2], -1);
    if (!apart) return std::nullopt;
    const bool yes = *choice != 0.0;
    return math.won(out, in[yes ? 1 : 2], in[yes ? 2 : 1], *apart);
  }
  out.per_period = in[1].per_period;
  const auto tail = [](const Tail& choice, const Tail& yes, const Tail& no, Tail* to) {
    const bool sure = choice.low > 0 || choice.high <= 0;
    const bool recurs = choice.row == 0.0 && choice.column == 0.0;
    if (!sure && !(recurs && parallel(yes, no))) return false;
    *to = !sure ? either(yes, no) : choice.low > 0 ? yes : no;
    return true;
  };
  const bool told = tail(in[0].before, in[1].before, in[2].before, &out.before) &&
                    tail(in[0].behind, in[1].behind, in[2].behind, &out.behind);
  return told ? std::optional(out) : std::nullopt;
}

}  // namespace rill::pulse
