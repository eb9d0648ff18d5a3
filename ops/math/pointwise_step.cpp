#include "ops/math/pointwise_step.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rill::ops {

using kernels::PointwiseArgs;

void run_pointwise_loops(const PointwiseLoops& loops, int axis, PointwiseArgs* args,
                         kernels::PointwiseFn run, float* scratch) noexcept {
  if (axis == loops.outer) return run(*args, scratch);
  const int64_t* stride = loops.stride[axis];
  for (int64_t i = 0; i < loops.extent[axis]; ++i) {
    run_pointwise_loops(loops, axis + 1, args, run, scratch);
    for (int k = 0; k < args->inputs; ++k) args->in[k].ptr += stride[k];
    args->out += stride[kPointwiseOperands - 1];
  }
  const int64_t back = loops.extent[axis];
  for (int k = 0; k < args->inputs; ++k) args->in[k].ptr -= back * stride[k];
  args->out -= back * stride[kPointwiseOperands - 1];
}

namespace {

/// Copies what a call needs of the arguments, which are as long as the longest program.
void copy_args(const PointwiseArgs& from, PointwiseArgs* to) noexcept {
  std::memcpy(static_cast<void*>(to), &from, offsetof(PointwiseArgs, code));
  std::copy(from.code, from.code + from.code_len, to->code);
}

}  // namespace

void run_pointwise_step(const PointwiseStep& step, const Frame& frame,
              const Share& share) noexcept {
  PointwiseArgs args;
  copy_args(step.loops.args, &args);
  const int axis = step.slices.axis;
  const int64_t first = share.begin * step.slices.extent;
  args.extent[axis] = std::min(args.extent[axis], share.end * step.slices.extent) - first;
  for (int k = 0; k < args.inputs; ++k) {
    args.in[k].ptr = frame.ptr<float>(step.in[k]) + first * args.in[k].stride[axis];
  }
  args.out = frame.ptr<float>(step.out) + first * args.out_stride[axis];
  run_pointwise_loops(step.loops, 0, &args, step.run, reinterpret_cast<float*>(share.scratch));
}

extern const StepKind pointwise_kind;
const StepKind pointwise_kind = kPointwise;

}  // namespace rill::ops
