#include "ops/nn/pool_step.h"

namespace rill::ops {

using kernels::PoolF32Args;

void run_pool(const PoolArgs& pool, const Frame& frame) noexcept {
  PoolF32Args args = pool.args;
  const auto run = pool.largest ? pool.kernel->max : pool.kernel->sum;
  const auto* x = frame.ptr<const float>(pool.x);
  auto* y = frame.ptr<float>(pool.y);
  const auto& [lanes, slices, rows] = pool.loops;
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    for (int64_t slice = 0; slice < slices.count; ++slice) {
      for (int64_t row = 0; row < rows.count; ++row) {
        args.x = x + lane * lanes.x + slice * slices.x + row * rows.x;
        args.y = y + lane * lanes.y + slice * slices.y + row * rows.y;
        run(args);
      }
    }
  }
}

void touch_pool(const PoolArgs& pool, StepTouches& touches) {
  touches.require(pool.kernel != nullptr, "a kernel");
  const PoolF32Args& args = pool.args;
  Region x = region<float>(pool.x)
                 .over(args.frames, args.x_frame_stride)
                 .over(args.taps_outer, args.x_tap_outer_stride)
                 .over(args.taps, args.x_tap_stride)
                 .over(args.channels);
  Region y = region<float>(pool.y).over(args.frames, args.y_frame_stride).over(args.channels);
  for (const PoolLoop& loop : pool.loops) {
    x = x.over(loop.count, loop.x);
    y = y.over(loop.count, loop.y);
  }
  touches.reads(x);
  touches.writes(y);
}

extern const StepKind pool_kind;
const StepKind pool_kind = kPool;

}  // namespace rill::ops
