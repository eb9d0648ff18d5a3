#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/graph/onnx.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace rill::ops {

/// Adds the nodes of a formula over wires. The first error stays: what follows does nothing and
/// gives invalid wires, so that a formula is written without a test after each of its terms, and
/// `status` or `value` is asked once at its end. Operands are aligned as NumPy does.
class Formula {
 public:
  explicit Formula(OnnxCtx& ctx) : ctx_(ctx) {}

  /// Read an input of the node. Invalid, with an error, if it cannot be read.
  OutletId in(std::string_view name);
  /// The facts of a wire; those of a scalar once there was an error.
  Fact fact(OutletId x) const;
  int rank(OutletId x) const { return fact(x).rank(); }
  Dim dim(OutletId x, int axis) const;

  OutletId add(OpPtr op, std::vector<OutletId> inputs);
  OutletId call(std::string_view nnef, std::initializer_list<OnnxCtx::Argument> arguments);
  OutletId konst(Tensor value);
  /// A number of the type of a wire.
  OutletId number(double value, OutletId like);
  OutletId number(const Dim& value, OutletId like);

  OutletId binary(BinaryKind kind, OutletId a, OutletId b);
  OutletId plus(OutletId a, OutletId b) { return binary(BinaryKind::kAdd, a, b); }
  OutletId minus(OutletId a, OutletId b) { return binary(BinaryKind::kSub, a, b); }
  OutletId times(OutletId a, OutletId b) { return binary(BinaryKind::kMul, a, b); }
  OutletId over(OutletId a, OutletId b) { return binary(BinaryKind::kDiv, a, b); }
  OutletId unary(UnaryKind kind, OutletId x);
  OutletId select(OutletId condition, OutletId x, OutletId y);
  OutletId cast(OutletId x, DType to);

  /// Axes that are reduced stay, with extent 1.
  OutletId reduce(ReduceKind kind, OutletId x, std::vector<int64_t> axes);
  OutletId mean(OutletId x, const std::vector<int64_t>& axes);

  OutletId reshape(OutletId x, std::vector<Dim> shape);
  OutletId transpose(OutletId x, std::vector<int64_t> order);
  OutletId slice(OutletId x, int64_t axis, const Dim& begin, const Dim& end);
  OutletId concat(std::vector<OutletId> parts, int64_t axis);
  OutletId with_axis(OutletId x, int64_t axis);
  OutletId without_axis(OutletId x, int64_t axis);
  OutletId broadcast(OutletId x, std::vector<Dim> shape);
  /// Multiply matrices, the last two axes of either.
  OutletId matmul(OutletId a, OutletId b, bool transpose_b = false);
  /// 0, 1, ... of i64, up to an extent that may be symbolic.
  OutletId range(const Dim& count);

  /// Note an error.
  void fail_with(Status status);
  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  /// The wire as the output of the node, or the error.
  Result<Value> value(OutletId x) const;
  Result<Value> values(const std::vector<OutletId>& list) const;

 private:
  OutletId taken(Result<OutletId> found);

  OnnxCtx& ctx_;
  Status status_;
};

}  // namespace rill::ops
