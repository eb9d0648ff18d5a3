#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/graph/onnx.h"
#include "ops/math/reduce.h"
#include "ops/math/wiring.h"

namespace rill::ops {

/// Wiring for operators of ONNX. Operands are aligned as in NumPy, with unit axes prepended to the
/// one of lower rank. Numbers take the type of the other operand.
class Formula : public Wiring {
 public:
  explicit Formula(OnnxCtx& ctx) : Wiring(ctx), onnx_(ctx) {}

  /// Return an extent; 1 once something has failed.
  Dim dim(OutletId x, int axis) const;
  OutletId call(std::string_view nnef, std::initializer_list<OnnxCtx::Argument> arguments);
  /// Return a constant with the type of the wire `like`.
  OutletId number(double value, OutletId like);
  OutletId number(const Dim& value, OutletId like);
  /// Cast f16 and bf16 wires to f32, because their sums and squares may overflow.
  OutletId upcast(OutletId x);
  /// Return the i64 numbers 0, 1, ..., count - 1; `count` may be symbolic.
  OutletId range(const Dim& count);

  OutletId binary(BinaryKind kind, OutletId a, OutletId b);
  OutletId plus(OutletId a, OutletId b) { return binary(BinaryKind::kAdd, a, b); }
  OutletId minus(OutletId a, OutletId b) { return binary(BinaryKind::kSub, a, b); }
  OutletId times(OutletId a, OutletId b) { return binary(BinaryKind::kMul, a, b); }
  OutletId over(OutletId a, OutletId b) { return binary(BinaryKind::kDiv, a, b); }
  OutletId select(OutletId condition, OutletId x, OutletId y);

  /// Reduce axes to extent 1. Without axes, return the input.
  OutletId reduce(ReduceKind kind, OutletId x, std::vector<int64_t> axes);
  OutletId mean(OutletId x, const std::vector<int64_t>& axes);
  OutletId transpose(OutletId x, std::vector<int64_t> order);
  OutletId with_axis(OutletId x, int64_t axis);
  OutletId without_axis(OutletId x, int64_t axis);
  OutletId broadcast(OutletId x, std::vector<Dim> shape);
  /// Require two extents to be equal, even if they are symbolic.
  void expect_equal(const Dim& a, const Dim& b);
  /// Require the known extents of a factor or summand to be those of x, aligned at the last axis,
  /// or 1.
  void expect_within(OutletId small, OutletId x);
  /// Multiply matrices, which lie in the last two axes of a and b. A vector is a row on the left
  /// and a column on the right; the axis that this adds is removed from the result.
  OutletId matmul(OutletId a, OutletId b, bool transpose_b = false);

  /// Return the wire as the output of the node, or the first failure.
  Result<Value> value(OutletId x) { return done(x); }
  Result<Value> values(const std::vector<OutletId>& list) { return done(list); }

 private:
  OutletId taken(Result<OutletId> found);

  OnnxCtx& onnx_;
};

}  // namespace rill::ops
