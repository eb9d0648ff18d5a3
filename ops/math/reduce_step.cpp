#include "ops/math/reduce_step.h"

#include <limits>

namespace rill::ops {

using kernels::ReduceF32Args;
using kernels::ReduceOp;

namespace {

void run_kernel(const ReduceStep& step, const Frame& frame,
                const Share& share) noexcept RILL_NONBLOCKING {
  const float* x = frame.ptr<float>(step.x);
  float* y = frame.ptr<float>(step.y);
  const auto run = [&](int64_t x_at, int64_t y_at, int64_t first, int64_t count) {
    ReduceF32Args args = step.args;
    args.outer = count;
    args.x = x + x_at + first * args.x_outer;
    args.y = y + y_at + first * args.y_outer;
    step.run(args);
  };
  step.loops.walk(share, step.args.outer, run);
}

template <ReduceOp kOp>
float joined(float acc, float x) {
  if constexpr (kOp == ReduceOp::kSum) return acc + x;
  if constexpr (kOp == ReduceOp::kProd) return acc * x;
  if constexpr (kOp == ReduceOp::kMax) return kernels::larger_of(acc, x);
  return kernels::smaller_of(acc, x);
}

template <ReduceOp kOp>
float start_of() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (kOp == ReduceOp::kSum) return 0.0F;
  if (kOp == ReduceOp::kProd) return 1.0F;
  return kOp == ReduceOp::kMax ? -kInfinity : kInfinity;
}

/// Reduce contiguous elements in ascending order; the kernel would use lanes.
template <ReduceOp kOp>
void run_chains(const ReduceStep& step, const Frame& frame,
                const Share& share) noexcept RILL_NONBLOCKING {
  const float* x = frame.ptr<float>(step.x);
  float* y = frame.ptr<float>(step.y);
  const ReduceF32Args& args = step.args;
  const auto run = [&](int64_t x_at, int64_t y_at, int64_t first, int64_t count) {
    const float* from = x + x_at + first * args.x_outer;
    float* to = y + y_at + first * args.y_outer;
    if (args.reduced == 2 && args.x_reduced == 1 && args.x_outer == 2 && args.y_outer == 1) {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = joined<kOp>(joined<kOp>(start_of<kOp>(), from[2 * i]), from[2 * i + 1]);
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i, from += args.x_outer, to += args.y_outer) {
      float acc = start_of<kOp>();
      for (int64_t k = 0; k < args.reduced; ++k) acc = joined<kOp>(acc, from[k * args.x_reduced]);
      *to = acc;
    }
  };
  step.loops.walk(share, args.outer, run);
}

}  // namespace

void run_reduce_step(const ReduceStep& step, const Frame& frame, const Share& share) noexcept {
  if (!step.chains) return run_kernel(step, frame, share);
  switch (step.args.op) {
    case ReduceOp::kSum:
      return run_chains<ReduceOp::kSum>(step, frame, share);
    case ReduceOp::kProd:
      return run_chains<ReduceOp::kProd>(step, frame, share);
    case ReduceOp::kMax:
      return run_chains<ReduceOp::kMax>(step, frame, share);
    default:
      return run_chains<ReduceOp::kMin>(step, frame, share);
  }
}

void touch_reduce(const ReduceStep& step, StepTouches& touches) {
  touches.require(step.run != nullptr && step.args.op <= ReduceOp::kSumSquares,
                  "a kernel");
  touch_nest(step.loops, step.args.outer, touches);
  if (!touches.holds()) return;
  const ReduceF32Args& args = step.args;
  const int64_t inner = step.chains ? 1 : args.inner;
  const Region x = region<float>(step.x).over(args.outer, args.x_outer);
  const Region y = region<float>(step.y).over(args.outer, args.y_outer).over(inner, args.y_inner);
  touches.reads(in_nest(step.loops, step.loops.x,
                        x.over(args.reduced, args.x_reduced).over(inner, args.x_inner)));
  touches.writes(in_nest(step.loops, step.loops.y, y));
}

extern const StepKind reduce_kind;
const StepKind reduce_kind = kReduce;

}  // namespace rill::ops
