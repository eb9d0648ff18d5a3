#pragma once

#include "kernels/pool/pool_args.h"
#include "kernels/pool/windows_impl.h"
#include "kernels/simd/nan_watch.h"

namespace rill::kernels {
namespace {

/// Set each output of a tile to NaN if its window has one.
[[gnu::noinline]] void spread_nans(const PoolF32Args& g, int64_t frame, int64_t frames,
                                   int64_t channel, int64_t channels) {
  for (int64_t f = frame; f < frame + frames; ++f) {
    for (int64_t c = channel; c < channel + channels; ++c) {
      const float* x = g.x + f * g.x_frame_stride + c;
      for (int64_t i = 0; i < g.taps_outer * g.taps; ++i) {
        const float v = x[i / g.taps * g.x_tap_outer_stride + i % g.taps * g.x_tap_stride];
        if (v != v) g.y[f * g.y_frame_stride + c] = v;
      }
    }
  }
}

template <bool kMax>
struct PoolBody {
  template <class Arch, int kFrames, int kVecs, bool kPartial>
  static RILL_INLINE void tile(const PoolF32Args& g, int64_t frame, int64_t channel) {
    using S = Ops<Arch>;
    using V = Lanes<Arch>;
    const int64_t count = g.channels - channel;
    V acc[kFrames][kVecs];
#pragma GCC unroll 8
    for (int f = 0; f < kFrames; ++f) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) acc[f][v] = V(kMax ? -__builtin_inff() : 0.0f);
    }
    math::NanWatch<V> watch;
    const float* x_outer = g.x + frame * g.x_frame_stride + channel;
    for (int64_t outer = 0; outer < g.taps_outer; ++outer, x_outer += g.x_tap_outer_stride) {
      const float* x = x_outer;
      for (int64_t tap = 0; tap < g.taps; ++tap, x += g.x_tap_stride) {
        V before(0.0f);
#pragma GCC unroll 8
        for (int f = 0; f < kFrames; ++f) {
#pragma GCC unroll 8
          for (int v = 0; v < kVecs; ++v) {
            const float* from = x + f * g.x_frame_stride + v * S::kLanes;
            const V xv = load_lanes<Arch, kPartial>(from, count);
            acc[f][v] = kMax ? math::max_or_second(xv, acc[f][v]) : acc[f][v] + xv;
            if constexpr (kMax) {
              const int at = f * kVecs + v;
              if (at % 2 == 1 || at + 1 == kFrames * kVecs) watch.see(before, xv, at / 2);
              before = xv;
            }
          }
        }
      }
    }
#pragma GCC unroll 8
    for (int f = 0; f < kFrames; ++f) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) {
        float* to = g.y + (frame + f) * g.y_frame_stride + channel + v * S::kLanes;
        const V out = kMax ? acc[f][v] : acc[f][v] * V(g.scale);
        store_lanes<Arch, kPartial>(to, out, count);
      }
    }
    if constexpr (kMax) {
      const int64_t columns = kPartial ? count : kVecs * S::kLanes;
      if (watch.found()) spread_nans(g, frame, kFrames, channel, columns);
    }
  }
};

}  // namespace
}  // namespace rill::kernels
