#include "pulse/attention/limits.h"

#include <cmath>
#include <set>
#include <utility>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/walk.h"
#include "core/positions/positions.h"
#include "core/tensor/uniform.h"

namespace rill::pulse {

bool hides_somewhere(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const auto number = element_as_double(tensor, i);
    if (number.ok() && std::abs(*number) >= -kHiddenScore) return true;
  }
  return false;
}

namespace {

using Form = Course::Form;
using Function = Course::Function;

/// A finite number below this one in a mask is meant to hide keys: scores do not get that low.
constexpr double kLittle = -50;
/// The maximum number of terms of sums of weights. With more, a sum counts as hiding no key; models
/// have a few.
constexpr int kMostTerms = 64;

/// Walks upstream from the attention weights, where they multiply the values, to the scores, and
/// collects what hides keys.
class Collector {
 public:
  Collector(const Graph& graph, std::span<const OutletId> large, std::string_view symbol)
      : graph_(graph), large_(large), symbol_(symbol), positions_(graph, symbol) {}

  std::vector<Limits> take(OutletId used, Square at) {
    terms_.push_back({used, at, {}, {}});
    std::vector<Limits> out;
    while (!terms_.empty()) {
      Term term = std::move(terms_.back());
      terms_.pop_back();
      weights_ = true;
      limits_ = std::move(term.limits);
      zeroed_ = std::move(term.zeroed);
      // Weights that depend on positions alone, as those of a band matrix, hide keys where they are
      // 0.
      if (is_positional(graph_, term.wire)) {
        limits_.push_back({term.wire, term.at, Limit::Kind::kNotZero});
      }
      out.push_back(walk(term.wire, term.at));
    }
    // A softmax sums over all keys that its masks show, so each of them matters, even if its weight
    // is unused.
    for (const auto& [wire, square] : softmaxes(used, at)) {
      const int softmax = wire.node;
      const bool passed = any_of(out, [&](const Limits& each) { return each.softmax == softmax; });
      if (passed) continue;
      weights_ = false;
      softmax_ = wire.node;
      out.push_back(walk(graph_.node(wire.node).inputs[0], square));
    }
    return out;
  }

 private:
  using Squares = std::vector<Square>;
  using Place = std::pair<OutletId, Square>;

  /// A term of a sum of weights, and the limits of the sum.
  struct Term {
    OutletId wire;
    Square at;
    std::vector<Limit> limits;
    std::set<std::pair<OutletId, bool>> zeroed;
  };

  Limits walk(OutletId wire, Square at) {
    while (step(&wire, &at)) {
    }
    for (Limit& limit : limits_) limit.large = holds_large(limit.wire);
    scale_ = 1;
    zeroed_.clear();
    return {std::exchange(limits_, {}), std::exchange(after_softmax_, {}), std::exchange(weak_, {}),
            std::exchange(by_frames_, false), std::exchange(softmax_, {})};
  }

  static bool normalises_over(int axis, const Course& course) {
    return course.is(Form::kNormalised) && contains(course.axes, axis);
  }

  /// Return the nodes upstream of a wire that normalise over the keys.
  std::vector<Place> softmaxes(OutletId used, Square square) const {
    std::vector<Place> out;
    std::set<Place> seen;
    std::vector<Place> open{{used, square}};
    while (!open.empty()) {
      const Place place = open.back();
      open.pop_back();
      if (!seen.insert(place).second) continue;
      const Node& node = graph_.node(place.first.node);
      if (normalises_over(place.second.column, node.op->course())) out.push_back(place);
      const auto inner = squares_of_inputs(graph_, node, place.second, symbol_);
      for (size_t k = 0; inner && k < inner->size(); ++k) {
        open.emplace_back(node.inputs[k], (*inner)[k]);
      }
    }
    return out;
  }

