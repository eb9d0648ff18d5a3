#pragma once

#include "kernels/depthwise/depthwise_args.h"
#include "kernels/pool/windows_impl.h"

namespace rill::kernels {
namespace {

struct DepthwiseBody {
  template <class Arch, int kFrames, int kVecs, bool kPartial>
  static RILL_INLINE void tile(const DepthwiseF32Args& g, int64_t frame, int64_t channel) {
    using S = Ops<Arch>;
    using V = Lanes<Arch>;
    const int64_t count = g.channels - channel;
    V acc[kFrames][kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      V start(0.0f);
      if (g.bias != nullptr) {
        start = load_lanes<Arch, kPartial>(g.bias + channel + v * S::kLanes, count);
      }
#pragma GCC unroll 8
      for (int f = 0; f < kFrames; ++f) acc[f][v] = start;
    }
    const float* w = g.w + channel;
    const float* x_outer = g.x + frame * g.x_frame_stride + channel;
    for (int64_t outer = 0; outer < g.taps_outer; ++outer, x_outer += g.x_tap_outer_stride) {
      const float* x = x_outer;
      for (int64_t tap = 0; tap < g.taps; ++tap, x += g.x_tap_stride, w += g.channels) {
        V wv[kVecs];
#pragma GCC unroll 8
        for (int v = 0; v < kVecs; ++v) {
          wv[v] = load_lanes<Arch, kPartial>(w + v * S::kLanes, count);
        }
#pragma GCC unroll 8
        for (int f = 0; f < kFrames; ++f) {
#pragma GCC unroll 8
          for (int v = 0; v < kVecs; ++v) {
            const float* from = x + f * g.x_frame_stride + v * S::kLanes;
            acc[f][v] = S::madd(load_lanes<Arch, kPartial>(from, count), wv[v], acc[f][v]);
          }
        }
      }
    }
    const Clip<Arch> clip(g.clip, g.lo, g.hi);
#pragma GCC unroll 8
    for (int f = 0; f < kFrames; ++f) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) {
        float* to = g.y + (frame + f) * g.y_frame_stride + channel + v * S::kLanes;
        store_lanes<Arch, kPartial>(to, clip.apply(acc[f][v]), count);
      }
    }
  }
};

template <class Arch>
RILL_INLINE void depthwise(const DepthwiseF32Args& g) {
  over_windows<Arch, DepthwiseBody>(g);
}

}  // namespace
}  // namespace rill::kernels
