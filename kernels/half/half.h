#pragma once

#include <cstdint>

#include "kernels/list.h"

namespace rill::kernels {

/// Upcast n f16 to f32. Subnormal ones are numbers like all others in f32, and stay so
/// with denormals switched off.
/// Shapes: x [n] -> y [n], no alignment. Accuracy: exact. Real-time: yes.
using UpcastF16Fn = void (*)(int64_t n, const uint16_t* x, float* y) noexcept RILL_NONBLOCKING;

/// Round n f32 to the nearest f16, of two to the even one, subnormal ones included; what is
/// too large becomes infinite.
/// Shapes: x [n] -> y [n], no alignment. Accuracy: the same on every tier. Real-time: yes.
using DowncastF16Fn = void (*)(int64_t n, const float* x, uint16_t* y) noexcept RILL_NONBLOCKING;

/// Both ways of one tier.
struct HalfCasts {
  const char* name;
  Tier tier;
  UpcastF16Fn upcast;
  DowncastF16Fn downcast;
};

/// Choose the functions for a CPU. The result lives for ever. Real-time: no, call it at prepare.
const HalfCasts& half_casts(Tier cpu = active_tier());

/// Give every kernel of the family that this build has; the argument only names the family.
KernelList<HalfCasts> kernels_like(const HalfCasts*);

}  // namespace rill::kernels
