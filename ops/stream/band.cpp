#include "ops/stream/band.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ops/array/cast.h"
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
  double scale = 1;     ///< of scores behind it

  bool lets(double value) const {
    switch (kind) {
      case Kind::kTrue:
        return value != 0.0;
      case Kind::kFalse:
        return value == 0.0;
      case Kind::kHigh:
        return value * scale > kHidden;
      case Kind::kLow:
        return value * scale < -kHidden;
      case Kind::kNotInfinite:
        return !std::isinf(value) || value > 0;
      case Kind::kNotZero:
        return value != 0.0;
    }
    return true;
  }
  /// Whether it puts a number in the place of what is hidden, whatever that was.
  bool replaces() const { return kind == Kind::kTrue || kind == Kind::kFalse; }
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


  /// Whether a wire is made with numbers that hide keys where frames choose them.
  bool holds_large(OutletId wire) const {
    return any_before(wire, [](const Op& op) {
      const auto* constant = op.as<Const>();
      if (!constant || constant->value->volume() != 1) return false;
      const auto number = element_as_double(*constant->value, 0);
      return number.ok() && std::abs(*number) >= -kHidden;
    });
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
    if (squares != 1) {
      by_frames_ |= !weights_ && holds_large(*wire);
      return false;
    }
    if (!stays_hidden(node, static_cast<size_t>(next), *inner)) {
      // Weights are what they are made of: a softmax in front of them runs over keys that it sees.
      if (weights_ && mixes_keys(*wire)) limits_.clear();
      by_frames_ |= !weights_ && holds_large(*wire);
      return false;
    }
    *at = (*inner)[static_cast<size_t>(next)];
    *wire = node.inputs[static_cast<size_t>(next)];
    return true;
  }

  /// Whether what is hidden in input `next` of a node is so in its output. Scales what hides.
  bool stays_hidden(const Node& node, size_t next, const Squares& inner) {
    const Op& op = *node.op;
    if (keeps_values(op) || op.as<Softmax>() || op.as<Cast>()) return true;
    if (op.as<Select>()) {
      const size_t other = next == 1 ? 2 : 1;
      if (next == 0 || !is_number(node.inputs[other], inner[other])) return false;
      const auto fill = positions_.value(node.inputs[other], inner[other], 0, 0);
      // What frames choose may stand in place of minus infinity, and count where all else is hidden.
      const bool counts = !weights_ && fill && !std::isinf(*fill) && !is_positional(graph_, node.inputs[0]);
      return fill && hides(*fill) && !counts;
    }
    if (const auto* unary = op.as<Unary>()) return stays_hidden(unary->kind_of);
    const auto* binary = op.as<Binary>();
    return binary && stays_hidden(binary->kind_of, node, next, inner);
  }
  bool stays_hidden(UnaryKind kind) {
    if (!weights_) return false;
    switch (kind) {
      case UnaryKind::kExp:
        // What has minus infinity in front of it has weight 0 behind.
        weights_ = false;
        return true;
      case UnaryKind::kNeg:
      case UnaryKind::kAbs:
      case UnaryKind::kSquare:
      case UnaryKind::kSqrt:
        return true;
      default:
        return false;
    }
  }
  bool stays_hidden(BinaryKind kind, const Node& node, size_t next, const Squares& inner) {
    const size_t other = 1 - next;
    const auto number = positions_.value(node.inputs[other], inner[other], 0, 0);
    const bool constant = number && graph_.fact(node.inputs[other]).konst != nullptr;
    switch (kind) {
      case BinaryKind::kMul:
        if (weights_) return true;
        if (!constant || *number <= 0.0 || !std::isfinite(*number)) return false;
        scale_ *= *number;
        return true;
      case BinaryKind::kDiv:
        if (next != 0) return false;
        if (weights_) return true;
        if (!constant || *number <= 0.0 || !std::isfinite(*number)) return false;
        scale_ /= *number;
        return true;
      case BinaryKind::kAdd:
      case BinaryKind::kSub:
        if (!is_number(node.inputs[other], inner[other])) {
          by_frames_ |= holds_large(node.inputs[other]);
        }
        return !weights_ && (kind == BinaryKind::kAdd || next == 0);
      case BinaryKind::kMax:
        return weights_ && constant && *number <= 0.0;
      default:
        return false;
    }
  }
  /// Whether a number in place of a weight or score takes a key away.
  bool hides(double number) const {
    return weights_ ? number == 0.0 : number * scale_ <= kHidden;
  }

  /// Whether keys meet in what a wire is made of.
  bool mixes_keys(OutletId wire) const {
    return any_before(wire, [](const Op& op) { return op.as<Softmax>() != nullptr; });
  }

  /// Whether any node that a wire is made by is of some kind.
  template <class Kind>
  bool any_before(OutletId wire, const Kind& kind) const {
    std::vector<char> seen(graph_.nodes.size(), 0);
    std::vector<int> open{wire.node};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      if (std::exchange(seen[static_cast<size_t>(id)], 1)) continue;
      if (kind(*graph_.node(id).op)) return true;
      for (const OutletId& input : graph_.node(id).inputs) open.push_back(input.node);
    }
    return false;
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
      const bool hidden_here = fill && hides(*fill);
      // Where a number below all others hides every key that is seen otherwise, all count alike:
      // only positions, which leave one at least, may do that.
      // So may what hides such a query behind the softmax as well.
      const std::pair hidden{node.inputs[0], k == 1};
      if (weights_ && hidden_here) zeroed_.insert(hidden);
      const bool endless = fill && (weights_ || std::isinf(*fill) || zeroed_.contains(hidden));
      if (hidden_here && (endless || is_positional(graph_, node.inputs[0]))) {
        demand(node.inputs[0], inner[0], k == 2, !endless);
      }
      if (fill && !weights_ && !hidden_here && *fill < kLittle) weak_ = *fill;
      by_frames_ |= hidden_here && !weights_ && !is_positional(graph_, node.inputs[0]);
    }
  }

  void combine_with(const Binary& binary, const Node& node, size_t other, const Squares& inner) {
    if (!is_positional(graph_, node.inputs[other])) return;
    if (weights_ && binary.kind_of == BinaryKind::kMul) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kNotZero});
    }
    if (!weights_ && binary.kind_of == BinaryKind::kAdd) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kHigh, false, scale_});
      add_terms(node.inputs[other], inner[other]);
    }
    if (!weights_ && binary.kind_of == BinaryKind::kSub && other == 1) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kLow, false, scale_});
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
  double scale_ = 1;  ///< of scores, from here to the softmax
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
    return all_let(limits_, query, key);
  }
  /// Whether a query of some stream sees no key, and keys that a finite number hides count then: they
  /// have weight, or keep others from giving NaN.
  bool nothing(int64_t query, int64_t far) const {
    bool left = false;
    bool infinite = false;
    bool weighs = false;
    const auto look = [&](int64_t key) {
      const bool counts = leaves(query, key);
      left |= counts;
      infinite |= !counts;
      weighs |= counts && all_let(behind_, query, key);
    };
    const auto differs = [&] { return weighs || (left && infinite); };
    // The stream ends with the query, or later.
    for (int64_t key = query; key >= 0; --key) {
      if ((*this)(query, key)) return false;
      look(key);
    }
    for (int64_t key = query + 1; !differs() && key <= query + far; ++key) {
      if ((*this)(query, key)) return false;
      look(key);
    }
    return differs();
  }

 private:
  bool all_let(const std::vector<Limit>& limits, int64_t query, int64_t key) const {
    return std::all_of(limits.begin(), limits.end(), [&](const Limit& each) {
      const auto value = positions_.value(each.wire, each.at, query, key);
      return !value || each.lets(*value);
    });
  }
  /// Whether a key gets a finite score: of numbers put in its place the outermost counts, and minus
  /// infinity that is added to it.
  bool leaves(int64_t query, int64_t key) const {
    for (const Limit& each : limits_) {
      const auto value = positions_.value(each.wire, each.at, query, key);
      if (!value || each.lets(*value)) continue;
      if (each.replaces()) return each.finite;
      if (std::isinf(*value)) return false;
    }
    return true;
  }

  const Positions& positions_;
  const std::vector<Limit>& limits_;
  const std::vector<Limit>& behind_;
};

}  // namespace

