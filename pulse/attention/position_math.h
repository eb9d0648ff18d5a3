#pragma once

#include <optional>
#include <span>
#include <vector>

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

/// Return whether an operator only moves elements of its input.
bool keeps_values(const Op& op);

/// The operator of a node, as numbers of positions meet it.
struct PositionOp {
  PositionOp(const Op& of, FactSpan in, FactSpan out);

  const Op* op;
  const Const* constant;
  const ops::Range* range;
  const ops::CumSum* sum;
  const ops::Trilu* part;
  const ops::Cast* cast;
  const ops::Unary* unary;
  const ops::Binary* binary;
  bool chooses;
  bool moves;      ///< gives the values of its input, in other places
  bool pointwise;  ///< each element depends on the inputs' elements at its place

  std::vector<DType> read;  ///< the types in which `number_of` hands numbers over
  DType made = DType::kF32;
  int rank = 0;
  bool wide = false;  ///< whole numbers that are computed in more bits than they have
};

/// Compute one element of an operator that works element by element, by its own `eval`. Nothing for
/// other operators, for NaN, for divisions by 0, and for whole numbers that wrap or that doubles do
/// not hold.
std::optional<double> number_of(const PositionOp& op, std::span<const double> in);

}  // namespace rill::pulse
