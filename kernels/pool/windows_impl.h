#pragma once

// The loops that depthwise convolutions and pools share: output frames by channels. Channels are
// contiguous and fill the lanes; a few frames run at once for enough independent chains.

#include "kernels/simd/dense_impl.h"

namespace rill::kernels {
namespace {

/// Load a vector, or the first `count` lanes of one and zeros.
template <class Arch, bool kPartial>
RILL_INLINE Lanes<Arch> load_lanes(const float* p, int64_t count) {
  if constexpr (kPartial) {
    return Ops<Arch>::load_partial(p, count);
  } else {
    return Lanes<Arch>::load_unaligned(p);
  }
}

template <class Arch, bool kPartial>
RILL_INLINE void store_lanes(float* p, Lanes<Arch> v, int64_t count) {
  if constexpr (kPartial) {
    Ops<Arch>::store_partial(p, v, count);
  } else {
    v.store_unaligned(p);
  }
}

template <class Arch, class Body, int kFrames, class Args>
[[gnu::noinline]] void frame_block(const Args& g, int64_t frame) {
  constexpr int kLanes = Ops<Arch>::kLanes;
  constexpr int kVecs = kFrames <= 2 ? 4 : 2;
  int64_t channel = 0;
  for (; channel + kVecs * kLanes <= g.channels; channel += kVecs * kLanes) {
    Body::template tile<Arch, kFrames, kVecs, false>(g, frame, channel);
  }
  for (; channel + kLanes <= g.channels; channel += kLanes) {
    Body::template tile<Arch, kFrames, 1, false>(g, frame, channel);
  }
  if (channel < g.channels) Body::template tile<Arch, kFrames, 1, true>(g, frame, channel);
}

/// Call `Body::tile<Arch, kFrames, kVecs, kPartial>(g, frame, channel)` on tiles that cover all
/// output frames and channels. A partial tile is one vector wide and ends at the last channel.
template <class Arch, class Body, class Args>
RILL_INLINE void over_windows(const Args& g) {
  int64_t frame = 0;
  for (; frame + 4 <= g.frames; frame += 4) frame_block<Arch, Body, 4>(g, frame);
  switch (g.frames - frame) {
    case 3:
      return frame_block<Arch, Body, 3>(g, frame);
    case 2:
      return frame_block<Arch, Body, 2>(g, frame);
    case 1:
      return frame_block<Arch, Body, 1>(g, frame);
    default:
      return;
  }
}

}  // namespace
}  // namespace rill::kernels
