#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "core/dim/dim.h"
#include "core/graph/op.h"

namespace rill {

/// How the elements of an operator's output follow from their indices and from its inputs. The
/// analysis of positions (`core/positions`) and the rules of pulsing use it. Pointers and spans of
/// this value refer to memory of the operator.
struct Course {
  enum class Form : uint8_t {
    kOther,       ///< only `Op::axes` and `Op::eval` define it
    kPerElement,  ///< `function` of the inputs' elements at the index; extents of 1 repeat
    kMoved,       ///< an element of input 0, from another place, or repeated
    kCounted,     ///< `begin` + `step` * index, without inputs
    kSummed,      ///< the sum of input 0 up to the index along `axes`
    kCut,         ///< input 0 from `begin` to `end` along `axes`
    kTriangle,    ///< input 0 on one side of diagonal `begin` of the last two axes, else 0
    kShifted,     ///< scores by distance in input 0, rearranged by query and key
    kNormalised,  ///< exponentials of input 0 divided by their sum over `axes`, or its logarithm
    kReduced,     ///< `function` combines all elements of input 0 along `axes`, which stay
    kProducts,    ///< sums of products of an element of each input
    kJoined,      ///< the inputs, concatenated along `axes`
    kRepeated,    ///< input 0, as a whole, again and again along each axis
    kPicked,      ///< input 0 at the index, except on `axes`, where input 1 gives it
  };
  /// Functions that rules distinguish; all others are kOther.
  enum class Function : uint8_t {
    kOther,
    kNeg,
    kAbs,
    kSquare,
    kSqrt,
    kExp,
    kFloor,
    kCeil,
    kNot,
    kCast,  ///< to the type of the output
    kAdd,
    kSub,
    kMul,
    kDiv,  ///< of whole numbers: truncates
    kFloorDiv,
    kPow,
    kShiftRight,
    kMin,
    kMax,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kAnd,
    kOr,
    kChoice,  ///< input 0 selects from inputs 1 and 2
    kPlace,   ///< of a reduction: the index of an element
  };
  static constexpr double kEndless = std::numeric_limits<double>::infinity();

  Form form = Form::kOther;
  Function function = Function::kOther;
  std::span<const int64_t> axes = {};
  const Dim* begin = nullptr;
  const Dim* end = nullptr;
  int64_t step = 1;
  bool upper = false;      ///< of a triangle: the side of larger columns
  bool exclusive = false;  ///< of a running sum: without the element itself
  bool reverse = false;    ///< of a running sum: from the end backwards
  bool past_only = false;  ///< of shifted scores: input 0 has no distances to keys after a query
  bool logarithm = false;  ///< of normalised scores
  int bias = -1;           ///< of products: the input that is added to the sums, if any
  /// `eval` also accepts whole numbers of 64 bits, and computes the same function without wrapping.
  bool widens = false;
  /// A function per element is monotone where its argument is at least this or, if `mirrored`, at
  /// most the negative of it. The argument is one of the first `monotone_inputs` inputs; the
  /// others are numbers. Nothing if it is monotone nowhere.
  std::optional<double> monotone_from = {};
  bool mirrored = false;
  int monotone_inputs = 1;

  /// Return the axis of a form along one axis; -1 for several or none.
  int axis() const { return axes.size() == 1 ? static_cast<int>(axes[0]) : -1; }
  bool is(Form which) const { return form == which; }
  /// Return whether the operator applies this function to the elements at the same index.
  bool is(Function which) const { return form == Form::kPerElement && function == which; }
  /// Return the one axis along which it sums; nothing if it does anything else.
  std::optional<int> summed_axis() const {
    const bool sums = form == Form::kReduced && function == Function::kAdd && axes.size() == 1;
    return sums ? std::optional(axis()) : std::nullopt;
  }
  /// Return whether the function is monotone between two arguments.
  bool is_monotone(double low, double high) const {
    return monotone_from && (low >= *monotone_from || (mirrored && high <= -*monotone_from));
  }
};

}  // namespace rill
