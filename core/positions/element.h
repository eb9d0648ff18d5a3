#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/graph/course.h"
#include "core/graph/graph.h"

namespace rill {

/// The operator of a node as a function of positions.
struct PositionOp {
  PositionOp(const Op& of, FactSpan in, FactSpan out);

  bool is(Course::Form form) const { return course.form == form; }
  bool is(Course::Function function) const { return course.is(function); }
  /// Return the function of the elements at one index.
  Course::Function function() const {
    return is(Course::Form::kPerElement) ? course.function : Course::Function::kOther;
  }
  /// Return whether the operator divides by its second input, rounded or not.
  bool divides() const {
    return is(Course::Function::kDiv) || is(Course::Function::kFloorDiv);
  }

  const Op* op;
  Course course;
  TensorPtr constant;  ///< the value of a constant operator
  bool pointwise;      ///< each element depends on the inputs' elements at the same index only

  std::vector<DType> read;  ///< the types of the numbers that `number_of` passes to the operator
  DType made = DType::kF32;
  int rank = 0;
  bool wide = false;  ///< compute integers in 64 bits, more than their type has
};

/// Compute one element of an elementwise operator by its `eval`. Nothing for other operators, for
/// NaN, for divisions by 0, and for integers that wrap or that doubles cannot represent.
std::optional<double> number_of(const PositionOp& op, std::span<const double> in);

}  // namespace rill
