#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "core/dim/dim.h"
#include "core/graph/op.h"

namespace rill {

/// How the elements of an operator's output follow from their indices and from its inputs. The
/// analysis of positions (`core/positions`) and the pulse rules use this. Pointers and spans of
/// this value refer to memory of the operator.
struct Course {
  enum class Form : uint8_t {
    kOther,       ///< only `Op::axes` and `Op::eval` define it
    kPerElement,  ///< `function` of the input elements at the same index; unit axes are broadcast
    kMoved,       ///< elements of input 0, moved or repeated
    kCounted,     ///< `begin` + `step` * index, without inputs
    kSummed,      ///< cumulative sums of input 0 along `axes`
    kCut,         ///< input 0 from `begin` to `end` along `axes`
    kTriangle,    ///< input 0 on one side of diagonal `begin` of the last two axes; else 0
    kShifted,     ///< scores by distance in input 0, rearranged by query and key
    kNormalised,  ///< exponentials of input 0 divided by their sum over `axes`, or the logarithm of
                  ///< this
    kReduced,     ///< `function` combines the elements of input 0 along `axes`, each of which stays
    kProducts,    ///< sums of products of one element of each input
    kJoined,      ///< the inputs, concatenated along `axes`
    kRepeated,    ///< input 0, as a whole, again and again along each axis
    kPicked,      ///< input 0 at the index, except on `axes`, where input 1 gives it
  };
  /// Functions that the rules distinguish; all others are kOther.
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
    kCast,  ///< casts to the type of the output
    kAdd,
    kSub,
    kMul,
    kDiv,  ///< of integers: truncates
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
    kPlace,   ///< in a reduction: the index of an element
  };
  static constexpr double kEndless = std::numeric_limits<double>::infinity();

  Form form = Form::kOther;
  Function function = Function::kOther;
  std::span<const int64_t> axes = {};
  const Dim* begin = nullptr;
  const Dim* end = nullptr;
  int64_t step = 1;
  bool upper = false;      ///< in a triangle: keeps the side of larger columns
  bool exclusive = false;  ///< in a cumulative sum: without the element itself
  bool reverse = false;    ///< in a cumulative sum: from the end backwards
  bool past_only = false;  ///< in shifted scores: input 0 has no distances to keys after a query
  bool logarithm = false;  ///< in normalised scores: the logarithm
  int bias = -1;           ///< in products: the input that is added to the sums; -1 if none
  /// `eval` also accepts 64-bit integers, and computes the same function without wrapping.
  bool widens = false;
  /// A function per element is monotone for arguments >= this number and, if `mirrored`, for
  /// arguments <= the negative of it. The argument is one of the first `monotone_inputs` inputs;
  /// the others are constant numbers. Nothing if the function is monotone nowhere.
  std::optional<double> monotone_from = {};
  bool mirrored = false;
  int monotone_inputs = 1;

  /// Return the only axis of `axes`; -1 if there are several or none.
  int axis() const { return axes.size() == 1 ? static_cast<int>(axes[0]) : -1; }
  bool is(Form which) const { return form == which; }
  /// Return whether the operator applies this function to the elements at the same index.
  bool is(Function which) const { return form == Form::kPerElement && function == which; }
  /// Return the axis if the operator sums along a single axis; else nothing.
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
