#pragma once

// The operations of pointwise programs on a tile. The tail of a row uses the same vector code, with
// its missing lanes filled.

#include <math.h>

#include "kernels/math/functions.h"
#include "kernels/pointwise/pointwise.h"

namespace rill::kernels {
namespace {

constexpr int64_t kPointwiseTile = 512;  // 16 registers of 2 KiB: the few in use fit 32 KiB
constexpr int64_t kPointwiseTileRows = 128;

/// An operand of a tile: rows of contiguous values (`vector`), or of one value each.
struct PointwiseSource {
  const float* p;
  int64_t row;  // stride between rows
  bool vector;
};

struct PointwiseSize {
  int64_t rows, n;
};

/// Compute y = f(a) for rows of contiguous values.
template <class V, class F>
inline void unary_rows(const PointwiseSource& a, float* y, int64_t y_row, PointwiseSize size, F f) {
  constexpr int64_t kWidth = V::size;
  for (int64_t r = 0; r < size.rows; ++r, y += y_row) {
    const float* x = a.p + r * a.row;
    int64_t i = 0;
    for (; i + kWidth <= size.n; i += kWidth) {
      f(V::load_unaligned(x + i)).store_unaligned(y + i);
    }
    if (i < size.n) {
      const size_t rest = static_cast<size_t>(size.n - i);
      math::store_partial(f(math::load_partial<V>(x + i, rest)), y + i, rest);
    }
  }
}

template <class V, bool kAVector, bool kBVector, class F>
inline void binary_loop(const PointwiseSource& a, const PointwiseSource& b, float* y, int64_t y_row,
                        PointwiseSize size, F f) {
  constexpr int64_t kWidth = V::size;
  for (int64_t r = 0; r < size.rows; ++r, y += y_row) {
    const float* ap = a.p + r * a.row;
    const float* bp = b.p + r * b.row;
    const V a_all(*ap), b_all(*bp);
    int64_t i = 0;
    for (; i + kWidth <= size.n; i += kWidth) {
      V av = a_all, bv = b_all;
      if constexpr (kAVector) av = V::load_unaligned(ap + i);
      if constexpr (kBVector) bv = V::load_unaligned(bp + i);
      f(av, bv).store_unaligned(y + i);
    }
    if (i < size.n) {
      const size_t rest = static_cast<size_t>(size.n - i);
      V av = a_all, bv = b_all;
      if constexpr (kAVector) av = math::load_partial<V>(ap + i, rest);
      if constexpr (kBVector) bv = math::load_partial<V>(bp + i, rest);
      math::store_partial(f(av, bv), y + i, rest);
    }
  }
}

template <class V, class F>
inline void binary_rows(const PointwiseSource& a, const PointwiseSource& b, float* y, int64_t y_row,
                        PointwiseSize size, F f) {
  if (a.vector && b.vector) {
    binary_loop<V, true, true>(a, b, y, y_row, size, f);
  } else if (a.vector) {
    binary_loop<V, true, false>(a, b, y, y_row, size, f);
  } else {
    binary_loop<V, false, true>(a, b, y, y_row, size, f);
  }
}

/// Compute y = f(load), where `load(source)` returns a source's value at the position. One loop for
/// all sources takes less code than one per source.
template <class V, class F>
inline void any_rows(float* y, int64_t y_row, PointwiseSize size, F f) {
  constexpr int64_t kWidth = V::size;
  for (int64_t r = 0; r < size.rows; ++r, y += y_row) {
    for (int64_t i = 0; i < size.n; i += kWidth) {
      const size_t n = static_cast<size_t>(size.n - i < kWidth ? size.n - i : kWidth);
      const V v = f([&](const PointwiseSource& s) {
        const float* p = s.p + r * s.row;
        if (!s.vector) return V(*p);
        return n == static_cast<size_t>(kWidth) ? V::load_unaligned(p + i)
                                                : math::load_partial<V>(p + i, n);
      });
      if (n == static_cast<size_t>(kWidth)) {
        v.store_unaligned(y + i);
      } else {
        math::store_partial(v, y + i, n);
      }
    }
  }
}

/// Compute y = a != 0 ? b : c.
template <class V>
void pointwise_select(const PointwiseSource& a, const PointwiseSource& b, const PointwiseSource& c,
                      float* y, int64_t y_row, PointwiseSize size) {
  any_rows<V>(y, y_row, size, [&](const auto& load) {
    return math::pick(load(a) == V(0.0f), load(c), load(b));
  });
}

/// Turn a mask into 1 and 0.
template <class V, class M>
inline V truth(const M& mask) {
  return math::pick(mask, V(1.0f), V(0.0f));
}

/// Turn a mask into 0 and 1. Used for `!=`, because xsimd 8.1's `!=` is false for NaN in some
/// tiers.
template <class V, class M>
inline V falsity(const M& mask) {
  return math::pick(mask, V(0.0f), V(1.0f));
}

template <class V>
void pointwise_binary(PointwiseOp op, const PointwiseSource& a, const PointwiseSource& b, float* y,
                      int64_t y_row, PointwiseSize size) {
  const V zero(0.0f);
#define RILL_BINARY(name, expression)                                         \
  case PointwiseOp::name:                                                     \
    return binary_rows<V>(a, b, y, y_row, size, [&](const V& p, const V& q) { \
      static_cast<void>(zero);                                                \
      return expression;                                                      \
    });
// Long or rare functions have one shared copy.
#define RILL_SHARED(name, expression)                          \
  case PointwiseOp::name:                                      \
    return any_rows<V>(y, y_row, size, [&](const auto& load) { \
      const V p = load(a), q = load(b);                        \
      return expression;                                       \
    });
  switch (op) {
    RILL_BINARY(kAdd, p + q)
    RILL_BINARY(kSub, p - q)
    RILL_BINARY(kMul, p * q)
    RILL_BINARY(kDiv, math::divide(p, q))
    RILL_BINARY(kMin, math::min(p, q))
    RILL_BINARY(kMax, math::max(p, q))
    RILL_BINARY(kMinNumber, math::min_number(p, q))
    RILL_BINARY(kMaxNumber, math::max_number(p, q))
    RILL_SHARED(kHypot, math::hypot(p, q))
    RILL_SHARED(kPow, math::pow(p, q))
    RILL_BINARY(kLt, truth<V>(p < q))
    RILL_BINARY(kLe, truth<V>(p <= q))
    RILL_BINARY(kGt, truth<V>(p > q))
    RILL_BINARY(kGe, truth<V>(p >= q))
    RILL_BINARY(kEq, truth<V>(p == q))
    RILL_BINARY(kNe, falsity<V>(p == q))
    RILL_SHARED(kAnd, math::pick(p == zero, zero, falsity<V>(q == zero)))
    RILL_SHARED(kOr, math::pick(p == zero, falsity<V>(q == zero), V(1.0f)))
    default:
      return;
  }
#undef RILL_BINARY
#undef RILL_SHARED
}

/// acosh has no value below 1, although musl returns numbers there. The float function of the
/// Windows C library is 4 ulp off near 1.
inline float acosh_or_nan(float x) {
  return x < 1.0f ? __builtin_nanf("") : static_cast<float>(acosh(static_cast<double>(x)));
}

/// Apply a function of the C library to a tile.
template <class F>
void libm_rows(F f, const PointwiseSource& a, float* y, int64_t y_row, PointwiseSize size) {
  for (int64_t r = 0; r < size.rows; ++r) {
    for (int64_t i = 0; i < size.n; ++i) y[r * y_row + i] = f(a.p[r * a.row + i]);
  }
}

template <class V>
void pointwise_unary(const PointwiseInstr& instr, const PointwiseSource& a, float* y, int64_t y_row,
                     PointwiseSize size) {
  const V imm(instr.imm);
#define RILL_UNARY(name, expression)                          \
  case PointwiseOp::name:                                     \
    return unary_rows<V>(a, y, y_row, size, [&](const V& x) { \
      static_cast<void>(imm);                                 \
      return expression;                                      \
    });
#define RILL_LIBM(name, function) \
  case PointwiseOp::name:         \
    return libm_rows([](float v) { return function(v); }, a, y, y_row, size);
  switch (instr.op) {
    RILL_UNARY(kCopy, x)
    RILL_UNARY(kNeg, math::neg(x))
    RILL_UNARY(kAbs, math::abs(x))
    RILL_UNARY(kSquare, x * x)
    RILL_UNARY(kSqrt, math::sqrt(x))
    RILL_UNARY(kRsqrt, math::rsqrt(x))
    RILL_UNARY(kRecip, math::recip(x))
    RILL_UNARY(kExp, math::exp(x))
    RILL_UNARY(kLog, math::log(x))
    RILL_UNARY(kLog1p, math::log1p(x))
    RILL_UNARY(kExpm1, math::expm1(x))
    RILL_UNARY(kSoftplus, math::softplus(x))
    RILL_UNARY(kTanh, math::tanh(x))
    RILL_UNARY(kSigmoid, math::sigmoid(x))
    RILL_UNARY(kErf, math::erf(x))
    RILL_UNARY(kSilu, math::silu(x))
    RILL_UNARY(kGeluApprox, math::gelu_approx(x))
    RILL_UNARY(kHardSwish, math::hard_swish(x))
    RILL_UNARY(kLeakyRelu, math::leaky_relu(x, imm))
    RILL_UNARY(kFloor, math::floor(x))
    RILL_UNARY(kCeil, math::ceil(x))
    RILL_UNARY(kRound, math::round(x))
    RILL_UNARY(kRoundEven, math::round_even(x))
    RILL_UNARY(kSign, math::sign(x))
    RILL_UNARY(kNot, truth<V>(x == V(0.0f)))
    RILL_UNARY(kSin, math::sin(x))
    RILL_UNARY(kCos, math::cos(x))
    RILL_LIBM(kTan, tanf)
    RILL_LIBM(kAsin, asinf)
    RILL_LIBM(kAcos, acosf)
    RILL_LIBM(kAtan, atanf)
    RILL_LIBM(kSinh, sinhf)
    RILL_LIBM(kCosh, coshf)
    RILL_LIBM(kAsinh, asinhf)
    RILL_LIBM(kAcosh, acosh_or_nan)
    RILL_LIBM(kAtanh, atanhf)
    RILL_UNARY(kOfInteger, math::of_integer(x))
    default:
      return;
  }
#undef RILL_UNARY
#undef RILL_LIBM
}

}  // namespace
}  // namespace rill::kernels
