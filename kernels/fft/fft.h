#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/list.h"

namespace rill::kernels {

/// The purpose of a plan: `fft_execute`, or `rfft_execute`.
enum class FftKind : uint8_t { kComplex, kReal };

constexpr int kFftMaxPasses = 40;

/// The passes of a transform whose size has no prime factor above 5.
struct FftPasses {
  int64_t n;
  int count;
  int8_t radix[kFftMaxPasses];
  const float* twiddles;  // the start of the tables
};

struct FftPlan;
struct FftF32;
using FftFn = void (*)(const FftPlan& plan, const float* re, const float* im, float* out_re,
                       float* out_im, float* scratch) noexcept RILL_NONBLOCKING;
using RfftFn = void (*)(const FftPlan& plan, const float* x, const float* window, float* out_re,
                        float* out_im, int64_t bins, float* scratch) noexcept RILL_NONBLOCKING;

/// A transform of a given size, made by `fft_init`. It refers to its tables only through
/// `passes.twiddles`; code that moves or stores them must set this address again.
struct FftPlan {
  int64_t n;       // points of the transform
  int64_t size;    // points of the underlying complex transform: n, or n / 2 for real even n
  bool bluestein;  // `size` has a prime factor above 5: a convolution with a chirp
  FftPasses passes;
  // Offsets in the tables, in floats.
  int64_t chirp;         // [2, size]: exp(-i pi k^2 / size), real then imaginary
  int64_t spectrum;      // [2, passes.n]: that of the conjugate chirp, divided by passes.n
  int64_t real_twiddle;  // [2, size + 1]: exp(-2 pi i k / n)
  const FftF32* kernel;
};

/// One implementation of the transforms.
struct FftF32 {
  const char* name;
  Tier tier;
  FftFn complex_fn;
  RfftFn real_fn;
};

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<FftF32> kernels_like(const FftF32*);

/// Return how many floats of tables a plan of this size and kind needs; 64-byte alignment is best.
size_t fft_tables_floats(int64_t n, FftKind kind) noexcept;

/// Fill a plan for n >= 1 points, and its tables. Real-time: no, call it at prepare.
void fft_init(FftPlan* plan, int64_t n, FftKind kind, float* tables,
              Tier cpu = active_tier()) noexcept;

/// Return whether a plan has the fields that `fft_init` sets for n points, except for addresses and
/// the kernel.
bool fft_is_plan(const FftPlan& plan, int64_t n, FftKind kind) noexcept;

/// Return how many floats of scratch a call with this plan needs.
size_t fft_scratch_floats(const FftPlan& plan) noexcept;

/// Compute out[k] = sum over i of x[i] exp(-+2 pi i k / n), unscaled in both directions.
/// Shapes: re, im [n] -> out_re, out_im [n]. The outputs may be the inputs; scratch must not
/// overlap them.
/// Types: a plan of kind kComplex. Accuracy: an RMS error of about 1e-7 sqrt(log2 n) relative to
/// the RMS of the output; three times that if n has a prime factor above 5. Real-time: yes. Source:
/// Stockham's autosort algorithm, radices 4, 2, 3 and 5; Bluestein's for other sizes.
inline void fft_execute(const FftPlan& plan, const float* re, const float* im, float* out_re,
                        float* out_im, bool inverse, float* scratch) noexcept RILL_NONBLOCKING {
  // The inverse transform is the forward one with the parts of input and output exchanged.
  if (inverse) {
    plan.kernel->complex_fn(plan, im, re, out_im, out_re, scratch);
  } else {
    plan.kernel->complex_fn(plan, re, im, out_re, out_im, scratch);
  }
}

/// Compute the first `bins` bins of the forward transform of x[i] window[i], or x if window is
/// null. Shapes: x [n], window [n] -> out_re, out_im [bins], bins <= n. The outputs overlap
/// nothing. Types: a plan of kind kReal. Accuracy: as `fft_execute`. Real-time: yes.
inline void rfft_execute(const FftPlan& plan, const float* x, const float* window, float* out_re,
                         float* out_im, int64_t bins, float* scratch) noexcept RILL_NONBLOCKING {
  plan.kernel->real_fn(plan, x, window, out_re, out_im, bins, scratch);
}

#define RILL_KERNEL(needs, suffix)                                                                \
  void fft_f32_##suffix(const FftPlan& plan, const float* re, const float* im, float* out_re,     \
                        float* out_im, float* scratch) noexcept RILL_NONBLOCKING;                 \
  void rfft_f32_##suffix(const FftPlan& plan, const float* x, const float* window, float* out_re, \
                         float* out_im, int64_t bins, float* scratch) noexcept RILL_NONBLOCKING;
#include "kernels/fft/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
