#pragma once

#include <cstdint>

#include "core/base/nonblocking.h"

namespace rill {

// The floating-point control register of a thread: rounding mode and treatment of denormals.
#if defined(__x86_64__) || defined(__i386__)
using FloatMode = uint32_t;
// Round to nearest, mask all exceptions, flush denormal results and inputs to zero.
inline constexpr FloatMode kStepMode = 0x1F80 | 0x8040;
inline FloatMode float_mode() noexcept RILL_NONBLOCKING { return __builtin_ia32_stmxcsr(); }
inline void set_float_mode(FloatMode mode) noexcept RILL_NONBLOCKING {
  __builtin_ia32_ldmxcsr(mode);
}
#elif defined(__aarch64__)
using FloatMode = uint64_t;
// Round to nearest, trap no exception, flush denormals to zero.
inline constexpr FloatMode kStepMode = uint64_t{1} << 24;
inline FloatMode float_mode() noexcept RILL_NONBLOCKING {
  FloatMode mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(FloatMode mode) noexcept RILL_NONBLOCKING {
  asm volatile("msr fpcr, %0" : : "r"(mode));
}
#elif defined(__arm__) && defined(__ARM_FP)
using FloatMode = uint32_t;
// As above, for 32-bit CPUs. On Armv8.1-M, this register also holds the vector size of loops: 4
// means none, and with any other value a loop faults.
#ifdef __ARM_ARCH_8M_MAIN__
inline constexpr FloatMode kStepMode = uint32_t{1} << 24 | uint32_t{4} << 16;
#else
inline constexpr FloatMode kStepMode = uint32_t{1} << 24;
#endif
inline FloatMode float_mode() noexcept RILL_NONBLOCKING {
  FloatMode mode = 0;
  asm volatile("vmrs %0, fpscr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(FloatMode mode) noexcept RILL_NONBLOCKING {
  asm volatile("vmsr fpscr, %0" : : "r"(mode));
}
#else
using FloatMode = uint32_t;
inline constexpr FloatMode kStepMode = 0;
inline FloatMode float_mode() noexcept RILL_NONBLOCKING { return 0; }
inline void set_float_mode(FloatMode) noexcept RILL_NONBLOCKING {}
#endif

/// Sets a mode for the thread, and restores the previous mode when it is destroyed.
class WithFloatMode {
 public:
  explicit WithFloatMode(FloatMode mode) noexcept RILL_NONBLOCKING : saved_(float_mode()) {
    set_float_mode(mode);
  }
  ~WithFloatMode() noexcept RILL_NONBLOCKING { set_float_mode(saved_); }
  WithFloatMode(const WithFloatMode&) = delete;
  WithFloatMode& operator=(const WithFloatMode&) = delete;

 private:
  FloatMode saved_;
};

/// Flushes denormals to zero and rounds to nearest; restores the thread's mode when it is
/// destroyed.
class FlushDenormals : public WithFloatMode {
 public:
  FlushDenormals() noexcept RILL_NONBLOCKING : WithFloatMode(kStepMode) {}
};

}  // namespace rill
