#include "ops/math/formula.h"

#include <algorithm>

#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/math/numpy.h"
#include "ops/math/select.h"

namespace rill::ops {

OutletId Formula::taken(Result<OutletId> found) {
  if (found.ok()) return *found;
  fail_with(std::move(found).take_status());
  return {};
}

void Formula::fail_with(Status status) {
  if (ok()) status_ = std::move(status);
}

OutletId Formula::in(std::string_view name) {
  if (!ok()) return {};
  return taken(ctx_.wire(name));
}

Fact Formula::fact(OutletId x) const { return ok() ? ctx_.fact(x) : Fact(); }

Dim Formula::dim(OutletId x, int axis) const {
  const Fact known = fact(x);
  return axis < known.rank() ? known.dim(axis) : Dim(1);
}

OutletId Formula::add(OpPtr op, std::vector<OutletId> inputs) {
  if (!ok()) return {};
  return taken(ctx_.add1(std::move(op), std::move(inputs), "part"));
}

OutletId Formula::call(std::string_view nnef, std::initializer_list<OnnxCtx::Argument> arguments) {
  if (!ok()) return {};
  return taken(ctx_.call1(nnef, arguments));
}

OutletId Formula::konst(Tensor value) {
  if (!ok()) return {};
  return taken(ctx_.konst(std::move(value), "number"));
}

OutletId Formula::number(double value, OutletId like) {
  if (!ok()) return {};
  auto typed = rill::cast(Tensor::scalar(value), ctx_.fact(like).dtype);
  if (typed.ok()) return konst(std::move(typed).value());
  fail_with(std::move(typed).take_status());
  return {};
}

OutletId Formula::number(const Dim& value, OutletId like) {
  if (!ok()) return {};
  const OutletId size = konst(Tensor::scalar(Dim(value)));
  return cast(size, fact(like).dtype);
}

OutletId Formula::binary(BinaryKind kind, OutletId a, OutletId b) {
  if (!ok()) return {};
  return taken(numpy_binary(ctx_, kind, a, b, "part"));
}

OutletId Formula::unary(UnaryKind kind, OutletId x) {
  return add(std::make_shared<Unary>(kind), {x});
}

OutletId Formula::select(OutletId condition, OutletId x, OutletId y) {
  if (!ok()) return {};
  auto wires = numpy_operands(ctx_, {condition, x, y});
  if (wires.ok()) return add(std::make_shared<Select>(), std::move(wires).value());
  fail_with(std::move(wires).take_status());
  return {};
}

OutletId Formula::cast(OutletId x, DType to) {
  if (!ok() || ctx_.fact(x).dtype == to) return x;
  return add(std::make_shared<Cast>(to), {x});
}

OutletId Formula::reduce(ReduceKind kind, OutletId x, std::vector<int64_t> axes) {
  if (axes.empty()) return x;
  return add(std::make_shared<Reduce>(kind, std::move(axes)), {x});
}

OutletId Formula::mean(OutletId x, const std::vector<int64_t>& axes) {
  Dim count = 1;
  for (const int64_t axis : axes) count *= dim(x, static_cast<int>(axis));
  const OutletId sum = reduce(ReduceKind::kSum, x, axes);
  return over(sum, number(count, sum));
}

OutletId Formula::reshape(OutletId x, std::vector<Dim> shape) {
  const int64_t from = rank(x);
  return add(std::make_shared<Reshape>(0, from, std::move(shape)), {x});
}

OutletId Formula::transpose(OutletId x, std::vector<int64_t> order) {
  return add(std::make_shared<Transpose>(std::move(order)), {x});
}

OutletId Formula::slice(OutletId x, int64_t axis, const Dim& begin, const Dim& end) {
  return add(std::make_shared<Slice>(axis, begin, end), {x});
}

OutletId Formula::concat(std::vector<OutletId> parts, int64_t axis) {
  return add(std::make_shared<Concat>(axis), std::move(parts));
}

OutletId Formula::with_axis(OutletId x, int64_t axis) {
  return add(std::make_shared<AddAxis>(axis), {x});
}

OutletId Formula::without_axis(OutletId x, int64_t axis) {
  return add(std::make_shared<RmAxis>(axis), {x});
}

OutletId Formula::broadcast(OutletId x, std::vector<Dim> shape) {
  return add(std::make_shared<Broadcast>(std::move(shape)), {x});
}

OutletId Formula::matmul(OutletId a, OutletId b, bool transpose_b) {
  const int rank = std::max(this->rank(a), this->rank(b));
  for (OutletId* each : {&a, &b}) {
    while (ok() && this->rank(*each) < rank) *each = with_axis(*each, 0);
  }
  return call("matmul", {{"A", Value(a)}, {"B", Value(b)}, {"transposeB", Value(transpose_b)}});
}

OutletId Formula::range(const Dim& count) {
  const OutletId out = call("tract_core_range", {{"start", Value(Dim(0))},
                                                 {"end", Value(count)},
                                                 {"step", Value(Dim(1))}});
  return cast(out, DType::kI64);
}

Result<Value> Formula::value(OutletId x) const {
  RILL_TRY(status_);
  return Value(x);
}

Result<Value> Formula::values(const std::vector<OutletId>& list) const {
  RILL_TRY(status_);
  return Value::of_wires(list);
}

}  // namespace rill::ops
