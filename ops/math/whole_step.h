#pragma once

#include <algorithm>

#include "core/run/frames_so_far.h"
#include "kernels/reduce/reduce.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

// Up to here, elements are reduced in one chain, as in a whole reduction.
constexpr int64_t kReduceChainElements = 8;

struct ReduceStreamArgs {
  kernels::ReduceOp op = kernels::ReduceOp::kSum;
  int64_t delay = 0;
  kernels::ReduceF32Fn run = nullptr;
  PlacedView from;  ///< row-major: the axes that stay, then the reduced ones
  int64_t outputs = 1;
  int64_t frame = 1;  ///< elements of one output in one frame
  int64_t block = 0;  ///< elements that are reduced at a time; 0: one chain
  Ref state;
  Ref to;
  FramesSoFar length;
};

/// Return the bytes of state per output.
inline int64_t bytes_kept(int64_t block) {
  const int64_t floats = std::max(block, kReduceChainElements + 1);
  return (8 + 4 * (block == 0 ? 1 : block + floats) + 7) / 8 * 8;
}

RILL_STEP_FIELDS(ReduceStreamArgs, op, delay, run, from, outputs, frame, block, state, to, length)

void run_reduce_stream(const ReduceStreamArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_reduce_stream(const ReduceStreamArgs& args, StepTouches& touches);

inline constexpr auto kReduceStream =
    step_kind<ReduceStreamArgs, run_reduce_stream, touch_reduce_stream>("reduce_stream");

}  // namespace rill::ops
