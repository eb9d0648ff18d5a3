#include "ops/nn/pool_lower.h"

namespace rill::ops {
namespace {

using kernels::PoolF32Args;

struct PoolArgs {
  void (*run)(const PoolF32Args&) noexcept RILL_NONBLOCKING = nullptr;
  PoolF32Args kernel;
  int64_t lanes = 1;
  int64_t lane_x = 0;
  int64_t lane_y = 0;
  int64_t rows = 1;
  int64_t row_x = 0;
  int64_t row_y = 0;
  Ref x;
  Ref y;
};

void run_pool(const PoolArgs& pool, const Frame& frame) noexcept RILL_NONBLOCKING {
  PoolF32Args args = pool.kernel;
  const auto* x = frame.ptr<const float>(pool.x);
  auto* y = frame.ptr<float>(pool.y);
  for (int64_t lane = 0; lane < pool.lanes; ++lane) {
    for (int64_t row = 0; row < pool.rows; ++row) {
      args.x = x + lane * pool.lane_x + row * pool.row_x;
      args.y = y + lane * pool.lane_y + row * pool.row_y;
      pool.run(args);
    }
  }
}

}  // namespace

bool lower_pool_f32(Lowering& lowering, const Window& window, float border, float scale,
                    void (*run)(const PoolF32Args&) noexcept RILL_NONBLOCKING) {
  const int spatial = window.axes();
  if (spatial > 2) return false;
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
  args.run = run;
  args.x = x.ref;
  args.y = y.ref;
  PoolF32Args& k = args.kernel;
  k.channels = y.extent(1);
  k.frames = y.extent(inner + 2);
  k.taps = window.kernel[static_cast<size_t>(inner)];
  k.x_frame_stride = frame_stride(inner);
  k.x_tap_stride = tap_stride(inner);
  k.y_frame_stride = y.step(inner + 2);
  k.scale = scale;
  args.lanes = y.extent(0);
  args.lane_x = x.step(0);
  args.lane_y = y.step(0);
  if (spatial == 2) {
    k.taps_outer = window.kernel[0];
    k.x_tap_outer_stride = tap_stride(0);
    args.rows = y.extent(2);
    args.row_x = frame_stride(0);
    args.row_y = y.step(2);
  }
  lowering.step(run_pool, args, {x.ref}, {y.ref});
  return true;
}

}  // namespace rill::ops