  /// Visit the node that makes a wire, and move on to the input with the hidden keys. False at the
  /// end of the walk.
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
    const Course course = node.op->course();
    const bool pair = course.is(Form::kPerElement) && node.inputs.size() == 2;
    if (pair && squares == 2) {
      if (weights_ && is_sum(course)) return add_terms_of(node, *inner, wire, at);
      squares = without_masks(course, node, &next);
    }
    if (course.is(Function::kChoice)) choose(node, *inner);
    if (weights_ && course.is(Form::kTriangle)) {
      limits_.push_back({*wire, *at, Limit::Kind::kNotZero});
    }
    if (pair && squares == 1) {
      combine_with(course, node, static_cast<size_t>(1 - next), *inner);
    }
    if (course.is(Form::kNormalised)) {
      if (!normalises_over(at->column, course)) {
        // A softmax over only -inf gives NaN, and NaN propagates.
        if (weights_) limits_.clear();
        return false;
      }
      // A second softmax gives weight to keys that the first one hides.
      if (!weights_) return false;
      // The softmax runs over all keys that no upstream mask hides.
      after_softmax_ = std::exchange(limits_, {});
      weights_ = false;
      softmax_ = wire->node;
    }
    if (squares != 1) {
      by_frames_ |= !weights_ && holds_large(*wire);
      return false;
    }
    if (!stays_hidden(node, static_cast<size_t>(next), *inner)) {
      // The walk ends at weights that an upstream softmax computes from other keys too, so no limit
      // holds for them.
      if (weights_ && mixes_keys(*wire)) limits_.clear();
      by_frames_ |= !weights_ && holds_large(*wire);
      return false;
    }
    *at = (*inner)[static_cast<size_t>(next)];
    *wire = node.inputs[static_cast<size_t>(next)];
    return true;
  }

  static bool is_product(const Op& op) { return op.course().is(Form::kProducts); }

  /// Return whether a matmul or convolution has a bias that is not known to be 0.
  bool is_biased(const Node& node, const Course& product) const {
    if (product.bias < 0) return false;
    const TensorPtr& bias = graph_.fact(node.inputs[static_cast<size_t>(product.bias)]).konst;
    return uniform_number(bias) != 0.0;
  }

  static bool is_sum(const Course& course) {
    return course.is(Function::kAdd) || course.is(Function::kSub);
  }

  /// Continue the walk in one term of a sum of weights, and queue the other: the sum is nonzero if
  /// any term is.
  bool add_terms_of(const Node& node, const Squares& inner, OutletId* wire, Square* at) {
    if (++terms_seen_ > kMostTerms) {
      limits_.clear();
      return false;
    }
    terms_.push_back({node.inputs[1], inner[1], limits_, zeroed_});
    *wire = node.inputs[0];
    *at = inner[0];
    return true;
  }

  /// If a node adds scores and a mask, both [frames, frames], set `next` to the input with the
  /// scores: the one with a matmul or convolution upstream. Return how many of the two inputs may
  /// be scores: 1 if `next` is set, else 2.
  int without_masks(const Course& course, const Node& node, int* next) const {
    if (weights_ || !course.is(Function::kAdd)) return 2;
    const auto product = [&](int id) { return is_product(*graph_.node(id).op); };
    const bool first = any_before(graph_, node.inputs[0], product);
    if (first == any_before(graph_, node.inputs[1], product)) return 2;
    *next = first ? 0 : 1;
    return 1;
  }

