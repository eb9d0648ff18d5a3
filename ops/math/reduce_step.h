#pragma once

#include "kernels/reduce/reduce.h"
#include "ops/kernel_fields.h"
#include "ops/math/nest.h"

namespace rill::ops {

struct ReduceStep {
  kernels::ReduceF32Fn run;
  kernels::ReduceF32Args args;
  Nest loops;           ///< loops around those of the kernel
  bool chains = false;  ///< reduce contiguous elements in ascending order, where the kernel would
                        ///< use lanes
  Ref x;
  Ref y;
};

RILL_STEP_FIELDS(ReduceStep, run, args, loops, chains, x, y)

void run_reduce_step(const ReduceStep& step, const Frame& frame,
                     const Share& share) noexcept RILL_NONBLOCKING;
void touch_reduce(const ReduceStep& step, StepTouches& touches);

inline constexpr auto kReduce = step_kind<ReduceStep, run_reduce_step, touch_reduce>("reduce");

}  // namespace rill::ops
