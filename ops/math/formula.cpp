#include "ops/math/formula.h"

#include <algorithm>

#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/math/numpy.h"
#include "ops/math/select.h"

namespace rill::ops {

OutletId Formula::taken(Result<OutletId> found) {
  if (found.ok()) return *found;
  fail_with(std::move(found).take_status());
  return {};
}

Dim Formula::dim(OutletId x, int axis) const {
  const Fact& known = fact(x);
  return axis < known.rank() ? known.dim(axis) : Dim(1);
}

OutletId Formula::call(std::string_view nnef, std::initializer_list<OnnxCtx::Argument> arguments) {
  if (!ok()) return {};
  return taken(onnx_.call1(nnef, arguments));
}

OutletId Formula::number(double value, OutletId like) {
  if (!ok()) return {};
  auto made = Tensor::of<double>(DType::kF64, {}, std::span<const double>(&value, 1));
  if (made.ok()) made = rill::cast(*made, fact(like).dtype);
  if (made.ok()) return konst(std::move(made).value());
  fail_with(std::move(made).take_status());
  return {};
}

OutletId Formula::number(const Dim& value, OutletId like) {
  const DType type = fact(like).dtype;
  return cast(konst(Tensor::scalar(Dim(value))), type);
}

OutletId Formula::upcast(OutletId x) {
  if (!ok() || (dtype(x) != DType::kF16 && dtype(x) != DType::kBF16)) return x;
  return cast(x, DType::kF32);
}

OutletId Formula::range(const Dim& count) {
  const OutletId out = call(
      "tract_core_range",
      {{"start", Value(Dim(0))}, {"end", Value(count)}, {"step", Value(Dim(1))}});
  return cast(out, DType::kI64);
}

OutletId Formula::binary(BinaryKind kind, OutletId a, OutletId b) {
  if (!ok()) return {};
  return taken(numpy_binary(onnx_, kind, a, b, Binary(kind).name()));
}

OutletId Formula::select(OutletId condition, OutletId x, OutletId y) {
  if (!ok()) return {};
  auto wires = numpy_operands(onnx_, {condition, x, y});
  if (wires.ok()) return add(make_op<Select>(), std::move(wires).value());
  fail_with(std::move(wires).take_status());
  return {};
}

OutletId Formula::reduce(ReduceKind kind, OutletId x, std::vector<int64_t> axes) {
  if (axes.empty()) return x;
  return add(make_op<Reduce>(kind, std::move(axes)), {x});
}

OutletId Formula::mean(OutletId x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : Wiring::mean(x, axes);
}

OutletId Formula::transpose(OutletId x, std::vector<int64_t> order) {
  return add(make_op<Transpose>(std::move(order)), {x});
}

OutletId Formula::with_axis(OutletId x, int64_t axis) { return add(make_op<AddAxis>(axis), {x}); }

OutletId Formula::without_axis(OutletId x, int64_t axis) { return add(make_op<RmAxis>(axis), {x}); }

OutletId Formula::broadcast(OutletId x, std::vector<Dim> shape) {
  return add(make_op<Broadcast>(std::move(shape)), {x});
}

void Formula::expect_equal(const Dim& a, const Dim& b) {
  if (!ok()) return;
  Status equal = onnx_.expect_equal(a, b);
  if (!equal.ok()) fail_with(std::move(equal));
}

void Formula::expect_within(OutletId small, OutletId x) {
  const int shared = std::min(rank(small), rank(x));
  for (int i = 1; i <= shared; ++i) {
    const Dim extent = dim(small, rank(small) - i);
    if (extent.is_const() && extent != Dim(1)) expect_equal(dim(x, rank(x) - i), extent);
  }
}

OutletId Formula::matmul(OutletId a, OutletId b, bool transpose_b) {
  const bool row = rank(a) == 1, column = rank(b) == 1;
  if (row) a = with_axis(a, 0);
  if (column) b = with_axis(b, transpose_b ? 0 : 1);
  expect_equal(dim(a, rank(a) - 1), dim(b, rank(b) - (transpose_b ? 1 : 2)));
  const int most = std::max(rank(a), rank(b));
  a = leading_axes(a, most);
  b = leading_axes(b, most);
  OutletId out =
      call("matmul", {{"A", Value(a)}, {"B", Value(b)}, {"transposeB", Value(transpose_b)}});
  if (column) out = without_axis(out, most - 1);
  return row ? without_axis(out, most - 2) : out;
}

}  // namespace rill::ops