  /// Return whether the output of a node hides every key that its input `next` hides. Multiply
  /// `scale_` by the factor of the node.
  bool stays_hidden(const Node& node, size_t next, const Squares& inner) {
    const Course course = node.op->course();
    switch (course.form) {
      case Form::kMoved:
      case Form::kNormalised:
      case Form::kCut:  // A part or a sum of heads has no weight where no head has any.
        return true;
      case Form::kTriangle:
        return weights_;
      case Form::kProducts:
        return weights_ && !is_biased(node, course);
      case Form::kReduced:
        return weights_ && course.summed_axis();
      case Form::kPerElement:
        break;
      default:
        return false;
    }
    if (course.is(Function::kCast)) return true;
    if (course.is(Function::kChoice)) {
      const size_t other = next == 1 ? 2 : 1;
      if (next == 0 || !is_number(node.inputs[other], inner[other])) return false;
      const auto fill = positions_.value(node.inputs[other], inner[other], 0, 0);
      // If the condition depends on frames, this finite number may replace minus infinity. The key
      // then has weight if all other keys are hidden.
      const bool counts =
          !weights_ && fill && !std::isinf(*fill) && !is_positional(graph_, node.inputs[0]);
      return fill && hides(*fill) && !counts;
    }
    return node.inputs.size() == 1 ? stays_hidden(course.function)
                                   : stays_hidden(course.function, node, next, inner);
  }
  bool stays_hidden(Function function) {
    if (!weights_) return false;
    switch (function) {
      case Function::kExp:
        // A score of minus infinity becomes a weight of 0.
        weights_ = false;
        return true;
      case Function::kNeg:
      case Function::kAbs:
      case Function::kSquare:
      case Function::kSqrt:
        return true;
      default:
        return false;
    }
  }
  bool stays_hidden(Function function, const Node& node, size_t next, const Squares& inner) {
    const size_t other = 1 - next;
    const auto number = positions_.value(node.inputs[other], inner[other], 0, 0);
    const bool constant = number && graph_.fact(node.inputs[other]).konst != nullptr;
    switch (function) {
      case Function::kMul:
        if (weights_) return true;
        if (!constant || *number <= 0.0 || !std::isfinite(*number)) return false;
        scale_ *= *number;
        return true;
      case Function::kDiv:
        if (next != 0) return false;
        if (weights_) return true;
        if (!constant || *number <= 0.0 || !std::isfinite(*number)) return false;
        scale_ /= *number;
        return true;
      case Function::kAdd:
      case Function::kSub:
        if (!is_number(node.inputs[other], inner[other])) {
          by_frames_ |= holds_large(node.inputs[other]);
        }
        return !weights_ && (function == Function::kAdd || next == 0);
      case Function::kMax:
        return weights_ && constant && *number <= 0.0;
      default:
        return false;
    }
  }
  /// Return whether a weight or score with this value hides its key.
  bool hides(double number) const {
    return weights_ ? number == 0.0 : number * scale_ <= kHiddenScore;
  }

  /// Return whether a wire may take numbers that hide keys from an input or a constant.
  bool holds_large(OutletId wire) const {
    const auto large = [&](int id) {
      if (source_of(*graph_.node(id).op)) {
        return contains(large_, OutletId{id, 0});
      }
      const TensorPtr& known = graph_.fact({id, 0}).konst;
      return known && hides_somewhere(*known);
    };
    const auto through = [&](int id) { return !is_product(*graph_.node(id).op); };
    return any_before(graph_, wire, large, through);
  }

  /// Return whether there is a softmax upstream of a wire: it may sum over keys.
  bool mixes_keys(OutletId wire) const {
    return any_before(graph_, wire, [&](int id) {
      return graph_.node(id).op->course().is(Form::kNormalised);
    });
  }

  /// Return whether a wire does not depend on any input.
  bool is_number(OutletId wire, Square at) const {
    return is_positional(graph_, wire) || positions_.value(wire, at, 0, 0);
  }

