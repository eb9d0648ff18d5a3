#include "ops/math/f16_operands.h"

#include <vector>

#include "ops/array/cast_step.h"

namespace rill::ops {
namespace {

std::span<const int64_t> extents_of(const Operand& operand) {
  return {operand.shape.data(), static_cast<size_t>(operand.rank)};
}

void cast_f16(Lowering& lowering, const Operand& x, const Operand& y) {
  const HalfCastArgs args{&kernels::half_casts(), y.volume(), y.dtype == DType::kF32, x.ref, y.ref};
  lowering.step(kHalfCast, args, {x}, {y});
}

}  // namespace

Operand upcast(Lowering& lowering, const Operand& operand) {
  if (operand.dtype != DType::kF16) return operand;
  const std::vector<int> order = Lowering::physical_order(operand);
  const Operand x = lowering.ordered(operand, order);
  Operand wide = lowering.scratch(DType::kF32, extents_of(x), order);
  cast_f16(lowering, x, wide);
  return wide;
}

Operand in_floats(Lowering& lowering, const Operand& out, std::span<const int> order) {
  if (out.dtype != DType::kF16) return out;
  return lowering.scratch(DType::kF32, extents_of(out), order);
}

void narrow(Lowering& lowering, const Operand& wide, const Operand& out,
            std::span<const int> order) {
  if (out.dtype != DType::kF16) return;
  // The frames of an operand with a history are not contiguous.
  if (!lowering.history(0)) return cast_f16(lowering, wide, out);
  const Operand dense = lowering.scratch(DType::kF16, extents_of(out), order);
  cast_f16(lowering, wide, dense);
  lowering.copy(dense, out);
}

}  // namespace rill::ops
