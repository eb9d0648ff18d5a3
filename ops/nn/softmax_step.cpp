#include "ops/nn/softmax_step.h"

namespace rill::ops {

void run_softmax(const SoftmaxStep& step, const Frame& frame,
              const Share& share) noexcept {
  const float* x = frame.ptr<float>(step.x);
  float* y = frame.ptr<float>(step.y);
  const auto run = [&](int64_t x_at, int64_t y_at, int64_t first, int64_t rows) {
    kernels::SoftmaxF32Args args = step.args;
    args.rows = rows;
    args.x = x + x_at + first * args.x_stride;
    args.y = y + y_at + first * args.y_stride;
    step.run(args);
  };
  step.loops.walk(share, step.args.rows, run);
}

extern const StepKind softmax_kind;
const StepKind softmax_kind = kSoftmax;

}  // namespace rill::ops
