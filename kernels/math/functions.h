#pragma once

// Functions of f32 lanes, with the formulas of nnef-dialect.md section 10. `V` is an xsimd batch of
// floats in a tier file and `ScalarLane` elsewhere; call them qualified, as in `math::tanh(v)`,
// lest argument-dependent lookup finds xsimd's function of the same name. A lane's result depends
// on that lane only. NaN in, NaN out. The accuracy stated is against the exact function of the
// float.

#include "kernels/math/lanes.h"

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

/// Compute 1 / (1 + exp(-x)) as a ratio of odd and even polynomials, in [4.8e-7, 1 - 4.8e-7].
/// Accuracy: 5e-7 absolute.
template <class V>
inline V sigmoid(const V& x) {
  constexpr float kP[] = {0.2499999971f,     0.008163842030f,  4.811817576e-5f,  4.257889523e-8f,
                          -1.875289645e-11f, 1.169974371e-14f, -4.433153405e-18f};
  constexpr float kQ[] = {1.0f, 0.1159886749f, 0.001524872358f, 3.922935744e-6f};
  const V c = clamp(x, -14.5f, 14.5f);
  const V c2 = c * c;
  return divide(c * polynomial(c2, kP), polynomial(c2, kQ)) + V(0.5f);
}

/// Compute the hyperbolic tangent as a ratio of odd and even polynomials, up to +-(1 - 6.1e-7).
/// Accuracy: 7e-7 absolute.
template <class V>
inline V tanh(const V& x) {
  constexpr float kP[] = {0.9999999934f,    0.1308400453f, 0.003103950131f,  1.115424833e-5f,
                          -2.022500419e-8f, 5.277853e-11f, -8.488492677e-14f};
  constexpr float kQ[] = {1.0f, 0.4641733162f, 0.02449515379f, 2.546136580e-4f};
  const V c = clamp(x, -7.5f, 7.5f);
  const V c2 = c * c;
  return divide(c * polynomial(c2, kP), polynomial(c2, kQ));
}

}  // namespace
}  // namespace rill::kernels::math
