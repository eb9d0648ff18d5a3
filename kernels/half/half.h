#pragma once

#include <cstdint>

#include "kernels/list.h"

namespace rill::kernels {

/// Upcast n f16 to f32. Subnormal f16 are normal in f32, so flushing denormals does not change
/// them.
/// Shapes: x [n] -> y [n], no alignment. Accuracy: exact. Real-time: yes.
using UpcastF16Fn = void (*)(int64_t n, const uint16_t* x, float* y) noexcept RILL_NONBLOCKING;

/// Round n f32 to the nearest f16, ties to even, also to subnormal f16. Numbers beyond the range
/// become infinite.
/// Shapes: x [n] -> y [n], no alignment. Accuracy: the same on every tier. Real-time: yes.
using DowncastF16Fn = void (*)(int64_t n, const float* x, uint16_t* y) noexcept RILL_NONBLOCKING;

/// The casts of one tier in both directions.
struct HalfCasts {
  const char* name;
  Tier tier;
  UpcastF16Fn upcast;
  DowncastF16Fn downcast;
};

/// Choose the functions for a CPU. The result has static lifetime. Real-time: no, call it at
/// prepare.
const HalfCasts& half_casts(Tier cpu = active_tier());

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<HalfCasts> kernels_like(const HalfCasts*);

}  // namespace rill::kernels
