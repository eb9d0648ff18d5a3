#include "ops/quant/onnx_bytes.h"

#include <limits>

#include "ops/array/common.h"

namespace rill::ops {
namespace {

struct Limits {
  double low;
  double high;
};

template <class T>
Limits limits_of() {
  return {static_cast<double>(std::numeric_limits<T>::min()),
          static_cast<double>(std::numeric_limits<T>::max())};
}

Result<Limits> limits_of_type(DType type) {
  switch (type) {
    case DType::kU8:
      return limits_of<uint8_t>();
    case DType::kI8:
      return limits_of<int8_t>();
    case DType::kU16:
      return limits_of<uint16_t>();
    case DType::kI16:
      return limits_of<int16_t>();
    default:
      return fail(Code::kUnsupported, "quantised numbers of ", dtype_name(type),
                  ": expected integers of 8 or 16 bits");
  }
}

}  // namespace

Result<OutletId> along(Formula& f, OutletId list, OutletId x, int64_t written_axis) {
  if (!f.ok()) return f.take_status();
  const Fact fact = f.fact(list);
  if (volume(fact.shape) == Dim(1)) return f.reshape(list, {});
  RILL_CHECK(fact.rank() == 1, "scales or zero points ", fact, ": expected one, or a list");
  RILL_ASSIGN(const int64_t axis, axis_in(written_axis, f.rank(x)));
  f.expect_equal(f.dim(x, static_cast<int>(axis)), fact.dim(0));
  for (int64_t i = axis + 1; i < f.rank(x); ++i) list = f.with_axis(list, f.rank(list));
  return list;
}

OutletId over_blocks(Formula& f, OutletId numbers, int axis, int64_t block, const Dim& count) {
  if (!f.ok()) return numbers;
  if (axis < 0) axis += f.rank(numbers);
  std::vector<Dim> shape = f.fact(numbers).shape;
  std::vector<Dim> open = shape;
  open.insert(open.begin() + axis + 1, Dim(block));
  shape[static_cast<size_t>(axis)] *= Dim(block);
  const OutletId all = f.reshape(f.broadcast(f.with_axis(numbers, axis + 1), open), shape);
  return f.slice(all, axis, Dim(0), count);
}

Result<OutletId> rounded(Formula& f, OutletId x, OutletId zero, DType type) {
  RILL_ASSIGN(const Limits limits, limits_of_type(type));
  OutletId out = f.unary(UnaryKind::kRoundEven, x);
  if (zero.valid()) out = f.plus(out, f.cast(zero, f.dtype(out)));
  // Integers have no NaN: it becomes the lowest number.
  out = f.binary(BinaryKind::kMaxNumber, out, f.number(limits.low, out));
  out = f.binary(BinaryKind::kMinNumber, out, f.number(limits.high, out));
  return f.cast(out, type);
}

Result<OutletId> centered(OnnxCtx& ctx, Formula& f, const char* x, const char* zero,
                          int64_t axis, DType wide) {
  const OutletId values = f.arg(x);
  const OutletId out = f.cast(values, wide);
  if (!ctx.given(zero)) return out;
  RILL_ASSIGN(const OutletId point, along(f, f.arg(zero), values, axis));
  return f.minus(out, f.cast(point, wide));
}

Result<OutletId> real(OnnxCtx& ctx, Formula& f, const char* x, const char* scale,
                      const char* point) {
  RILL_ASSIGN(const OutletId steps, centered(ctx, f, x, point, 0, DType::kI32));
  return f.times(f.cast(steps, DType::kF32), f.reshape(f.arg(scale), {}));
}

Result<Value> requantized(Formula& f, OutletId sums, OutletId scale) {
  const OutletId by = f.over(scale, f.cast(f.reshape(f.arg("y_scale"), {}), DType::kF32));
  const OutletId zero = f.reshape(f.arg("y_zero_point"), {});
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const OutletId out,
              rounded(f, f.times(f.cast(sums, DType::kF32), by), zero, f.dtype(zero)));
  return f.value(out);
}

OutletId channels_second(Formula& f, OutletId x) {
  std::vector<int64_t> order = {0, f.rank(x) - 1};
  for (int64_t axis = 1; axis + 1 < f.rank(x); ++axis) order.push_back(axis);
  return f.transpose(x, std::move(order));
}

OutletId channels_last(Formula& f, OutletId x) {
  std::vector<int64_t> order = {0};
  for (int64_t axis = 2; axis < f.rank(x); ++axis) order.push_back(axis);
  order.push_back(1);
  return f.transpose(x, std::move(order));
}

}  // namespace rill::ops
