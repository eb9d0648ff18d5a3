#pragma once

// Functions of f32 lanes, with the formulas of nnef-dialect.md section 10. `V` is an xsimd batch of
// floats in a tier file and `ScalarLane` elsewhere; call them qualified, as in `math::tanh(v)`, so
// that argument-dependent lookup does not find xsimd's function of the same name. A lane's result
// depends on that lane only. NaN gives NaN. The stated accuracy is relative to the exact function
// of the float.

#include "kernels/simd/lanes.h"

namespace rill::kernels::math {
namespace {

/// Compute the polynomial c[0] + c[1] x + ... by Horner's rule.
template <class V, size_t N>
inline V polynomial(const V& x, const float (&c)[N]) {
  V y(c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) y = mul_add(y, x, V(c[i]));
  return y;
}

/// Compute x limited to [low, high]; a NaN stays.
template <class V>
inline V clamp(const V& x, float low, float high) {
  return min_or_second(V(high), max_or_second(V(low), x));
}

/// Compute e^x / 2^k - 1, for k = x / ln 2 rounded to a whole number. Source: Cephes, expf.
template <class V>
inline V exp_fraction(const V& x, const V& k) {
  constexpr float kTail[] = {5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f,
                             8.3334519073e-3f, 1.3981999507e-3f, 1.9875691500e-4f};
  V r = mul_add(k, V(-0.69314575f), x);  // 16 bits of ln 2, so that k times it is exact
  r = mul_add(k, V(-1.4286068e-6f), r);
  return mul_add(r * r, polynomial(r, kTail), r);
}

/// Compute e^x, subnormal results included; infinite for x >= 88.73, 0 below -103.98.
/// Accuracy: 1.5 ulp; 1 ulp more where the result is subnormal.
template <class V>
inline V exp(const V& x) {
  const V c = clamp(x, -104.0f, 89.0f);
  const V k = round_to_even(c * V(1.44269504f));
  const V y = exp_fraction(c, k) + V(1.0f);
  const V half = round_down(k * V(0.5f));  // 2^k itself may overflow, or be subnormal
  return y * two_to(half) * two_to(k - half);
}

/// The parts of e^y = 2^k e^r, for y within [-87.33, 87.33]: 2^k, 2^k r, r, and the polynomial
/// ((e^r - 1 - r) / r^2 - 1/2) / r. Recurrent layers are bound by latency, so terms are summed in
/// pairs, and the caller applies limits to the results.
template <class V>
struct PowerParts {
  V scale, part, r, rest;

  /// Split e^y; `shifted` is y / ln 2 + kWholeShift.
  PowerParts(const V& y, const V& shifted) : scale(two_to_shifted(shifted)) {
    constexpr float kRest[] = {1.66664306e-1f, 4.16680056e-2f, 8.37420862e-3f, 1.38435898e-3f};
    // Without fused multiply-add, k times ln 2 is rounded before the sum, so only 16 bits of ln 2
    // keep it exact. With it, the error of r is too small to change the polynomial.
    constexpr bool kFused = kFusesMulAdd<V>;
    const V k = shifted - V(kWholeShift);
    const V most = mul_add(k, V(kFused ? -0.693147182f : -0.69314575f), y);
    const V exact = mul_add(k, V(kFused ? 1.90465430e-9f : -1.42860677e-6f), most);
    r = kFused ? most : exact;
    part = scale * exact;
    const V upper = mul_add(r, V(kRest[3]), V(kRest[2]));
    rest = mul_add(r * r, upper, mul_add(r, V(kRest[1]), V(kRest[0])));
  }
  /// Return (e^r - 1) / r.
  V slope() const { return mul_add(r * r, rest, mul_add(r, V(kHalf), V(1.0f))); }
  /// Return ((e^r - 1) / r - 1) / r.
  V bend() const { return mul_add(r, rest, V(kHalf)); }

