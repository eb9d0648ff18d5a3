#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/graph/nnef.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace rill::ops {

/// Adds the nodes of an operator that loads as several nodes. The first failure sticks: later calls
/// do nothing, and `done` returns it.
class Wiring {
 public:
  explicit Wiring(LoadCtx& ctx) : ctx_(ctx) {}

  bool ok() const { return status_.ok(); }
  Status take_status() { return std::move(status_); }
  /// Record a failure; the first one counts.
  void fail_with(Status status);
  LoadCtx& ctx() { return ctx_; }
  /// Return the fact of a wire; a default one (f32, rank 0) if the wire is invalid or something
  /// failed.
  const Fact& fact(OutletId wire) const;
  DType dtype(OutletId wire) const { return fact(wire).dtype; }
  int rank(OutletId wire) const { return fact(wire).rank(); }

  /// Read an argument of the call; block-quantised constants are dequantised.
  OutletId arg(const char* name);
  /// Read an optional argument. Return an invalid outlet if the call omits it or gives `false`.
  OutletId optional_arg(const char* name);
  OutletId number(float value);
  OutletId konst(Tensor value);
  OutletId add(OpPtr op, WireList inputs);
  /// Add an elementwise node with one input.
  OutletId unary(UnaryKind kind, OutletId x);
  /// Combine two wires elementwise: promote the types, and append unit axes to the one of lower
  /// rank.
  OutletId binary(BinaryKind kind, OutletId a, OutletId b);
  OutletId plus(OutletId a, OutletId b) { return binary(BinaryKind::kAdd, a, b); }
  OutletId minus(OutletId a, OutletId b) { return binary(BinaryKind::kSub, a, b); }
  OutletId times(OutletId a, OutletId b) { return binary(BinaryKind::kMul, a, b); }
  OutletId cast(OutletId x, DType to, QParams q = {});
  /// Sum over axes; each stays, with extent 1.
  OutletId sum(OutletId x, std::vector<int64_t> axes);
  OutletId mean(OutletId x, std::vector<int64_t> axes);
  OutletId slice(OutletId x, int axis, const Dim& begin, const Dim& end);
  OutletId concat(WireList parts, int axis);
  /// Prepend unit axes up to the given rank.
  OutletId leading_axes(OutletId x, int rank);
  OutletId reshape(OutletId x, std::vector<Dim> shape);
  OutletId select(OutletId condition, OutletId then, OutletId otherwise);

  /// Return the result, or the first failure.
  Result<Value> done(OutletId out);
  Result<Value> done(std::span<const OutletId> outs);

 private:
  LoadCtx& ctx_;
  Status status_;
  Fact nothing_;
  int count_ = 0;
};

}  // namespace rill::ops
