#include "ops/stream/band.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ops/math/binary.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"
#include "ops/nn/softmax.h"
#include "ops/stream/position_values.h"

namespace rill::ops {
namespace {

/// How many pairs of a query and a key are looked at, at most.
constexpr double kMostLooks = 2e6;

/// Scores of this and less have no weight left: their exponential is 0 beside any other.
constexpr double kHidden = -1e4;

/// Less than what scores are: somebody meant to hide keys with it.
constexpr double kLittle = -50;

/// What a wire must be so that a key is seen.
struct Limit {
  enum class Kind : uint8_t { kTrue, kFalse, kHigh, kLow, kNotInfinite, kNotZero };
  OutletId wire;
  Square at;
  Kind kind = Kind::kTrue;
  bool finite = false;  ///< what it hides gets a number that leaves some weight, where all get it

  bool lets(double value) const {
    switch (kind) {
      case Kind::kTrue:
        return value != 0.0;
      case Kind::kFalse:
        return value == 0.0;
      case Kind::kHigh:
        return value > kHidden;
      case Kind::kLow:
        return value < -kHidden;
      case Kind::kNotInfinite:
        return !std::isinf(value) || value > 0;
      case Kind::kNotZero:
        return value != 0.0;
    }
    return true;
  }
  /// Whether a key could count where all others are hidden too.
  bool leaves(double value) const {
    if (lets(value) || finite) return true;
    return (kind == Kind::kHigh || kind == Kind::kLow) && std::isfinite(value);
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
  /// What takes the weight away again behind the softmax.
  const std::vector<Limit>& behind() const { return behind_; }
  /// A number that was taken for what hides keys, and leaves them some weight.
  std::optional<double> weak() const { return weak_; }
  /// Whether what frames hold hides keys as well.
  bool by_frames() const { return by_frames_; }

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
      if (!square || is_number(node.inputs[k], (*inner)[k])) continue;
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
      behind_ = std::exchange(limits_, {});
      weights_ = false;
    }
    if (squares != 1) return false;
    *at = (*inner)[static_cast<size_t>(next)];
    *wire = node.inputs[static_cast<size_t>(next)];
    return true;
  }

  /// Whether a wire does not depend on any input.
  bool is_number(OutletId wire, Square at) const {
    return is_positional(graph_, wire) || positions_.value(wire, at, 0, 0);
  }

  /// A choice between scores and a number that hides.
  void choose(const Node& node, const Squares& inner) {
    for (const size_t k : {1U, 2U}) {
      if (!is_number(node.inputs[k], inner[k])) continue;
      const auto fill = positions_.value(node.inputs[k], inner[k], 0, 0);
      const bool hides = fill && (weights_ ? *fill == 0.0 : *fill <= kHidden);
      // Where a number below all others hides every key that is seen otherwise, all count alike:
      // only positions, which leave one at least, may do that.
      // So may what hides such a query behind the softmax as well.
      const std::pair hidden{node.inputs[0], k == 1};
      if (weights_ && hides) zeroed_.insert(hidden);
      const bool endless = fill && (weights_ || std::isinf(*fill) || zeroed_.contains(hidden));
      if (hides && (endless || is_positional(graph_, node.inputs[0]))) {
        demand(node.inputs[0], inner[0], k == 2, !endless);
      }
      if (fill && !weights_ && !hides && *fill < kLittle) weak_ = *fill;
      by_frames_ |= hides && !weights_ && !is_positional(graph_, node.inputs[0]);
    }
  }

  void combine_with(const Binary& binary, const Node& node, size_t other, const Squares& inner) {
    if (!is_positional(graph_, node.inputs[other])) return;
    if (weights_ && binary.kind_of == BinaryKind::kMul) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kNotZero});
    }
    if (!weights_ && binary.kind_of == BinaryKind::kAdd) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kHigh});
      add_terms(node.inputs[other], inner[other]);
    }
    if (!weights_ && binary.kind_of == BinaryKind::kSub && other == 1) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kLow});
    }
  }

  /// Minus infinity in a term hides a key whatever the others are, which may have no single number.
  void add_terms(OutletId wire, Square at) {
    const Node& node = graph_.node(wire.node);
    const auto inner = squares_of_inputs(graph_, node, at, symbol_);
    if (!inner || node.inputs.empty()) return;
    if (keeps_values(*node.op)) return add_terms(node.inputs[0], (*inner)[0]);
    const auto* binary = node.op->as<Binary>();
    if (!binary || binary->kind_of != BinaryKind::kAdd) return;
    for (size_t k = 0; k < 2; ++k) {
      limits_.push_back({node.inputs[k], (*inner)[k], Limit::Kind::kNotInfinite});
      add_terms(node.inputs[k], (*inner)[k]);
    }
  }

  /// Keys are seen only where a condition has that value: all of its parts that must have theirs, as
  /// far as they depend on positions alone.
  void demand(OutletId wire, Square at, bool wanted, bool finite) {
    const Node& node = graph_.node(wire.node);
    const auto inner = squares_of_inputs(graph_, node, at, symbol_);
    const bool open = inner && !node.inputs.empty();
    const auto* unary = node.op->as<Unary>();
    if (open && unary && unary->kind_of == UnaryKind::kNot) {
      return demand(node.inputs[0], (*inner)[0], !wanted, finite);
    }
    if (open && keeps_values(*node.op)) return demand(node.inputs[0], (*inner)[0], wanted, finite);
    const auto* binary = node.op->as<Binary>();
    const BinaryKind both = wanted ? BinaryKind::kAnd : BinaryKind::kOr;
    if (open && binary && binary->kind_of == both) {
      for (size_t k = 0; k < 2; ++k) demand(node.inputs[k], (*inner)[k], wanted, finite);
    } else if (is_positional(graph_, wire)) {
      limits_.push_back({wire, at, wanted ? Limit::Kind::kTrue : Limit::Kind::kFalse, finite});
    }
  }

  const Graph& graph_;
  std::string_view symbol_;
  Positions positions_;
  std::vector<Limit> limits_;
  std::vector<Limit> behind_;
  std::set<std::pair<OutletId, bool>> zeroed_;  ///< conditions under which weights are 0
  std::optional<double> weak_;
  bool by_frames_ = false;
  bool weights_ = true;  ///< behind the softmax 0 hides a key; before it, minus infinity
};

}  // namespace

