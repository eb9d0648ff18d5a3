#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

// Separate from half.h so that tier files include only declarations.

namespace rill::kernels {

#define RILL_KERNEL(needs, name)                                                           \
  void upcast_f16_##name(int64_t n, const uint16_t* x, float* y) noexcept RILL_NONBLOCKING; \
  void downcast_f16_##name(int64_t n, const float* x, uint16_t* y) noexcept RILL_NONBLOCKING;
#include "kernels/half/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
