#include "core/positions/affine.h"

#include <array>
#include <utility>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/size_trace.h"
#include "core/tensor/uniform.h"

namespace rill {
namespace {

using Form = Course::Form;
using Function = Course::Function;
using Place = std::optional<AffinePlace>;

// Indices of models are some ten operators deep. A node that reads its input twice doubles the
// visits.
constexpr int kMostDepth = 32;
constexpr int kMostVisits = 256;
// Larger factors could overflow in sums of several.
constexpr int64_t kMostFactor = int64_t{1} << 20;

class Walk {
 public:
  Walk(const Graph& graph, std::string_view symbol, const Dim& frames)
      : graph_(graph), symbol_(symbol), frames_(frames), last_(frames - Dim(1)) {}

  Place follow(OutletId outlet, Square at, int depth) {
    const Fact& fact = graph_.fact(outlet);
    const bool whole =
        fact.dtype == DType::kI64 || fact.dtype == DType::kI32 || fact.dtype == DType::kDim;
    if (!whole || depth == 0 || visits_-- == 0) return std::nullopt;
    if (volume(fact.shape) == Dim(1)) {
      const auto size = SizeTrace::follow(graph_, outlet, nullptr);
      return size && size->is_whole() ? constant(graph_.scope.simplify(size->number)) : Place();
    }
    if (fact.konst) {
      const auto number = uniform_number(fact.konst);
      return number ? constant(Dim(static_cast<int64_t>(*number))) : Place();
    }
    const Node& node = graph_.node(outlet.node);
    const Course course = node.op->course();
    if (course.is(Form::kCounted)) return fact.dim(0) == frames_ ? counted(course, at) : Place();
    if (course.is(Form::kRepeated)) return repeated(graph_.fact(node.inputs[0]), node, at, depth);
    const auto squares = squares_of_inputs(graph_, node, at, symbol_);
    if (!squares || squares->empty()) return std::nullopt;
    Place first = follow(node.inputs[0], (*squares)[0], depth - 1);
    if (!first || course.is(Form::kMoved) || course.is(Function::kCast)) return first;
    if (course.is(Function::kNeg)) return scaled(*first, -1);
    if (squares->size() != 2) return std::nullopt;
    const Place second = follow(node.inputs[1], (*squares)[1], depth - 1);
    return second ? combined(course, *first, *second) : std::nullopt;
  }

 private:
  static Place constant(Dim number) { return AffinePlace{std::move(number)}; }

  /// Follow a series of queries that is repeated.
  Place repeated(const Fact& once, const Node& node, Square at, int depth) {
    const Fact& fact = node.outputs[0];
    const auto is_whole = [&](int axis) {
      return axis < 0 || once.dim(axis) == fact.dim(axis) || once.dim(axis) == Dim(1);
    };
    if (!is_whole(at.column) || !(is_whole(at.row) || once.dim(at.row) == frames_)) {
      return std::nullopt;
    }
    for (int* axis : {&at.row, &at.column}) {
      if (*axis >= 0 && !once.dim(*axis).mentions(symbol_)) *axis = -1;
    }
    return follow(node.inputs[0], at, depth - 1);
  }

  static Place counted(const Course& course, Square at) {
    if (at.row < 0 && at.column < 0) return std::nullopt;
    AffinePlace out{*course.begin};
    (at.row >= 0 ? out.row : out.column) = course.step;
    return within_limits(out);
  }

  static Place within_limits(const AffinePlace& place) {
    const auto fits = [](int64_t factor) {
      return factor >= -kMostFactor && factor <= kMostFactor;
    };
    return place.start.valid() && fits(place.row) && fits(place.column) ? Place(place) : Place();
  }

  static Place scaled(const AffinePlace& place, int64_t by) {
    if (by < -kMostFactor || by > kMostFactor) return std::nullopt;
    return within_limits(
        {Dim(by) * place.start, by * place.row, by * place.column, place.behind});
  }

  static Place sum(const AffinePlace& a, const AffinePlace& b) {
    return within_limits(
        {a.start + b.start, a.row + b.row, a.column + b.column, a.behind || b.behind});
  }

  static std::optional<int64_t> number(const AffinePlace& place) {
    return place.row == 0 && place.column == 0 ? place.start.to_int() : std::nullopt;
  }

  Place combined(const Course& course, const AffinePlace& a, const AffinePlace& b) const {
    if (course.is(Function::kAdd)) return sum(a, b);
    if (course.is(Function::kSub)) {
      const Place negative = scaled(b, -1);
      return negative ? sum(a, *negative) : std::nullopt;
    }
    if (course.is(Function::kMul)) {
      const auto left = number(a);
      const auto right = number(b);
      return right ? scaled(a, *right) : left ? scaled(b, *left) : std::nullopt;
    }
    if (course.is(Function::kMin)) return least(a, b);
    // The greatest is the negative of the least of the negatives.
    const Place minus_a = scaled(a, -1);
    const Place minus_b = scaled(b, -1);
    if (!course.is(Function::kMax) || !minus_a || !minus_b) return std::nullopt;
    const Place negative = least(*minus_a, *minus_b);
    return negative ? scaled(*negative, -1) : std::nullopt;
  }

  /// Return whichever is at most the other one, at all keys or at those up to the query.
  Place least(AffinePlace a, AffinePlace b) const {
    for (int order = 0; order < 2; ++order) {
      // Between the corners of a triangle lie all keys up to the query.
      const std::array<std::pair<Dim, Dim>, 3> corners = {
          {{Dim(0), Dim(0)}, {last_, Dim(0)}, {last_, last_}}};
      const auto is_less = [&](const auto& at) {
        return graph_.scope.proves_ge(b.at(at.first, at.second), a.at(at.first, at.second));
      };
      if (all_of(corners, is_less)) {
        a.behind = a.behind || b.behind || !is_less(std::pair(Dim(0), last_));
        return a;
      }
      std::swap(a, b);
    }
    return std::nullopt;
  }

  const Graph& graph_;
  std::string_view symbol_;
  const Dim& frames_;
  Dim last_;  ///< the last query and key
  int visits_ = kMostVisits;
};

}  // namespace

std::optional<AffinePlace> affine_place(const Graph& graph, OutletId outlet, Square at,
                                        const Dim& frames, std::string_view symbol) {
  return Walk(graph, symbol, frames).follow(outlet, at, kMostDepth);
}

}  // namespace rill
