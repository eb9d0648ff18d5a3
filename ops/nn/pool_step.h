#pragma once

#include "kernels/pool/pool.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

/// The axes of the loops around the kernel: entries of the batch, and spatial axes.
constexpr int kPoolLoops = 3;

struct PoolLoop {
  int64_t count = 1;
  int64_t x = 0;
  int64_t y = 0;
};
RILL_STEP_FIELDS(PoolLoop, count, x, y)

struct PoolArgs {
  const kernels::PoolF32* kernel = nullptr;
  bool largest = false;  ///< else the sum
  kernels::PoolF32Args args;
  PoolLoop loops[kPoolLoops];
  Ref x;
  Ref y;
};

RILL_STEP_FIELDS(PoolArgs, kernel, largest, args, loops, x, y)

void run_pool(const PoolArgs& pool, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_pool(const PoolArgs& pool, StepTouches& touches);

inline constexpr auto kPool = step_kind<PoolArgs, run_pool, touch_pool>("pool");

}  // namespace rill::ops