namespace {

/// Keeps of limits, from the outermost to the innermost, what holds where other things may hide all keys
/// that they let through: a finite number may stand in place of minus infinity further in.
void keep_infinite(std::vector<Limit>* limits) {
  limits->erase(std::find_if(limits->begin(), limits->end(),
                             [](const Limit& limit) { return limit.finite && limit.replaces(); }),
                limits->end());
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
  band.zeroed = !found.behind().empty();
  if (found.weak()) {
    band.unread = str_cat("; a mask of ", *found.weak(), " leaves them some weight");
  }
  Positions::Numbers numbers;
  std::vector<Limit> behind = found.behind();
  for (const Limit& limit : limits) positions.collect(limit.wire, limit.at, &numbers);
  for (const Limit& limit : behind) positions.collect(limit.wire, limit.at, &numbers);
  band.period = numbers.period;
  const auto unread = [&](const Limit& limit) {
    return positions.shift(limit.wire, limit.at, band.period) != 0.0;
  };
  const auto misread = std::find_if(limits.begin(), limits.end(), unread);
  if (misread != limits.end() && band.unread.empty()) {
    const Node& node = graph.node(misread->wire.node);
    band.unread = str_cat("; what node \"", node.name, "\" (", node.op->name(),
                          ") hides is not told from positions");
  }
  // What is not read may hide all that the others let through; a bias does not.
  const bool open = found.by_frames() || std::any_of(limits.begin(), limits.end(), [&](auto& limit) {
                      return unread(limit) && (limit.replaces() || found.holds_large(limit.wire));
                    });
  if (open) keep_infinite(&limits);
  std::erase_if(limits, unread);
  std::erase_if(behind, unread);
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
  const bool finite = std::any_of(limits.begin(), limits.end(), [](const Limit& each) {
    return each.finite || each.kind == Limit::Kind::kHigh || each.kind == Limit::Kind::kLow;
  });
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
    for (int64_t query = phase; finite && !band.blind && query <= base + phase; query += band.period) {
      if (seen.nothing(query, limit)) band.blind = query;
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
