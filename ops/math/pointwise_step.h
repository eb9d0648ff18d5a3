#pragma once

#include "kernels/pointwise/pointwise.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

constexpr int kPointwiseOperands = kernels::kPointwiseMaxInputs + 1;  // the output is the last one

/// A pointwise call, with loops around it for the axes beyond those of the kernel.
struct PointwiseLoops {
  int outer = 0;
  int64_t extent[kMaxRank] = {};
  int64_t stride[kMaxRank][kPointwiseOperands] = {};
  kernels::PointwiseArgs args;
};
RILL_STEP_FIELDS(PointwiseLoops, outer, extent, stride, args)

/// How threads share a call: as slices of one of its axes.
struct PointwiseSlices {
  int axis = kernels::kPointwiseAxes - 1;
  int64_t extent = 1;  ///< of a slice
  int64_t count = 1;
};

RILL_STEP_FIELDS(PointwiseSlices, axis, extent, count)

struct PointwiseStep {
  kernels::PointwiseFn run;
  PointwiseLoops loops;
  PointwiseSlices slices;
  Ref in[kernels::kPointwiseMaxInputs];
  Ref out;
};

RILL_STEP_FIELDS(PointwiseStep, run, loops, slices, in, out)

/// Call the kernel in all iterations of loop `axis` and the loops inside it; `args` holds the
/// operands.
void run_pointwise_loops(const PointwiseLoops& loops, int axis, kernels::PointwiseArgs* args,
                         kernels::PointwiseFn run, float* scratch) noexcept RILL_NONBLOCKING;

void run_pointwise_step(const PointwiseStep& step, const Frame& frame,
                        const Share& share) noexcept RILL_NONBLOCKING;
/// Run one operation over short rows of several streams as one call. Return false, and do nothing,
/// if the rows do not qualify.
bool run_pointwise_steps(const PointwiseStep& step,
                         std::span<const Frame> frames) noexcept RILL_NONBLOCKING;
void touch_pointwise(const PointwiseStep& step, StepTouches& touches);

inline constexpr auto kPointwise =
    step_kind<PointwiseStep, run_pointwise_step, touch_pointwise, run_pointwise_steps>(
        "pointwise");

}  // namespace rill::ops
