#include "kernels/depthwise/depthwise.h"

#include "kernels/limited.h"
#include "kernels/simd/mul_add.h"

namespace rill::kernels {
namespace {

float window(const DepthwiseF32Args& g, int64_t frame, int64_t channel) {
  float sum = g.bias != nullptr ? g.bias[channel] : 0.0f;
  const int64_t place = frame * g.x_frame_stride + channel;
  int64_t weight = channel;
  for (int64_t outer = 0; outer < g.taps_outer; ++outer) {
    for (int64_t tap = 0; tap < g.taps; ++tap, weight += g.channels) {
      const float x = g.x[place + outer * g.x_tap_outer_stride + tap * g.x_tap_stride];
      sum = mul_add(x, g.w[weight], sum);
    }
  }
  if (g.clip) sum = limited(sum, g.lo, g.hi);
  return sum;
}

constexpr DepthwiseF32 kKernels[] = {
#define RILL_KERNEL(needs, name) {#name, Tier::needs, name},
#include "kernels/depthwise/kernels.inc"
#undef RILL_KERNEL
};

}  // namespace

void depthwise_f32_scalar(const DepthwiseF32Args& args) noexcept {
  for (int64_t frame = 0; frame < args.frames; ++frame) {
    float* y = args.y + frame * args.y_frame_stride;
    for (int64_t c = 0; c < args.channels; ++c) y[c] = window(args, frame, c);
  }
}

KernelList<DepthwiseF32> kernels_like(const DepthwiseF32*) { return kKernels; }

const DepthwiseF32& depthwise_f32(Tier cpu) {
  return kernels_like(static_cast<const DepthwiseF32*>(nullptr)).best(cpu);
}

}  // namespace rill::kernels
