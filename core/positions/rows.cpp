// Values of wires of positions for one query and all keys, as runs: a comparison of positions has
// one or two runs for any number of keys.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/positions/element.h"
#include "core/positions/positions.h"
#include "core/tensor/uniform.h"

namespace rill {
namespace {

using Form = Course::Form;
using Function = Course::Function;

/// f32 represents integers, and their sums, exactly up to here.
constexpr double kMostExact = 1 << 24;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool is_whole(double value) { return std::trunc(value) == value && std::abs(value) <= kMostExact; }

/// The operands of a node over a stretch of keys on which each is a single run.
struct Stretch {
  int64_t from = 0;
  int64_t until = 0;
  std::array<KeyRun, 3> in;
  size_t count = 0;

  bool flat() const {
    return std::all_of(in.begin(), in.begin() + static_cast<int64_t>(count),
                       [](const KeyRun& run) { return run.slope == 0.0; });
  }
  /// Return whether all values are integers that every type of positions can represent.
  bool whole() const {
    return std::all_of(in.begin(), in.begin() + static_cast<int64_t>(count), [&](auto& run) {
      return is_whole(run.value) && is_whole(run.slope) && is_whole(run.at(until));
    });
  }
};

class Combiner {
 public:
  /// `quotient`: the quotient that replaces the operator's input, or null.
  Combiner(const PositionOp& op, DType made, bool either, const PositionQuotient* quotient,
           KeyRuns* out)
      : op_(op), made_(made), either_(either), quotient_(quotient), out_(out) {}

  /// Append the node's results on a stretch. Return the number of values computed.
  int64_t add(const Stretch& s) {
    if (s.flat()) {
      append_run(out_, {s.from, at(s, s.from), 0});
      return 1;
    }
    if (!quotient_ && lines(s)) return 3;
    if (const int64_t looked_at = stairs(s)) return looked_at;
    for (int64_t key = s.from; key < s.until; ++key) append_run(out_, {key, at(s, key), 0});
    return s.until - s.from;
  }

 private:
  double at(const Stretch& s, int64_t key) const {
    std::array<double, 3> in{};
    for (size_t k = 0; k < s.count; ++k) in[k] = s.in[k].at(key);
    if (std::isnan(in[0])) return kUnknown;
    if (quotient_) {
      const auto inner = quotient_->at(in[0]);
      return inner ? number_of(op_, std::span(&*inner, 1)).value_or(kUnknown) : kUnknown;
    }
    if (op_.is(Form::kMoved)) return in[0];
    if (op_.is(Function::kChoice)) {
      const double taken = in[0] != 0.0 ? in[1] : in[2];
      return either_ || !std::isnan(in[0] != 0.0 ? in[2] : in[1]) ? taken : kUnknown;
    }
    for (size_t k = 1; k < s.count; ++k) {
      if (std::isnan(in[k])) return kUnknown;
    }
    if (s.count == 2) {
      if (const auto known = condition(op_.function(), in[0], in[1])) return *known;
    }
    return number_of(op_, std::span(in.data(), s.count)).value_or(kUnknown);
  }

  /// Return the result of a comparison, which does not depend on the type. Most operators of masks
  /// are comparisons.
  static std::optional<double> condition(Function function, double a, double b) {
    switch (function) {
      case Function::kEq:
        return a == b;
      case Function::kNe:
        return a != b;
      case Function::kLt:
        return a < b;
      case Function::kLe:
        return a <= b;
      case Function::kGt:
        return a > b;
      case Function::kGe:
        return a >= b;
      case Function::kAnd:
        return a != 0.0 && b != 0.0;
      case Function::kOr:
        return a != 0.0 || b != 0.0;
      default:
        return std::nullopt;
    }
  }

  void append(const KeyRun& run, int64_t from) {
    append_run(out_, {from, run.at(from), run.slope});
  }

