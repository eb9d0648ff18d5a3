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

void touch_softmax(const SoftmaxStep& step, StepTouches& touches) {
  touches.require(step.run != nullptr, "a kernel");
  touch_nest(step.loops, step.args.rows, touches);
  if (!touches.holds()) return;
  const kernels::SoftmaxF32Args& args = step.args;
  touches.reads(in_nest(step.loops, step.loops.x,
                        region<float>(step.x).over(args.rows, args.x_stride).over(args.n)));
  touches.writes(in_nest(step.loops, step.loops.y,
                         region<float>(step.y).over(args.rows, args.y_stride).over(args.n)));
}

extern const StepKind softmax_kind;
const StepKind softmax_kind = kSoftmax;

}  // namespace rill::ops
