#include "ops/nn/byte_lower.h"

#include "kernels/int8/int8.h"
#include "ops/kernel_fields.h"
#include "ops/nn/byte_product_step.h"

namespace rill::ops {
namespace {

bool dense(const Operand& operand, std::span<const int> order) {
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (operand.extent(order[i]) != 1 && operand.step(order[i]) != stride) return false;
    stride *= operand.extent(order[i]);
  }
  return true;
}

}  // namespace

void lower_byte_product(const ByteProduct& p, Lowering& lowering, std::span<const int> order) {
  const Operand y = lowering.make_out(0, order);
  if (y.volume() == 0) return;
  Operand whole = y;  // without what a history leaves between the frames
  if (!dense(y, order)) {
    const std::span<const int64_t> shape(y.shape.data(), static_cast<size_t>(y.rank));
    whole = lowering.scratch(y.dtype, shape, order);
  }
  ByteProductArgs args;
  const kernels::MatmulInt8& kernel = kernels::matmul_int8();
  args.kernel = &kernel;
  args.groups = p.groups;
  args.x = p.x;
  args.x_step = p.group_stride;
  kernels::MatmulInt8Args& g = args.product;
  g.m = p.rows;
  g.n = p.columns;
  g.segments = p.segments;
  g.segment_len = p.segment_len;
  g.segment_stride = p.segment_stride;
  g.lda = p.row_stride;
  g.a_signed = p.x_type == DType::kI8 || p.x_type == DType::kQI8;
  g.b_zero = p.w_zero;
  g.ldc = p.groups * p.columns;
  args.b_step = (kernels::matmul_int8_bytes(kernel, p.k(), p.columns) + 63) / 64 * 64;
  auto [b_ref, b] = lowering.constant<int8_t>(args.b_step * p.groups);
  auto [start_ref, start] = lowering.constant<int32_t>(g.ldc);
  for (int64_t i = 0; i < p.groups; ++i) {
    int8_t* panels = b + i * args.b_step;
    kernels::matmul_int8_pack(kernel, p.k(), p.columns,
                              p.weights.data() + i * p.k() * p.columns, p.columns, 1, panels);
    kernels::matmul_int8_start(kernel, p.k(), p.columns, panels, g.a_signed, p.x_zero, p.w_zero,
                               p.bias.empty() ? nullptr : p.bias.data() + i * p.columns,
                               start + i * p.columns);
  }
  args.b = b_ref;
  args.start = start_ref;
  args.scratch =
      lowering.scratch_bytes(kernels::matmul_int8_scratch_bytes(kernel, p.rows, p.k()) + 64);
  args.y = args.sums = whole.ref;
  if (p.rounding) {
    args.quantise = kernels::quantise();
    args.rounding.rounding = *p.rounding;
    args.rounding.n = y.volume();
    args.rounding.y_bytes = static_cast<int>(dtype_size(y.dtype));
    args.sums = lowering.scratch_bytes(4 * y.volume());
  }
  lowering.step(kByteProduct, args, {args.x, args.b, args.start, args.scratch, args.sums},
                {args.sums, whole});
  if (whole.ref.buffer != y.ref.buffer) lowering.copy(whole, y);
}

}  // namespace rill::ops