  /// Append the result if the operator maps lines to lines; else return false.
  bool lines(const Stretch& s) {
    if (op_.is(Form::kMoved)) {
      append(s.in[0], s.from);
      return true;
    }
    if (op_.is(Function::kChoice) && s.in[0].slope == 0.0 && !std::isnan(s.in[0].value)) {
      const bool yes = s.in[0].value != 0.0;
      const bool known = either_ || !std::isnan(s.in[yes ? 2 : 1].value);
      append(known ? s.in[yes ? 1 : 2] : KeyRun{s.from, kUnknown, 0}, s.from);
      return true;
    }
    if (s.count == 2 && compared(op_.function(), s)) return true;
    const bool counts = made_ == DType::kI64 || made_ == DType::kI32 || made_ == DType::kDim ||
                        made_ == DType::kF32 || made_ == DType::kF64;
    if (!counts || !s.whole()) return false;
    const double a = s.in[0].at(s.from);
    if (op_.is(Function::kCast)) return line(s, a, s.in[0].slope);
    if (op_.is(Function::kNeg)) return line(s, -a, -s.in[0].slope);
    if (s.count != 2) return false;
    const double b = s.in[1].at(s.from);
    const double a_slope = s.in[0].slope;
    const double b_slope = s.in[1].slope;
    if (op_.is(Function::kAdd)) return line(s, a + b, a_slope + b_slope);
    if (op_.is(Function::kSub)) return line(s, a - b, a_slope - b_slope);
    return op_.is(Function::kMul) && a_slope * b_slope == 0.0 &&
           line(s, a * b, a_slope * b + b_slope * a);
  }
  /// Append a line if all of its values are integers in the range of the operands.
  bool line(const Stretch& s, double value, double slope) {
    const KeyRun run{s.from, value, slope};
    if (!is_whole(value) || !is_whole(run.at(s.until))) return false;
    append_run(out_, run);
    return true;
  }

  /// Return whether the operator maps a line of integers to stairs: most keys have the value of the
  /// previous key, and no value occurs again later.
  bool has_stairs(const Stretch& s) const {
    if (!s.whole()) return false;
    if (quotient_) return true;
    const bool whole = made_ == DType::kI64 || made_ == DType::kI32 || made_ == DType::kDim;
    if (s.count != 2 || s.in[1].slope != 0.0 || !whole) return false;
    return op_.divides() || op_.is(Function::kShiftRight);
  }

  /// Append the runs of a line's quotient that is rounded to integers. Return the number of values
  /// computed; 0 if the result has no such runs.
  int64_t stairs(const Stretch& s) {
    if (!has_stairs(s)) return 0;
    int64_t looked_at = 0;
    int64_t length = 0;  // length of the previous run: most runs have the same length
    for (int64_t from = s.from; from < s.until;) {
      const double value = at(s, from);
      const auto stays = [&](int64_t key) {
        looked_at += 1;
        return at(s, key) == value;  // false if the value is unknown
      };
      int64_t low = from;
      int64_t high = s.until;
      const int64_t guess = from + length;
      if (length > 1 && guess < s.until && stays(guess - 1)) {
        (stays(guess) ? low : high) = guess;
        if (high == guess) low = guess - 1;
      }
      for (int64_t step = 1; high - low > 1 && low + step < high; step *= 2) {
        (stays(low + step) ? low : high) = low + step;
      }
      while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        (stays(middle) ? low : high) = middle;
      }
      append_run(out_, {from, value, 0});
      length = high - from;
      from = high;
    }
    return looked_at + 1;
  }

