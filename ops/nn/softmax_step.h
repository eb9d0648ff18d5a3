#pragma once

#include "ops/kernel_fields.h"
#include "ops/math/nest.h"

namespace rill::ops {

struct SoftmaxStep {
  kernels::SoftmaxF32Fn run;
  kernels::SoftmaxF32Args args;
  Nest loops;  ///< around the rows
  Ref x;
  Ref y;
};

RILL_STEP_FIELDS(SoftmaxStep, run, args, loops, x, y)

void run_softmax(const SoftmaxStep& step, const Frame& frame,
              const Share& share) noexcept RILL_NONBLOCKING;
void touch_softmax(const SoftmaxStep& step, StepTouches& touches);

inline constexpr auto kSoftmax = step_kind<SoftmaxStep, run_softmax, touch_softmax>("softmax");

}  // namespace rill::ops
