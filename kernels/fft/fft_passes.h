#pragma once

// The passes of Stockham's algorithm. Before a pass of radix R, x holds s interleaved transforms of
// n / s points; it reads x[q + s (p + m k)] and writes y[q + s (R p + k)], q < s, p < m,
// m = n / (s R), times the twiddle exp(-2 pi i p k / (R m)).

#include "kernels/fft/fft.h"
#include "kernels/fft/fft_shuffle.h"

namespace rill::kernels {
namespace {

/// With fewer interleaved transforms, the lanes of a pass run over q and p together, and the
/// twiddles are repeated for each q. No tier has wider vectors.
constexpr int64_t kFftWide = 16;

template <class V>
struct ComplexLanes {
  V re, im;
};

template <class V>
inline ComplexLanes<V> operator+(const ComplexLanes<V>& a, const ComplexLanes<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
inline ComplexLanes<V> operator-(const ComplexLanes<V>& a, const ComplexLanes<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
inline ComplexLanes<V> minus_i(const ComplexLanes<V>& a, const ComplexLanes<V>& b) {  // a - i b
  return {a.re + b.im, a.im - b.re};
}
template <class V>
inline ComplexLanes<V> plus_i(const ComplexLanes<V>& a, const ComplexLanes<V>& b) {  // a + i b
  return {a.re - b.im, a.im + b.re};
}
template <class V>
inline ComplexLanes<V> times(const ComplexLanes<V>& a, const V& re, const V& im) {
  return {math::mul_add(a.re, re, math::negate(a.im * im)), math::mul_add(a.re, im, a.im * re)};
}
template <class V>
inline ComplexLanes<V> scaled(const ComplexLanes<V>& a, float f, const ComplexLanes<V>& add) {
  return {math::mul_add(a.re, V(f), add.re), math::mul_add(a.im, V(f), add.im)};
}

/// Transform R points in place.
template <int R, class V>
inline void butterfly(ComplexLanes<V>* x) {
  using C = ComplexLanes<V>;
  if constexpr (R == 2) {
    const C a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (R == 3) {
    constexpr float kSin60 = 0.86602540378f;
    const C t = x[1] + x[2], d = x[1] - x[2];
    const C mid = scaled(t, -0.5f, x[0]), side{d.re * V(kSin60), d.im * V(kSin60)};
    x[0] = x[0] + t;
    x[1] = minus_i(mid, side);
    x[2] = plus_i(mid, side);
  } else if constexpr (R == 4) {
    const C a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
    x[0] = a + c;
    x[1] = minus_i(b, d);
    x[2] = a - c;
    x[3] = plus_i(b, d);
  } else {
    constexpr float kCos72 = 0.30901699437f, kCos144 = -0.80901699437f;
    constexpr float kSin72 = 0.95105651630f, kSin144 = 0.58778525229f;
    const C t1 = x[1] + x[4], t2 = x[2] + x[3], d1 = x[1] - x[4], d2 = x[2] - x[3];
    const C m1 = scaled(t2, kCos144, scaled(t1, kCos72, x[0]));
    const C m2 = scaled(t2, kCos72, scaled(t1, kCos144, x[0]));
    const C n1 = scaled(d2, kSin144, C{d1.re * V(kSin72), d1.im * V(kSin72)});
    const C n2 = scaled(d2, -kSin72, C{d1.re * V(kSin144), d1.im * V(kSin144)});
    x[0] = x[0] + t1 + t2;
    x[1] = minus_i(m1, n1);
    x[2] = minus_i(m2, n2);
    x[3] = plus_i(m2, n2);
    x[4] = plus_i(m1, n1);
  }
}

struct FftArrays {
  const float* xr;
  const float* xi;
  float* yr;
  float* yi;
};

/// Run a pass with s >= kFftWide: lanes over q. `w` holds, for each p, R - 1 twiddles (re, im).
template <class V, int R>
void wide_pass(const FftArrays& d, int64_t s, int64_t m, const float* w) {
  constexpr int64_t kWidth = V::size;
  for (int64_t p = 0; p < m; ++p, w += 2 * (R - 1)) {
    for (int64_t q = 0; q < s; q += kWidth) {
      const int64_t n = s - q < kWidth ? s - q : kWidth;
      ComplexLanes<V> x[R];
#pragma GCC unroll 8
      for (int k = 0; k < R; ++k) {
        const int64_t at = q + s * (p + m * k);
        x[k].re = n == kWidth ? V::load_unaligned(d.xr + at) : math::load_partial<V>(d.xr + at, n);
        x[k].im = n == kWidth ? V::load_unaligned(d.xi + at) : math::load_partial<V>(d.xi + at, n);
      }
      butterfly<R>(x);
#pragma GCC unroll 8
      for (int k = 0; k < R; ++k) {
        if (k > 0 && p > 0) x[k] = times(x[k], V(w[2 * k - 2]), V(w[2 * k - 1]));
        const int64_t at = q + s * (R * p + k);
        if (n == kWidth) {
          x[k].re.store_unaligned(d.yr + at);
          x[k].im.store_unaligned(d.yi + at);
        } else {
          math::store_partial(x[k].re, d.yr + at, n);
          math::store_partial(x[k].im, d.yi + at, n);
        }
      }
    }
  }
}

/// Store n lanes of each of the R vectors of a narrow pass; lane 0 is q + s p = j.
template <class V, int R>
inline void narrow_store(const V* x, float* y, int64_t s, int64_t j, int64_t n) {
  constexpr int64_t kWidth = V::size;
  if constexpr (R == 4 && kWidth > 1) {
    if (s == 1 && n == kWidth) return store_interleaved(x[0], x[1], x[2], x[3], y + R * j);
  }
  if (kWidth > 1 && s == 4) {  // then n is a multiple of 4
#pragma GCC unroll 8
    for (int k = 0; k < R; ++k) store_quads(x[k], y + R * j + s * k, R * s, n / 4);
    return;
  }
  float lanes[R][V::size];
#pragma GCC unroll 8
  for (int k = 0; k < R; ++k) x[k].store_unaligned(lanes[k]);
  int64_t p = j / s, q = j % s;
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < R; ++k) y[q + s * (R * p + k)] = lanes[k][i];
    if (++q == s) {
      q = 0;
      ++p;
    }
  }
}

/// Run a pass with s < kFftWide: lanes over j = q + s p. `w` holds, for each k of 1..R-1, m s real
/// parts and m s imaginary ones.
template <class V, int R>
void narrow_pass(const FftArrays& d, int64_t s, int64_t m, const float* w) {
  constexpr int64_t kWidth = V::size;
  const int64_t count = s * m;
  for (int64_t j = 0; j < count; j += kWidth) {
    const int64_t n = count - j < kWidth ? count - j : kWidth;
    const auto load = [&](const float* p) {
      return n == kWidth ? V::load_unaligned(p) : math::load_partial<V>(p, n);
    };
    ComplexLanes<V> x[R];
#pragma GCC unroll 8
    for (int k = 0; k < R; ++k) x[k] = {load(d.xr + j + count * k), load(d.xi + j + count * k)};
    butterfly<R>(x);
    V re[R], im[R];
#pragma GCC unroll 8
    for (int k = 0; k < R; ++k) {
      if (k > 0 && m > 1) {
        const float* wk = w + 2 * count * (k - 1) + j;
        x[k] = times(x[k], load(wk), load(wk + count));
      }
      re[k] = x[k].re;
      im[k] = x[k].im;
    }
    narrow_store<V, R>(re, d.yr, s, j, n);
    narrow_store<V, R>(im, d.yi, s, j, n);
  }
}

template <class V, int R>
inline void run_pass(const FftArrays& d, int64_t s, int64_t m, const float* w) {
  if (s < kFftWide) {
    narrow_pass<V, R>(d, s, m, w);
  } else {
    wide_pass<V, R>(d, s, m, w);
  }
}

/// Return the number of floats in the twiddles of a pass.
inline int64_t fft_pass_floats(int radix, int64_t s, int64_t m) {
  return 2 * (radix - 1) * m * (s < kFftWide ? s : 1);
}

/// Transform n points from x to y, which may be x, through scratch [4, n].
template <class V>
void fft_passes(const FftPasses& plan, const float* xr, const float* xi, float* yr, float* yi,
                float* scratch) {
  const int64_t n = plan.n;
  const float* w = plan.twiddles;
  int64_t s = 1;
  FftArrays d{xr, xi, scratch, scratch + n};
  for (int i = 0; i < plan.count; ++i) {
    const int radix = plan.radix[i];
    const int64_t m = n / (s * radix);
    // A single pass writes to scratch too: in place it would overwrite values that it still reads.
    if (i + 1 == plan.count && i > 0) d.yr = yr, d.yi = yi;
    switch (radix) {
      case 2:
        run_pass<V, 2>(d, s, m, w);
        break;
      case 3:
        run_pass<V, 3>(d, s, m, w);
        break;
      case 4:
        run_pass<V, 4>(d, s, m, w);
        break;
      default:
        run_pass<V, 5>(d, s, m, w);
        break;
    }
    w += fft_pass_floats(radix, s, m);
    s *= radix;
    float* const next = scratch + (i % 2 == 0 ? 2 * n : 0);
    d = {d.yr, d.yi, next, next + n};
  }
  if (plan.count > 1) return;
  for (int64_t i = 0; i < n; ++i) {  // n is 1 to 5
    const float re = d.xr[i], im = d.xi[i];
    yr[i] = re;
    yi[i] = im;
  }
}

}  // namespace
}  // namespace rill::kernels