  /// Append the comparison of two lines: their order changes at most once, their equality at most
  /// twice.
  bool compared(Function function, const Stretch& s) {
    const auto below = [&](int64_t key) { return s.in[0].at(key) < s.in[1].at(key); };
    switch (function) {
      case Function::kMin:
      case Function::kMax: {
        const int64_t change = first_change(s, below);
        const auto take = [&](int64_t key) {
          append(s.in[below(key) == (function == Function::kMin) ? 0 : 1], key);
        };
        take(s.from);
        if (change < s.until) take(change);
        return true;
      }
      case Function::kLt:
      case Function::kLe:
      case Function::kGt:
      case Function::kGe:
      case Function::kEq:
      case Function::kNe: {
        const auto above = [&](int64_t key) { return s.in[0].at(key) > s.in[1].at(key); };
        const int64_t first = first_change(s, below);
        const int64_t second = first_change(s, above);
        for (const int64_t key : {s.from, std::min(first, second), std::max(first, second)}) {
          if (key < s.until) append_run(out_, {key, at(s, key), 0});
        }
        return true;
      }
      default:
        return false;
    }
  }

  /// Return the first key whose value differs from the first value of the stretch; the value
  /// changes at most once.
  template <class Value>
  static int64_t first_change(const Stretch& s, const Value& value) {
    int64_t low = s.from;
    int64_t high = s.until - 1;
    const auto begins = value(low);
    if (value(high) == begins) return s.until;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (value(middle) == begins ? low : high) = middle;
    }
    return high;
  }

  const PositionOp& op_;
  DType made_;
  bool either_;  ///< a selection whose other branch may be unknown
  const PositionQuotient* quotient_;
  KeyRuns* out_;
};

}  // namespace

void append_run(KeyRuns* runs, KeyRun run) {
  if (!runs->empty()) {
    KeyRun& last = runs->back();
    if (last.slope == run.slope && same(last.at(run.from), run.value)) return;
    if (last.from == run.from) {
      last = run;
      return;
    }
  }
  runs->push_back(run);
}

std::vector<Positions::Place> Positions::parts_of(const Place& place) const {
  const auto& [outlet, at] = place;
  const Node& node = node_of(outlet);
  const Entry& own = entry(outlet, at);
  std::vector<Place> out;
  if (own.table || !own.known || too_deep(outlet) || own.op.is(Form::kSummed)) return out;
  for (size_t k = 0; k < node.inputs.size(); ++k) out.emplace_back(node.inputs[k], own.inputs[k]);
  return out;
}

std::optional<double> PositionQuotient::at(double number) const {
  const std::array<double, 2> in = {number, by};
  return number_of(*divides, std::span(in.data(), 2));
}

std::optional<PositionQuotient> Positions::quotient_of(const Place& place) const {
  const Node& node = node_of(place.first);
  const Entry& own = entry(place.first, place.second);
  const bool rounds = (own.op.is(Function::kCast) && is_int(own.op.made)) ||
                      own.op.is(Function::kFloor) || own.op.is(Function::kCeil);
  if (!rounds || !own.known || too_deep(place.first)) return std::nullopt;
  const Node& inner = node_of(node.inputs[0]);
  const Entry& divides = entry(node.inputs[0], own.inputs[0]);
  const bool scales = divides.op.is(Function::kDiv) || divides.op.is(Function::kMul);
  if (!scales || !divides.known || inner.inputs.size() != 2) return std::nullopt;
  const auto by = uniform_number(graph_.fact(inner.inputs[1]).konst);
  if (!by || *by == 0.0 || !std::isfinite(*by)) return std::nullopt;
  return PositionQuotient{&divides.op, *by, inner.inputs[0], divides.inputs[0]};
}

std::vector<Positions::Place> Positions::parts_of_row(const Place& place) const {
  if (const auto quotient = quotient_of(place)) return {{quotient->of, quotient->square}};
  return parts_of(place);
}

const KeyRuns* Positions::row(OutletId outlet, Square at, int64_t query, int64_t keys) {
  std::vector<Place> open{{outlet, at}};
  const auto row_of = [&](const Place& place) { return place.second.row < 0 ? 0 : query; };
  while (!open.empty() && work_ > 0) {
    const Place place = open.back();
    if (entry(place.first, place.second).row_of == row_of(place)) {
      open.pop_back();
      continue;
    }
    const size_t before = open.size();
    if (place.second.column >= 0) {
      for (const Place& part : parts_of_row(place)) {
        if (entry(part.first, part.second).row_of != row_of(part)) open.push_back(part);
      }
    }
    if (open.size() > before) continue;
    KeyRuns runs;
    make_row(place, query, keys, &runs);
    Entry& own = entry(place.first, place.second);
    own.runs = std::move(runs);
    own.row_of = row_of(place);
  }
  return work_ > 0 ? &entry(outlet, at).runs : nullptr;
}

