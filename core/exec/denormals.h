#pragma once

#include <cstdint>

#include "core/base/nonblocking.h"

namespace rill {

/// Flushes denormals to zero while it lives, and restores the mode of the thread.
class FlushDenormals {
 public:
#if defined(__x86_64__) || defined(__i386__)
  FlushDenormals() noexcept RILL_NONBLOCKING : saved_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(saved_ | 0x8040U);  // flush to zero, denormals are zero
  }
  ~FlushDenormals() noexcept RILL_NONBLOCKING { __builtin_ia32_ldmxcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  uint32_t saved_;
#elif defined(__aarch64__)
  FlushDenormals() noexcept RILL_NONBLOCKING {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(saved_ | (uint64_t{1} << 24)));
  }
  ~FlushDenormals() noexcept RILL_NONBLOCKING { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  uint64_t saved_ = 0;
#else
  FlushDenormals() noexcept RILL_NONBLOCKING {}
#endif
};

}  // namespace rill
