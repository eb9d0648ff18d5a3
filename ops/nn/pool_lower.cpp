#include "ops/nn/pool_lower.h"

#include "ops/kernel_fields.h"

namespace rill::ops {
namespace {

using kernels::PoolF32Args;

/// Axes around those that the kernel goes along: entries of the batch, and spatial ones.
constexpr int kLoops = 3;

struct PoolLoop {
  int64_t count = 1;
  int64_t x = 0;
  int64_t y = 0;
};
RILL_STEP_FIELDS(PoolLoop, count, x, y)

struct PoolArgs {
  const kernels::PoolF32* kernel = nullptr;
  bool largest = false;  ///< else the sum
  PoolF32Args args;
  PoolLoop loops[kLoops];
  Ref x;
  Ref y;
};

RILL_STEP_FIELDS(PoolArgs, kernel, largest, args, loops, x, y)

void run_pool(const PoolArgs& pool, const Frame& frame) noexcept RILL_NONBLOCKING {
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

constexpr auto kPool = step_kind<PoolArgs, run_pool, touch_pool>("pool");

}  // namespace

extern const StepKind pool_kind;
const StepKind pool_kind = kPool;

bool lower_pool_f32(Lowering& lowering, const Window& window, float border, float scale,
                    bool largest) {
  const int spatial = window.axes();
  std::vector<int> reached;  // the axes that windows reach along
  for (int i = 0; i < spatial; ++i) {
    if (window.kernel[static_cast<size_t>(i)] != 1) reached.push_back(i);
  }
  if (spatial > kLoops || reached.size() > 2) return false;
  const Operand x = padded_rows(lowering, lowering.in(0), window, border);
  const Operand y = lowering.make_out(0, channels_last(x.rank));
  if (y.volume() == 0) return true;
  const auto tap_stride = [&](int i) {
    return window.dilation[static_cast<size_t>(i)] * x.step(i + 2);
  };
  const auto frame_stride = [&](int i) {
    return window.stride[static_cast<size_t>(i)] * x.step(i + 2);
  };
  const int inner = spatial - 1;
  PoolArgs args;
  args.kernel = &kernels::pool_f32(kernels::active_tier());
  args.largest = largest;
  args.x = x.ref;
  args.y = y.ref;
  PoolF32Args& k = args.args;
  k.channels = y.extent(1);
  k.frames = y.extent(inner + 2);
  k.taps = reached.empty() ? 1 : window.kernel[static_cast<size_t>(reached.back())];
  k.x_tap_stride = reached.empty() ? 0 : tap_stride(reached.back());
  k.x_frame_stride = frame_stride(inner);
  k.y_frame_stride = y.step(inner + 2);
  k.scale = scale;
  if (reached.size() == 2) {
    k.taps_outer = window.kernel[static_cast<size_t>(reached[0])];
    k.x_tap_outer_stride = tap_stride(reached[0]);
  }
  args.loops[0] = {y.extent(0), x.step(0), y.step(0)};
  for (int i = 0; i < inner; ++i) {
    args.loops[kLoops - inner + i] = {y.extent(i + 2), frame_stride(i), y.step(i + 2)};
  }
  lowering.step(kPool, args, {x}, {y});
  return true;
}

}  // namespace rill::ops