void Positions::make_row(const Place& place, int64_t query, int64_t keys, KeyRuns* out) {
  const auto& [outlet, at] = place;
  const Node& node = node_of(outlet);
  const Entry& own = entry(outlet, at);
  work_ -= 1;
  if (at.column < 0) {
    return append_run(out, {0, value(outlet, at, query, 0).value_or(kUnknown), 0});
  }
  const Course& course = own.op.course;
  if (own.op.is(Form::kCounted)) {
    const auto start = course.begin->to_int();
    if (!start) return append_run(out, {0, kUnknown, 0});
    return append_run(out, {0, static_cast<double>(*start), static_cast<double>(course.step)});
  }
  const bool looked_up = own.table || own.op.constant || own.op.is(Form::kSummed);
  if (looked_up || !own.known || too_deep(outlet)) {
    const int64_t count = own.table || own.op.is(Form::kSummed) ? keys : 1;
    work_ -= count;
    for (int64_t key = 0; key < count; ++key) {
      append_run(out, {key, value(outlet, at, query, key).value_or(kUnknown), 0});
    }
    return;
  }
  std::vector<const KeyRuns*> in;
  const auto quotient = quotient_of(place);
  if (quotient) {
    in.push_back(&entry(quotient->of, quotient->square).runs);
    return combine_rows(node, own, in, &*quotient, keys, out);
  }
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    in.push_back(&entry(node.inputs[k], own.inputs[k]).runs);
  }
  if (!own.op.is(Form::kTriangle)) return combine_rows(node, own, in, nullptr, keys, out);
  const auto k = course.begin->to_int();
  const int rank = node.outputs[0].rank();
  if (!k || at.row != rank - 2 || at.column != rank - 1) return append_run(out, {0, kUnknown, 0});
  const int64_t begin = course.upper ? std::max<int64_t>(query + *k, 0) : 0;
  const int64_t end = course.upper ? keys : std::clamp<int64_t>(query + *k + 1, 0, keys);
  if (begin > 0) append_run(out, {0, 0.0, 0});
  for (size_t i = 0; i < in[0]->size(); ++i) {
    const KeyRun& run = (*in[0])[i];
    const int64_t until = i + 1 < in[0]->size() ? (*in[0])[i + 1].from : keys;
    const int64_t from = std::max(run.from, begin);
    if (from < std::min(until, end)) append_run(out, {from, run.at(from), run.slope});
  }
  if (end < keys) append_run(out, {end, 0.0, 0});
}

void Positions::combine_rows(const Node& node, const Entry& own,
                             const std::vector<const KeyRuns*>& in,
                             const PositionQuotient* quotient, int64_t keys, KeyRuns* out) {
  if (in.empty() || in.size() > 3) {
    return append_run(out, {0, kUnknown, 0});
  }
  if (is_times_zero(node, own)) return append_run(out, {0, 0.0, 0});
  Combiner combiner(own.op, node.outputs[0].dtype, own.chosen_by_position, quotient, out);
  std::array<size_t, 3> now{};
  Stretch s;
  s.count = in.size();
  for (s.from = 0; s.from < keys && work_ > 0; s.from = s.until) {
    s.until = keys;
    for (size_t k = 0; k < in.size(); ++k) {
      const KeyRuns& runs = *in[k];
      while (now[k] + 1 < runs.size() && runs[now[k] + 1].from <= s.from) ++now[k];
      s.in[k] = runs[now[k]];
      if (now[k] + 1 < runs.size()) s.until = std::min(s.until, runs[now[k] + 1].from);
    }
    work_ -= combiner.add(s);
  }
}

}  // namespace rill
