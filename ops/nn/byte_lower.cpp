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
  Operand whole = y;  // without the gaps that a history leaves between the frames
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
  g.run = p.run;
  g.run_stride = p.run_stride;
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
  std::vector<Touched> reads = {args.x, args.b, args.start};
  if (p.zero) {
    auto [per_zero_ref, per_zero] = lowering.constant<int32_t>(g.ldc);
    for (int64_t i = 0; i < p.groups; ++i) {
      const int64_t at = i * p.columns;
      kernels::matmul_int8_start(kernel, p.k(), p.columns, b + i * args.b_step, g.a_signed,
                                 p.x_zero + 1, p.w_zero,
                                 p.bias.empty() ? nullptr : p.bias.data() + at, per_zero + at);
    }
    for (int64_t i = 0; i < g.ldc; ++i) {
      per_zero[i] = static_cast<int32_t>(static_cast<uint32_t>(per_zero[i]) -
                                         static_cast<uint32_t>(start[i]));
    }
    args.moves = true;
    args.zero = *p.zero;
    args.per_zero = per_zero_ref;
    args.moved = lowering.scratch_bytes(4 * g.ldc);
    reads.insert(reads.end(), {args.zero, args.per_zero});
  }
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
  reads.insert(reads.end(), {args.scratch, args.sums});
  std::vector<Touched> writes = {args.sums, whole};
  if (args.moves) writes.emplace_back(args.moved);
  lowering.step(kByteProduct, args, reads, writes);
  if (whole.ref.buffer != y.ref.buffer) lowering.copy(whole, y);
}

}  // namespace rill::ops
