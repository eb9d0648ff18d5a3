#include "ops/quant/byte_product_step.h"

namespace rill::ops {

void run_byte_product(const ByteProductArgs& args, const Frame& frame) noexcept {
  kernels::MatmulInt8Args g = args.product;
  g.a = frame.ptr<const uint8_t>(args.x);
  g.b = frame.ptr<const int8_t>(args.b);
  g.start = frame.ptr<const int32_t>(args.start);
  g.scratch = frame.ptr<uint8_t>(args.scratch);
  g.c = frame.ptr<int32_t>(args.sums);
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

extern const StepKind byte_product_kind;
const StepKind byte_product_kind = kByteProduct;

}  // namespace rill::ops
