#include "ops/nn/byte_product_step.h"

namespace rill::ops {

namespace {

const int32_t* move_start(const ByteProductArgs& args, const Frame& frame) noexcept {
  const auto zero = static_cast<uint32_t>(*frame.ptr<const int32_t>(args.zero));
  const auto* start = frame.ptr<const int32_t>(args.start);
  const auto* per_zero = frame.ptr<const int32_t>(args.per_zero);
  auto* moved = frame.ptr<int32_t>(args.moved);
  for (int64_t i = 0; i < args.groups * args.product.n; ++i) {
    moved[i] = static_cast<int32_t>(static_cast<uint32_t>(start[i]) +
                                    zero * static_cast<uint32_t>(per_zero[i]));
  }
  return moved;
}

}  // namespace

void run_byte_product(const ByteProductArgs& args, const Frame& frame) noexcept {
  kernels::MatmulInt8Args g = args.product;
  g.a = frame.ptr<const uint8_t>(args.x);
  g.b = frame.ptr<const int8_t>(args.b);
  g.start = frame.ptr<const int32_t>(args.start);
  g.scratch = frame.ptr<uint8_t>(args.scratch);
  g.c = frame.ptr<int32_t>(args.sums);
  if (args.moves) g.start = move_start(args, frame);
  for (int64_t i = 0; i < args.groups; ++i) {
    args.kernel->run(g);
    g.a += args.x_step;
    g.b += args.b_step;
    g.start += g.n;
    g.c += g.n;
  }
  if (args.quantise == nullptr) return;
  kernels::QuantiseArgs rounding = args.rounding;
  rounding.integers = frame.ptr<const int32_t>(args.sums);
  rounding.y = frame.ptr<void>(args.y);
  args.quantise(rounding);
}

void touch_byte_product(const ByteProductArgs& args, StepTouches& touches) {
  const kernels::MatmulInt8Args& g = args.product;
  touches.require(args.kernel != nullptr, "a kernel");
  for (const int64_t count : {g.m, g.n, g.segments, g.segment_len, args.groups}) {
    touches.within(count, 0, kMostCounted);
  }
  const int64_t k = touches.holds() ? g.segments * g.segment_len : 0;
  touches.within(k, 0, kMostCounted);
  touches.within(g.run, 0, g.m);
  touches.require(g.run == 0 || (touches.holds() && g.m % g.run == 0), "whole runs of rows");
  touches.require(args.b_step % 64 == 0 || args.groups <= 1, "weights that are aligned");
  if (!touches.holds()) return;
  touches.works({g.m, g.n, k, args.groups});
  touches.reads(region<uint8_t>(args.x)
                    .over(g.run > 0 ? g.run : g.m, g.lda)
                    .over(g.run > 0 ? g.m / g.run : 1, g.run_stride)
                    .over(g.segments, g.segment_stride)
                    .over(g.segment_len)
                    .over(args.groups, args.x_step));
  touches.reads(region<std::byte>(args.b)
                    .over(kernels::matmul_int8_bytes(*args.kernel, k, g.n))
                    .over(args.groups, args.b_step)
                    .aligned(64));
  touches.reads(region<int32_t>(args.start).over(args.groups, g.n).over(g.n));
  if (args.moves) {
    touches.reads(region<int32_t>(args.zero).over(1));
    touches.reads(region<int32_t>(args.per_zero).over(args.groups, g.n).over(g.n));
    touches.writes(region<int32_t>(args.moved).over(args.groups, g.n).over(g.n));
  }
  const int64_t scratch = kernels::matmul_int8_scratch_bytes(*args.kernel, g.m, k);
  touches.writes(region<std::byte>(args.scratch).over(scratch).aligned(64));
  touches.writes(region<int32_t>(args.sums).over(g.m, g.ldc).over(g.n).over(args.groups, g.n));
  if (args.quantise == nullptr) return;
  const kernels::QuantiseArgs& rounding = args.rounding;
  touches.require(rounding.has_size(), "whole numbers");
  if (!touches.holds()) return;
  touches.reads(region<int32_t>(args.sums).over(rounding.n));
  touches.writes(region<std::byte>(args.y)
                     .over(rounding.n, rounding.y_bytes)
                     .over(rounding.y_bytes)
                     .aligned(rounding.y_bytes));
}

extern const StepKind byte_product_kind;
const StepKind byte_product_kind = kByteProduct;

}  // namespace rill::ops
