#pragma once

#include "kernels/list.h"
#include "kernels/pool/pool_args.h"

namespace rill::kernels {

/// One implementation of the pools.
struct PoolF32 {
  const char* name;
  Tier tier;

  /// Compute y[t, c], the largest x[t, tap, c] of the window; -infinity for an empty window.
  /// Shapes: x [frames and taps by strides, channels], y [frames, channels]; any count may be 0.
  /// Types: f32; no alignment. y does not overlap x. A NaN in the window gives NaN. Of 0 and -0,
  /// the first one wins.
  /// Accuracy: the same bits on every tier. Real-time: yes.
  void (*max)(const PoolF32Args& args) noexcept RILL_NONBLOCKING;

  /// Compute y[t, c] = scale * (sum of x[t, tap, c] over the window).
  /// Shapes and types: as for `max`.
  /// Accuracy: one chain of sums from 0 over ascending taps, outer taps first, then the product:
  /// the same bits on every tier. Real-time: yes.
  void (*sum)(const PoolF32Args& args) noexcept RILL_NONBLOCKING;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`. The result has static
/// lifetime. Real-time: no, call it at prepare.
const PoolF32& pool_f32(Tier cpu);

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<PoolF32> kernels_like(const PoolF32*);

}  // namespace rill::kernels
