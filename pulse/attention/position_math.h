#pragma once

#include <optional>
#include <span>

#include "core/graph/graph.h"

namespace rill::ops {
class Binary;
class Cast;
class CumSum;
class Range;
class Trilu;
class Unary;
}  // namespace rill::ops

namespace rill::pulse {

/// The operator of a node, if it is one that numbers of positions are made with.
struct PositionOp {
  explicit PositionOp(const Op& op);

  const Const* constant = nullptr;
  const ops::Range* range = nullptr;
  const ops::CumSum* sum = nullptr;
  const ops::Trilu* part = nullptr;
  const ops::Cast* cast = nullptr;
  const ops::Unary* unary = nullptr;
  const ops::Binary* binary = nullptr;
  bool chooses = false;
  bool moves = false;  ///< gives the values of its input, in other places
  /// Whether each element is made of those at its place.
  bool pointwise() const { return cast || unary || binary || chooses; }
};

/// Compute one element of an operator that works element by element, as its kernel rounds it.
/// `read`: the type of the first operand; `made`: that of the result. Nothing for operators and
/// operands whose result is not known here; a choice is none of them.
std::optional<double> number_of(const PositionOp& op, DType read, DType made,
                                std::span<const double> in);

}  // namespace rill::pulse