 private:
  static constexpr float kHalf = 4.99999942e-1f;
};

/// Compute 1 / (1 + e^-x); 1 for x >= 17, and 0 for x <= -87.33, where it would be subnormal.
/// Accuracy: 2.5 ulp. An open gate is exactly 1. A ratio of polynomials would stop at 1 - 5e-7 to
/// avoid overshoot, and a recurrent state would fade within hours. A closed gate is exactly 0, so
/// that it also hides large numbers.
template <class V>
inline V sigmoid(const V& x) {
  const PowerParts<V> e(negate(x), mul_add(x, V(-1.44269504f), V(kWholeShift)));
  const V y = divide(V(1.0f), mul_add(e.part, e.slope(), V(1.0f) + e.scale));
  const V end = pick(x > V(0.0f), V(1.0f), V(0.0f));
  return pick(magnitude(x) >= V(87.33f), end, y);
}

/// Compute the hyperbolic tangent as (1 - q) / (1 + q) of q = e^-2|x|; 1 for x >= 9.1.
/// Accuracy: 3 ulp, the roundings of the difference, of the sum and of the quotient.
template <class V>
inline V tanh(const V& x) {
  const V size = magnitude(x);
  const PowerParts<V> q(V(-2.0f) * size, mul_add(size, V(-2.88539008f), V(kWholeShift)));
  const V start = V(1.0f) - q.scale - q.part;
  const V difference = mul_add(negate(q.part) * q.r, q.bend(), start);
  const V sum = mul_add(q.part, q.slope(), V(1.0f) + q.scale);
  return with_sign_of(pick(size > V(9.1f), V(1.0f), divide(difference, sum)), x);
}

/// Compute x * sigmoid(x); 0 where the sigmoid is, also for -infinity.
/// Accuracy: 3 ulp; 2e-36 absolute below -87.
template <class V>
inline V silu(const V& x) {
  return max_or_second(V(-88.0f), x) * math::sigmoid(x);
}

/// Compute ln x; -infinity for 0, NaN for x < 0.
/// Accuracy: 2 ulp. Source: Cephes, logf.
template <class V>
inline V log(const V& x) {
  constexpr float kTail[] = {3.3333331174e-1f,  -2.4999993993e-1f, 2.0000714765e-1f,
                             -1.6668057665e-1f, 1.4249322787e-1f,  -1.2420140846e-1f,
                             1.1676998740e-1f,  -1.1514610310e-1f, 7.0376836292e-2f};
  constexpr float kLeastNormal = 1.17549435e-38f;
  const auto subnormal = x < V(kLeastNormal);
  V e;
  V m = split_exponent(pick(subnormal, x * V(16777216.0f), x), &e);
  e = e - pick(subnormal, V(24.0f), V(0.0f));
  const auto upper = m > V(1.41421356f);
  m = pick(upper, m * V(0.5f), m) - V(1.0f);
  e = e + pick(upper, V(1.0f), V(0.0f));
  const V z = m * m;
  V y = m * z * polynomial(m, kTail);
  y = mul_add(e, V(-2.12194440e-4f), y);
  y = mul_add(z, V(-0.5f), y);
  y = mul_add(e, V(0.693359375f), m + y);
  const V inf(__builtin_inff());
  y = pick(x < inf, y, x);  // +infinity, and NaN
  y = pick(x == V(0.0f), V(-__builtin_inff()), y);
  return pick(x < V(0.0f), V(__builtin_nanf("")), y);
}

/// Compute ln(1 + x), also where the sum rounds to 1; -infinity for -1, NaN for x < -1. Accuracy: 3
/// ulp. The slope of the logarithm corrects the rounding error of the sum.
template <class V>
inline V log1p(const V& x) {
  const V sum = V(1.0f) + x;
  const V whole = math::log(sum);
  const V y = whole + divide(x - (sum - V(1.0f)), sum);
  const V inner = pick(sum < V(__builtin_inff()), y, whole);
  return pick(sum == V(1.0f), x, pick(sum > V(0.0f), inner, whole));
}

/// Compute e^x - 1, also where e^x rounds to 1; infinite for x >= 88.73. Accuracy: 2 ulp.
template <class V>
inline V expm1(const V& x) {
  const V c = clamp(x, -87.0f, 89.0f);
  const V k = round_to_even(c * V(1.44269504f));
  const V half = round_down(k * V(0.5f));  // 2^k itself may overflow
  const V scale = two_to(half);
  const V y = mul_add(exp_fraction(c, k), scale, scale - two_to(half - k));
  return with_sign_of(y * two_to(k - half), x);
}

/// Compute ln(1 + e^x). Accuracy: 3 ulp; 2e-38 absolute below -87.
template <class V>
inline V softplus(const V& x) {
  const V power = math::exp(negate(magnitude(x)));
  const V sum = V(1.0f) + power;
  const V rest = math::log(sum) + divide(power - (sum - V(1.0f)), sum);
  return max_or_second(V(0.0f), x) + rest;
}

/// Compute sqrt(a^2 + b^2), also if squares overflow or underflow. If they do not, the result has
/// the bits of the formula. Accuracy: 1.5 ulp.
template <class V>
inline V hypot(const V& a, const V& b) {
  const V most = max_or_second(magnitude(a), magnitude(b));
  const auto large = most > V(0x1p60f), small = most < V(0x1p-50f);
  const V down(0x1p-70f), up(0x1p70f);
  const V scale = pick(large, down, pick(small, up, V(1.0f)));
  const V p = a * scale, q = b * scale;
  return root(p * p + q * q) * pick(large, up, pick(small, down, V(1.0f)));
}

/// Compute the error function. Accuracy: 6e-7 absolute, relative too below 0.5.
/// Source: Abramowitz and Stegun, 7.1.28, 1 - (1 + s)^-16; computed with s instead of 1 + s, which
/// would lose the low bits of s and square the error four times.
template <class V>
inline V erf(const V& x) {
  constexpr float kA[] = {0.0705230784f, 0.0422820123f, 0.0092705272f,
                          0.0001520143f, 0.0002765672f, 0.0000430638f};
  const V t = min_or_second(V(4.0f), magnitude(x));  // erf(4) rounds to 1
  V s = t * polynomial(t, kA);
  for (int i = 0; i < 4; ++i) s = mul_add(s, s, s + s);  // (1 + s)^2 - 1
  return with_sign_of(divide(s, V(1.0f) + s), x);
}

/// Compute x/2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), with the first x limited to -6 from
/// below, where tanh is constant. Accuracy: 2e-7 * max(1, |x|) absolute.
template <class V>
inline V gelu_approx(const V& x) {
  const V cubed = x * x * x;
  const V inner = V(0.79788456f) * mul_add(V(0.044715f), cubed, x);
  return V(0.5f) * max_or_second(V(-6.0f), x) * (V(1.0f) + math::tanh(inner));
}

/// Compute the square root. Accuracy: exact rounding.
template <class V>
inline V sqrt(const V& x) {
  return root(x);
}

/// Compute 1 / x. Accuracy: exact rounding.
template <class V>
inline V recip(const V& x) {
  return divide(V(1.0f), x);
}

/// Compute 1 / sqrt x; the root and the quotient each round once.
template <class V>
inline V rsqrt(const V& x) {
  return divide(V(1.0f), root(x));
}

template <class V>
inline V abs(const V& x) {
  return magnitude(x);
}
template <class V>
inline V neg(const V& x) {
  return negate(x);
}
template <class V>
inline V floor(const V& x) {
  return round_down(x);
}
template <class V>
inline V ceil(const V& x) {
  return round_up(x);
}

/// Round to the nearest integer, ties to even.
template <class V>
inline V round_even(const V& x) {
  return round_to_even(x);
}

/// Round to the nearest integer, ties away from zero.
template <class V>
inline V round(const V& x) {
  const V a = magnitude(x);
  const V down = round_down(a);
  const V away = pick(a - down >= V(0.5f), down + V(1.0f), down);
  return with_sign_of(away, x);
}

/// Compute -1, 0 or 1 as x is below, at or above 0; +0 for -0.
template <class V>
inline V sign(const V& x) {
  return pick(x > V(0.0f), V(1.0f), pick(x < V(0.0f), V(-1.0f), x + V(0.0f)));
}

/// Compute x < 0 ? alpha x : x.
template <class V>
inline V leaky_relu(const V& x, const V& alpha) {
  return pick(x < V(0.0f), x * alpha, x);
}

/// Compute x * (clamp(x + 3, 0, 6) / 6). Accuracy: 2e-7 * max(1, |x|) absolute.
template <class V>
inline V hard_swish(const V& x) {
  return x * (clamp(x + V(3.0f), 0.0f, 6.0f) * V(1.0f / 6.0f));
}

/// Compute the smaller of a and b, a if they are equal; NaN if either is NaN.
template <class V>
inline V min(const V& a, const V& b) {
  return pick(b == b, min_or_second(b, a), b);
}

/// Compute the larger of a and b, a if they are equal; NaN if either is NaN.
template <class V>
inline V max(const V& a, const V& b) {
  return pick(b == b, max_or_second(b, a), b);
}

/// Compute the smaller of a and b; of a number and a NaN, the number.
template <class V>
inline V min_number(const V& a, const V& b) {
  return pick(b == b, min_or_second(a, b), a);
}

/// Compute the larger of a and b; of a number and a NaN, the number.
template <class V>
inline V max_number(const V& a, const V& b) {
  return pick(b == b, max_or_second(a, b), a);
}

/// Flush denormals to zero if the thread's mode does.
template <class V>
inline V as_read(const V& x) {
  return pick(x == V(0.0f), with_sign_of(V(0.0f), x), x);
}

/// Compute a^b: squares and cubes as products, all other powers by the C library, lane by lane.
/// Steps flush denormals. For a denormal a, glibc's pow first multiplies a to make it normal; this
/// product would be 0, and the logarithm wrong.
/// Accuracy: 1 ulp for b = 2, 2 ulp for b = 3.
template <class V>
inline V pow(const V& a, const V& b) {
  if (all_true(b == V(2.0f))) return a * a;
  if (all_true(b == V(3.0f))) return a * a * a;
  float exponent[V::size];
  as_read(b).store_unaligned(exponent);
  size_t i = 0;
  return map_lanes(as_read(a), [&](float base) {
    const float by = exponent[i++];
    if (by == 2.0f) return base * base;
    if (by == 3.0f) return base * base * base;
    return __builtin_powf(base, by);
  });
}

/// Compute sin x, or cos x if `cosine`. Accuracy: 1.5e-7 absolute up to |x| = 1e5, the C library's
/// beyond. Source: Cephes, sinf and cosf; range reduction by Cody and Waite.
template <class V>
inline V sin_or_cos(const V& x, bool cosine) {
  // pi/2 in five parts of 8 bits and a remainder: for |quarters| < 2^16 the products are exact.
  constexpr float kHalfPi[] = {0x1.92p+0f, 0x1.fap-12f, 0x1.54p-20f,
                               0x1.1p-30f, 0x1.68p-39f, 0x1.84698ap-48f};
  constexpr float kSin[] = {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f};
  constexpr float kCos[] = {4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f};
  const V quarters = round_to_even(x * V(0.636619772f));
  V r = x;
  for (float part : kHalfPi) r = mul_add(quarters, V(-part), r);
  const V z = r * r;
  const V s = mul_add(r * z, polynomial(z, kSin), r);
  const V c = mul_add(z * z, polynomial(z, kCos), mul_add(z, V(-0.5f), V(1.0f)));
  V turn = quarters + V(cosine ? 1.0f : 0.0f);
  turn = turn - V(4.0f) * round_down(turn * V(0.25f));  // 0, 1, 2 or 3
  const V even = pick(turn == V(2.0f), negate(s), s);
  const V y = pick(turn == V(1.0f), c, pick(turn == V(3.0f), negate(c), even));
  const auto reduced = magnitude(x) <= V(1e5f);
  if (all_true(reduced)) return y;
  const V far = cosine ? map_lanes(x, [](float v) { return __builtin_cosf(v); })
                       : map_lanes(x, [](float v) { return __builtin_sinf(v); });
  return pick(reduced, y, far);
}

/// Compute sin x, x in radians.
template <class V>
inline V sin(const V& x) {
  return pick(magnitude(x) < V(1e-4f), x, sin_or_cos(x, false));  // keeps the sign of zero
}

/// Compute cos x, x in radians.
template <class V>
inline V cos(const V& x) {
  return sin_or_cos(x, true);
}

}  // namespace
}  // namespace rill::kernels::math
