#include "kernels/pool/pool.h"

namespace rill::kernels {
namespace {

template <class Step>
float fold(const PoolF32Args& g, int64_t frame, int64_t channel, float start, Step step) {
  float value = start;
  for (int64_t outer = 0; outer < g.taps_outer; ++outer) {
    const float* x = g.x + frame * g.x_frame_stride + outer * g.x_tap_outer_stride + channel;
    for (int64_t tap = 0; tap < g.taps; ++tap) value = step(value, x[tap * g.x_tap_stride]);
  }
  return value;
}

constexpr PoolF32 kKernels[] = {
#define RILL_KERNEL(needs, suffix) \
  {"pool_f32_" #suffix, Tier::needs, pool_max_f32_##suffix, pool_sum_f32_##suffix},
#include "kernels/pool/kernels.inc"
#undef RILL_KERNEL
};

}  // namespace

void pool_max_f32_scalar(const PoolF32Args& args) noexcept {
  const auto larger = [](float best, float x) { return x <= best || best != best ? best : x; };
  for (int64_t frame = 0; frame < args.frames; ++frame) {
    float* y = args.y + frame * args.y_frame_stride;
    for (int64_t c = 0; c < args.channels; ++c) {
      y[c] = fold(args, frame, c, -__builtin_inff(), larger);
    }
  }
}

void pool_sum_f32_scalar(const PoolF32Args& args) noexcept {
  const auto add = [](float sum, float x) { return sum + x; };
  for (int64_t frame = 0; frame < args.frames; ++frame) {
    float* y = args.y + frame * args.y_frame_stride;
    for (int64_t c = 0; c < args.channels; ++c) {
      y[c] = fold(args, frame, c, 0.0f, add) * args.scale;
    }
  }
}

KernelList<PoolF32> kernels_like(const PoolF32*) { return kKernels; }

const PoolF32& pool_f32(Tier cpu) {
  return kernels_like(static_cast<const PoolF32*>(nullptr)).best(cpu);
}

}  // namespace rill::kernels
