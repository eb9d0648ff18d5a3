#pragma once

#include "kernels/list.h"
#include "kernels/depthwise/depthwise_args.h"

namespace rill::kernels {

/// One implementation of the depthwise convolution.
struct DepthwiseF32 {
  const char* name;
  Tier tier;

  /// Compute y[t, c] = clip(bias[c] + sum over taps of x[t, tap, c] * w[tap, c]).
  /// Shapes: x [frames and taps by strides, channels], w [taps_outer, taps, channels],
  /// y [frames, channels]; any count may be 0.
  /// Types: f32; no alignment. y overlaps neither x nor w.
  /// Accuracy: y[t, c] is one chain of fused multiply-adds over ascending taps, outer taps first,
  /// which starts from the bias or from 0: the same bits for any number of frames and on every tier
  /// but SSE4.2, where each link rounds twice (a product, then a sum).
  /// Real-time: yes.
  void (*run)(const DepthwiseF32Args& args) noexcept RILL_NONBLOCKING;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`. The result has static
/// lifetime. Real-time: no, call it at prepare.
const DepthwiseF32& depthwise_f32(Tier cpu);

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<DepthwiseF32> kernels_like(const DepthwiseF32*);

}  // namespace rill::kernels