  /// Record what a select between scores and a number hides.
  void choose(const Node& node, const Squares& inner) {
    for (const size_t k : {1U, 2U}) {
      if (!is_number(node.inputs[k], inner[k])) continue;
      const auto fill = positions_.value(node.inputs[k], inner[k], 0, 0);
      const bool hidden_here = fill && hides(*fill);
      // If a finite number hides every key of a query, all its keys count alike. So such a number
      // only counts as hiding in masks of positions, which leave at least one key, or if the
      // weights are also zeroed after the softmax.
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

  void combine_with(const Course& course, const Node& node, size_t other,
                    const Squares& inner) {
    if (!is_positional(graph_, node.inputs[other])) {
      if (!weights_ && course.is(Function::kAdd)) added(node.inputs[other], inner[other]);
      return;
    }
    if (weights_ && course.is(Function::kMul)) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kNotZero});
    }
    if (!weights_ && course.is(Function::kAdd)) {
      added(node.inputs[other], inner[other]);
    }
    if (!weights_ && course.is(Function::kSub) && other == 1) {
      limits_.push_back({node.inputs[other], inner[other], Limit::Kind::kLow, false, scale_});
    }
  }

  using Seen = std::set<std::pair<Place, bool>>;

  /// Collect the limits of a term that is added to scores: it hides keys if it depends on
  /// positions, or if it selects minus infinity by position.
  void added(OutletId from, Square square) {
    Seen seen;
    std::vector<Place> open{{from, square}};
    while (!open.empty()) {
      const auto [wire, at] = open.back();
      open.pop_back();
      if (!seen.insert({{wire, at}, true}).second) continue;
      if (is_positional(graph_, wire)) {
        limits_.push_back({wire, at, Limit::Kind::kHigh, false, scale_});
        add_terms(wire, at);
        continue;
      }
      const Node& node = graph_.node(wire.node);
      const auto inner = squares_of_inputs(graph_, node, at, symbol_);
      if (!inner || node.inputs.empty()) continue;
      const Course course = node.op->course();
      if (course.is(Form::kMoved)) {
        open.emplace_back(node.inputs[0], (*inner)[0]);
      } else if (course.is(Function::kAdd)) {
        for (const size_t k : {1U, 0U}) open.emplace_back(node.inputs[k], (*inner)[k]);
      } else if (course.is(Function::kChoice)) {
        add_choices(node, *inner, &open);
      }
    }
  }
  void add_choices(const Node& node, const Squares& inner, std::vector<Place>* open) {
    for (const size_t k : {1U, 2U}) {
      const auto number = positions_.value(node.inputs[k], inner[k], 0, 0);
      const bool endless = number && std::isinf(*number) && *number < 0;
      if (endless) demand(node.inputs[0], inner[0], k == 2, false);
      if (!number) open->emplace_back(node.inputs[k], inner[k]);
    }
  }

  /// Collect the limits of the terms of a sum: minus infinity in one term hides a key, whatever the
  /// other terms are.
  void add_terms(OutletId sum, Square square) {
    Seen seen;
    std::vector<Place> open{{sum, square}};
    while (!open.empty()) {
      const auto [wire, at] = open.back();
      open.pop_back();
      if (!seen.insert({{wire, at}, true}).second) continue;
      const Node& node = graph_.node(wire.node);
      const auto inner = squares_of_inputs(graph_, node, at, symbol_);
      if (!inner || node.inputs.empty()) continue;
      const Course course = node.op->course();
      if (course.is(Form::kMoved)) {
        open.emplace_back(node.inputs[0], (*inner)[0]);
        continue;
      }
      if (!course.is(Function::kAdd)) continue;
      for (const size_t k : {1U, 0U}) {
        limits_.push_back({node.inputs[k], (*inner)[k], Limit::Kind::kNotInfinite});
        open.emplace_back(node.inputs[k], (*inner)[k]);
      }
    }
  }

  /// Record that keys are visible only where a condition has this value: add a limit for each of
  /// its parts that depends on positions alone, with the value that the part must have.
  void demand(OutletId condition, Square square, bool value, bool finite) {
    Seen seen;
    std::vector<std::pair<Place, bool>> open{{{condition, square}, value}};
    while (!open.empty()) {
      const auto [place, wanted] = open.back();
      const auto [wire, at] = place;
      open.pop_back();
      if (!seen.insert({place, wanted}).second) continue;
      const Node& node = graph_.node(wire.node);
      const auto inner = squares_of_inputs(graph_, node, at, symbol_);
      const bool inside = inner && !node.inputs.empty();
      const Course course = node.op->course();
      const bool negates = course.is(Function::kNot);
      const Function both = wanted ? Function::kAnd : Function::kOr;
      if (inside && (negates || course.is(Form::kMoved))) {
        open.push_back({{node.inputs[0], (*inner)[0]}, wanted != negates});
      } else if (inside && course.is(both)) {
        for (const size_t k : {1U, 0U}) open.push_back({{node.inputs[k], (*inner)[k]}, wanted});
      } else if (is_positional(graph_, wire)) {
        limits_.push_back({wire, at, wanted ? Limit::Kind::kTrue : Limit::Kind::kFalse, finite});
      }
    }
  }

  const Graph& graph_;
  std::span<const OutletId> large_;
  std::string_view symbol_;
  Positions positions_;
  std::vector<Limit> limits_;
  std::vector<Limit> after_softmax_;
  std::set<std::pair<OutletId, bool>> zeroed_;  ///< conditions under which weights are 0
  std::vector<Term> terms_;  ///< terms to walk later
  int terms_seen_ = 0;
  std::optional<int> softmax_;  ///< the softmax that the walk has passed
  std::optional<double> weak_;
  double scale_ = 1;  ///< factor of scores from here to the softmax
  bool by_frames_ = false;
  bool weights_ = true;  ///< before the walk reaches the softmax: 0 hides a key, not -inf
};

}  // namespace

std::vector<Limits> limits_of(const Graph& graph, std::span<const OutletId> large, OutletId used,
                              Square at, std::string_view symbol) {
  return Collector(graph, large, symbol).take(used, at);
}

}  // namespace rill::pulse
