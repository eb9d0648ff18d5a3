#include "ops/math/wiring.h"

#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/math/reduce.h"
#include "ops/math/select.h"

namespace rill::ops {

void Wiring::fail_with(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

const Fact& Wiring::fact(OutletId wire) const {
  return status_.ok() && wire.valid() ? ctx_.fact(wire) : nothing_;
}

OutletId Wiring::arg(const char* name) {
  if (!ok()) return {};
  auto wire = plain_wire(ctx_, name);
  if (wire.ok()) return *wire;
  fail_with(wire.take_status());
  return {};
}

OutletId Wiring::optional_arg(const char* name) {
  if (!ok() || !ctx_.given(name)) return {};
  auto value = ctx_.value(name);
  if (!value.ok()) {
    fail_with(value.take_status());
    return {};
  }
  const bool* left_out = value->get<bool>();
  return left_out && !*left_out ? OutletId{} : arg(name);
}

OutletId Wiring::konst(Tensor value) {
  if (!ok()) return {};
  auto wire = ctx_.konst(std::move(value), str_cat("value", count_++));
  if (wire.ok()) return *wire;
  fail_with(wire.take_status());
  return {};
}

OutletId Wiring::number(float value) { return konst(Tensor::scalar(value)); }

OutletId Wiring::add(OpPtr op, WireList inputs) {
  if (!ok()) return {};
  const std::string suffix = str_cat(op->name(), count_++);
  auto wire = ctx_.add1(std::move(op), inputs, suffix);
  if (wire.ok()) return *wire;
  fail_with(wire.take_status());
  return {};
}

OutletId Wiring::unary(UnaryKind kind, OutletId x) { return add(make_op<Unary>(kind), {x}); }

OutletId Wiring::binary(BinaryKind kind, OutletId a, OutletId b) {
  if (!ok()) return {};
  const std::string suffix = str_cat(Binary(kind).name(), count_++);
  auto wire = load_binary(ctx_, kind, a, b, suffix);
  if (wire.ok()) return *wire;
  fail_with(wire.take_status());
  return {};
}

OutletId Wiring::cast(OutletId x, DType to, QParams q) {
  if (!ok()) return {};
  auto wire = cast_to(ctx_, x, to, q);
  if (wire.ok()) return *wire;
  fail_with(wire.take_status());
  return {};
}

OutletId Wiring::sum(OutletId x, std::vector<int64_t> axes) {
  return add(make_op<Reduce>(ReduceKind::kSum, std::move(axes)), {x});
}

OutletId Wiring::mean(OutletId x, std::vector<int64_t> axes) {
  if (!ok()) return {};
  Dim count = 1;
  for (const int64_t axis : axes) count *= fact(x).dim(static_cast<int>(axis));
  const OutletId total = sum(x, std::move(axes));
  if (!ok()) return {};
  auto mean = load_mean(ctx_, total, count, str_cat("mean", count_++));
  if (mean.ok()) return *mean;
  fail_with(mean.take_status());
  return {};
}

OutletId Wiring::slice(OutletId x, int axis, const Dim& begin, const Dim& end) {
  return add(make_op<Slice>(axis, begin, end), {x});
}

OutletId Wiring::concat(WireList parts, int axis) { return add(make_op<Concat>(axis), parts); }

OutletId Wiring::leading_axes(OutletId x, int least_rank) {
  while (ok() && rank(x) < least_rank) x = add(make_op<AddAxis>(0), {x});
  return x;
}

OutletId Wiring::reshape(OutletId x, std::vector<Dim> shape) {
  return add(make_op<Reshape>(0, rank(x), std::move(shape)), {x});
}

OutletId Wiring::select(OutletId condition, OutletId then, OutletId otherwise) {
  if (!ok()) return {};
  auto aligned = align_ranks(ctx_, {condition, then, otherwise});
  if (!aligned.ok()) {
    fail_with(aligned.take_status());
    return {};
  }
  return add(make_op<Select>(), *aligned);
}

Result<Value> Wiring::done(OutletId out) {
  if (!ok()) return std::move(status_);
  return as_value(out);
}

Result<Value> Wiring::done(std::span<const OutletId> outs) {
  if (!ok()) return std::move(status_);
  return Value::of_wires(outs);
}

}  // namespace rill::ops
