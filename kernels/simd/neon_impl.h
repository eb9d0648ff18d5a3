#pragma once

#include <xsimd/xsimd.hpp>

namespace rill::kernels {
namespace {

// The vectors of the NEON tier: AArch64 has 32 registers and exact quotients and roots; 32-bit Arm
// has 16 registers and estimates.
#if defined(__aarch64__)
using Neon = xsimd::neon64;
#elif defined(__ARM_NEON)
using Neon = xsimd::neon;
#endif

}  // namespace
}  // namespace rill::kernels