namespace {

/// What all limits together let through.
class Seen {
 public:
  Seen(const Positions& positions, const std::vector<Limit>& limits,
       const std::vector<Limit>& behind)
      : positions_(positions), limits_(limits), behind_(behind) {}

  bool operator()(int64_t query, int64_t key) const {
    return all_let(limits_, query, key, &Limit::lets);
  }
  /// Whether a query of some stream sees no key, and one that a finite number hides has weight then.
  bool nothing(int64_t query, int64_t far) const {
    const auto left = [&](int64_t key) {
      return all_let(limits_, query, key, &Limit::leaves) &&
             all_let(behind_, query, key, &Limit::lets);
    };
    // The stream ends with the query, or later.
    bool any = false;
    for (int64_t key = query; key >= 0; --key) {
      if ((*this)(query, key)) return false;
      any = any || left(key);
    }
    for (int64_t key = query + 1; !any && key <= query + far; ++key) {
      if ((*this)(query, key)) return false;
      any = left(key);
    }
    return any;
  }

 private:
  bool all_let(const std::vector<Limit>& limits, int64_t query, int64_t key,
               bool (Limit::*lets)(double) const) const {
    return std::all_of(limits.begin(), limits.end(), [&](const Limit& each) {
      const auto value = positions_.value(each.wire, each.at, query, key);
      return !value || (each.*lets)(*value);
    });
  }

  const Positions& positions_;
  const std::vector<Limit>& limits_;
  const std::vector<Limit>& behind_;
};

}  // namespace

namespace {

/// Keeps of limits what holds where other things may hide all keys that they let through.
void keep_infinite(std::vector<Limit>* limits) {
  std::erase_if(*limits, [](const Limit& limit) {
    return limit.finite || limit.kind == Limit::Kind::kLow;
  });
  for (Limit& limit : *limits) {
    if (limit.kind == Limit::Kind::kHigh) limit.kind = Limit::Kind::kNotInfinite;
  }
}

}  // namespace

Band band_of(const Graph& graph, OutletId used, Square at, std::string_view symbol) {
  const Positions positions(graph, symbol);
  Limits found(graph, symbol);
  std::vector<Limit> limits = found.take(used, at);
  Band band;
  if (found.weak()) {
    band.unread = str_cat("; a mask of ", *found.weak(), " leaves them some weight");
  }
  Positions::Numbers numbers;
  std::vector<Limit> behind = found.behind();
  for (const Limit& limit : limits) positions.collect(limit.wire, limit.at, &numbers);
  for (const Limit& limit : behind) positions.collect(limit.wire, limit.at, &numbers);
  band.period = numbers.period;
  bool open = found.by_frames();
  std::erase_if(limits, [&](const Limit& limit) {
    if (positions.shift(limit.wire, limit.at, band.period) == 0.0) return false;
    open |= limit.finite;
    const Node& node = graph.node(limit.wire.node);
    if (band.unread.empty()) {
      band.unread = str_cat("; what node \"", node.name, "\" (", node.op->name(),
                            ") hides is not told from positions");
    }
    return true;
  });
  if (open) keep_infinite(&limits);
  std::erase_if(behind, [&](const Limit& limit) {
    return positions.shift(limit.wire, limit.at, band.period) != 0.0;
  });
  // Beyond this, differences of positions have passed all that they are compared with.
  const double far = 2 * (numbers.reach + 4) * numbers.stretch * static_cast<double>(band.period);
  const auto all = static_cast<size_t>(band.period);
  band.first.assign(all, INT64_MIN);
  band.last.assign(all, INT64_MAX);
  // Near the beginning, numbers that positions are clamped to may matter: all queries are looked at.
  const bool settles = positions.settles();
  const double queries = static_cast<double>(band.period) + (settles ? 2 * far : 0);
  if (limits.empty() || queries * far > kMostLooks) return band;
  const Seen seen(positions, limits, behind);
  const auto limit = static_cast<int64_t>(far);
  // Where values settle, the keys far behind a query are to lie where they have.
  const int64_t base = ((settles ? 2 : 1) * limit / band.period + 2) * band.period;
  for (int64_t phase = 0; phase < band.period; ++phase) {
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    const auto look = [&](int64_t query) {
      for (int64_t d = std::max(-limit, -query); d <= limit; ++d) {
        if (!seen(query, query + d)) continue;
        first = std::min(first, d);
        last = std::max(last, d);
      }
    };
    for (int64_t query = phase; settles && query <= base; query += band.period) look(query);
    look(base + phase);
    for (int64_t query = phase; !band.blind; query += band.period) {
      if (seen.nothing(query, limit)) band.blind = query;
      if (!settles || query > base) break;
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
