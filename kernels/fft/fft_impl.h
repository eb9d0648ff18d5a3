#pragma once

#include "kernels/fft/fft.h"
#include "kernels/fft/fft_passes.h"

namespace rill::kernels {
namespace {

/// Padding in floats before and after the half-size spectrum of a real transform, so that loads at
/// its ends can use whole vectors.
constexpr int64_t kFftPad = 16;

/// Call f(i, count) for i = 0, width, ... below n; count is the number of active lanes.
template <class V, class F>
inline void for_vectors(int64_t n, F f) {
  constexpr int64_t kWidth = V::size;
  for (int64_t i = 0; i < n; i += kWidth) f(i, n - i < kWidth ? n - i : kWidth);
}

template <class V>
inline V load_some(const float* p, int64_t n) {
  return n == static_cast<int64_t>(V::size) ? V::load_unaligned(p)
                                            : math::load_partial<V>(p, static_cast<size_t>(n));
}

template <class V>
inline void store_some(const V& v, float* p, int64_t n) {
  if (n == static_cast<int64_t>(V::size)) {
    v.store_unaligned(p);
  } else {
    math::store_partial(v, p, static_cast<size_t>(n));
  }
}

/// Multiply n complex numbers by a table w [2, n] with `stride` floats from row to row.
template <class V>
void multiply_by(const float* xr, const float* xi, const float* w, int64_t stride, float* yr,
                 float* yi, int64_t n) {
  for_vectors<V>(n, [&](int64_t i, int64_t count) {
    const ComplexLanes<V> x{load_some<V>(xr + i, count), load_some<V>(xi + i, count)};
    const ComplexLanes<V> y =
        times(x, load_some<V>(w + i, count), load_some<V>(w + stride + i, count));
    store_some(y.re, yr + i, count);
    store_some(y.im, yi + i, count);
  });
}

/// Transform by a convolution: k i = (k^2 + i^2 - (k - i)^2) / 2.
template <class V>
void fft_bluestein(const FftPlan& plan, const float* re, const float* im, float* out_re,
                   float* out_im, float* scratch) {
  const int64_t n = plan.size, m = plan.passes.n;
  float* ar = scratch;
  float* ai = scratch + m;
  scratch += 2 * m;
  multiply_by<V>(re, im, plan.passes.twiddles + plan.chirp, n, ar, ai, n);
  for (int64_t i = n; i < m; ++i) ar[i] = ai[i] = 0.0f;
  fft_passes<V>(plan.passes, ar, ai, ar, ai, scratch);
  multiply_by<V>(ar, ai, plan.passes.twiddles + plan.spectrum, m, ar, ai, m);
  fft_passes<V>(plan.passes, ai, ar, ai, ar, scratch);
  multiply_by<V>(ar, ai, plan.passes.twiddles + plan.chirp, n, out_re, out_im, n);
}

template <class V>
void fft_complex(const FftPlan& plan, const float* re, const float* im, float* out_re,
                 float* out_im, float* scratch) {
  if (plan.bluestein) {
    fft_bluestein<V>(plan, re, im, out_re, out_im, scratch);
  } else {
    fft_passes<V>(plan.passes, re, im, out_re, out_im, scratch);
  }
}

/// Store the windowed frame in zr and zi, two samples per complex number.
template <class V>
void pack_pairs(const float* x, const float* window, int64_t half, float* zr, float* zi) {
  constexpr int64_t kWidth = V::size;
  int64_t i = 0;
  for (; i + kWidth <= half; i += kWidth) {
    V even, odd;
    load_pairs(x + 2 * i, &even, &odd);
    if (window != nullptr) {
      V even_window, odd_window;
      load_pairs(window + 2 * i, &even_window, &odd_window);
      even = even * even_window;
      odd = odd * odd_window;
    }
    even.store_unaligned(zr + i);
    odd.store_unaligned(zi + i);
  }
  for (; i < half; ++i) {  // a multiplication has the same bits in any lane
    zr[i] = window == nullptr ? x[2 * i] : x[2 * i] * window[2 * i];
    zi[i] = window == nullptr ? x[2 * i + 1] : x[2 * i + 1] * window[2 * i + 1];
  }
}

/// Compute X[k] = (Z[k] + Z*[h - k]) / 2 - i w^k (Z[k] - Z*[h - k]) / 2 for k < bins <= h + 1.
template <class V>
void split_real(const float* zr, const float* zi, const float* w, int64_t half, float* out_re,
                float* out_im, int64_t bins) {
  const V one_half(0.5f);
  for_vectors<V>(bins, [&](int64_t k, int64_t count) {
    const ComplexLanes<V> z{V::load_unaligned(zr + k), V::load_unaligned(zi + k)};
    const ComplexLanes<V> back{load_backward<V>(zr + half - k),
                               math::negate(load_backward<V>(zi + half - k))};
    const ComplexLanes<V> even = z + back, odd = z - back;
    const ComplexLanes<V> rotated =
        times(odd, load_some<V>(w + k, count), load_some<V>(w + half + 1 + k, count));
    const ComplexLanes<V> y = minus_i(even, rotated);
    store_some(y.re * one_half, out_re + k, count);
    store_some(y.im * one_half, out_im + k, count);
  });
}

/// Transform a frame of odd length, as complex numbers.
template <class V>
void fft_real_odd(const FftPlan& plan, const float* x, const float* window, float* out_re,
                  float* out_im, int64_t bins, float* scratch) {
  const int64_t n = plan.n;
  float* zr = scratch;
  float* zi = scratch + n;
  for (int64_t i = 0; i < n; ++i) {
    zr[i] = window == nullptr ? x[i] : x[i] * window[i];
    zi[i] = 0.0f;
  }
  fft_complex<V>(plan, zr, zi, zr, zi, scratch + 2 * n);
  for (int64_t i = 0; i < bins; ++i) {
    out_re[i] = zr[i];
    out_im[i] = zi[i];
  }
}

template <class V>
void fft_real(const FftPlan& plan, const float* x, const float* window, float* out_re,
              float* out_im, int64_t bins, float* scratch) {
  if (plan.n % 2 != 0) {
    return fft_real_odd<V>(plan, x, window, out_re, out_im, bins, scratch);
  }
  const int64_t half = plan.size, stride = half + 1 + 2 * kFftPad;
  float* zr = scratch + kFftPad;
  float* zi = zr + stride;
  for (int64_t i = 1; i <= kFftPad; ++i) zr[-i] = zi[-i] = zr[half + i] = zi[half + i] = 0.0f;
  pack_pairs<V>(x, window, half, zr, zi);
  fft_complex<V>(plan, zr, zi, zr, zi, scratch + 2 * stride);
  zr[half] = zr[0];
  zi[half] = zi[0];
  const int64_t direct = bins < half + 1 ? bins : half + 1;
  split_real<V>(zr, zi, plan.passes.twiddles + plan.real_twiddle, half, out_re, out_im, direct);
  for (int64_t k = direct; k < bins; ++k) {
    out_re[k] = out_re[plan.n - k];
    out_im[k] = -out_im[plan.n - k];
  }
}

}  // namespace
}  // namespace rill::kernels
