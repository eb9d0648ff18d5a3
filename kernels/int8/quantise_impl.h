#pragma once

#include <cstring>

#include "kernels/int8/int8_impl.h"

// Vector types of the compiler; it splits them into the widest vectors of a tier.

namespace rill::kernels {
namespace {

#if defined(RILL_SCALAR)
constexpr int kQuantised = 2;
#elif defined(__AVX512BW__)
constexpr int kQuantised = 8;
#elif defined(__AVX2__)
constexpr int kQuantised = 4;
#else
constexpr int kQuantised = 2;
#endif

typedef double F64 __attribute__((vector_size(8 * kQuantised)));
typedef float F32 __attribute__((vector_size(4 * kQuantised)));
typedef int32_t I32 __attribute__((vector_size(4 * kQuantised)));
typedef uint8_t U8 __attribute__((vector_size(kQuantised)));
typedef uint16_t U16 __attribute__((vector_size(2 * kQuantised)));
typedef int64_t I64 __attribute__((vector_size(8 * kQuantised)));

RILL_INLINE F64 through(F64 v, bool narrow) {
  return narrow ? __builtin_convertvector(__builtin_convertvector(v, F32), F64) : v;
}

/// Adding this constant rounds numbers below 2^51 to integers.
RILL_INLINE I32 rounded_to(F64 v, const Rounding& r) {
  constexpr double kPoint = 0x1.8p52;
  v = through(v * r.mul, r.narrow);
  if (r.div != 1) v = through(v / r.div, r.narrow);
  if (r.before != 0) v = through(v + r.before, r.narrow);
  const F64 lo = F64{} + (r.lo - r.after), hi = F64{} + (r.hi - r.after), none = F64{} - r.after;
  const I64 nan = v != v, low = v < lo, high = v > hi;
  v = low ? lo : v;
  v = high ? hi : v;
  v = (v + kPoint) - kPoint;
  v = nan ? none : v;
  return __builtin_convertvector(v + r.after, I32);
}

constexpr int kNarrow = 2 * kQuantised;
typedef float NarrowF32 __attribute__((vector_size(4 * kNarrow)));
typedef int32_t NarrowI32 __attribute__((vector_size(4 * kNarrow)));
typedef uint8_t NarrowU8 __attribute__((vector_size(kNarrow)));
typedef uint16_t NarrowU16 __attribute__((vector_size(2 * kNarrow)));

/// Return whether f32 arithmetic gives the same 8- or 16-bit integers. It does if each operation
/// rounds to f64 and then to f32, because f64 has more than twice the bits of f32.
inline bool is_narrow(const QuantiseArgs& g) {
  const Rounding& r = g.rounding;
  const bool in_f32 = static_cast<double>(static_cast<float>(r.mul)) == r.mul &&
                      static_cast<double>(static_cast<float>(r.div)) == r.div &&
                      static_cast<double>(static_cast<float>(r.before)) == r.before;
  return g.floats != nullptr && g.y_bytes <= 2 && in_f32 &&
         (r.narrow || (r.mul == 1 && r.div == 1 && r.before == 0));
}

/// As `rounded_to` for such numbers, kNarrow at once.
template <bool kWhole>
RILL_INLINE void quantise_narrow(const QuantiseArgs& g, int64_t begin) {
  constexpr float kPoint = 0x1.8p23F;
  const size_t count = kWhole ? kNarrow : static_cast<size_t>(g.n - begin);
  const Rounding& r = g.rounding;
  const auto after = static_cast<float>(r.after);
  NarrowF32 v{};
  std::memcpy(&v, g.floats + begin, 4 * count);
  if (r.mul != 1) v = v * static_cast<float>(r.mul);
  if (r.div != 1) v = v / static_cast<float>(r.div);
  if (r.before != 0) v = v + static_cast<float>(r.before);
  const NarrowF32 lo = NarrowF32{} + static_cast<float>(r.lo - r.after);
  const NarrowF32 hi = NarrowF32{} + static_cast<float>(r.hi - r.after);
  const NarrowF32 none = NarrowF32{} - after;
  const NarrowI32 nan = v != v, low = v < lo, high = v > hi;
  v = low ? lo : v;
  v = high ? hi : v;
  v = (v + kPoint) - kPoint;
  v = nan ? none : v;
  const NarrowI32 whole = __builtin_convertvector(v + after, NarrowI32);
  if (g.y_bytes == 2) {
    const NarrowU16 pairs = __builtin_convertvector(whole, NarrowU16);
    std::memcpy(static_cast<uint16_t*>(g.y) + begin, &pairs, 2 * count);
    return;
  }
  const NarrowU8 bytes = __builtin_convertvector(whole, NarrowU8);
  std::memcpy(static_cast<uint8_t*>(g.y) + begin, &bytes, count);
}

/// Round at most kQuantised numbers, starting at `begin`; with `kWhole`, exactly kQuantised.
template <bool kWhole>
RILL_INLINE void quantise_some(const QuantiseArgs& g, int64_t begin) {
  const size_t count = kWhole ? kQuantised : static_cast<size_t>(g.n - begin);
  F64 x;
  if (g.integers != nullptr) {
    I32 in{};
    std::memcpy(&in, g.integers + begin, 4 * count);
    x = __builtin_convertvector(in, F64);
  } else {
    F32 in{};
    std::memcpy(&in, g.floats + begin, 4 * count);
    x = __builtin_convertvector(in, F64);
  }
  const I32 rounded = rounded_to(x, g.rounding);
  if (g.y_bytes == 4) {
    std::memcpy(static_cast<int32_t*>(g.y) + begin, &rounded, 4 * count);
  } else if (g.y_bytes == 2) {
    const U16 pairs = __builtin_convertvector(rounded, U16);
    std::memcpy(static_cast<uint16_t*>(g.y) + begin, &pairs, 2 * count);
  } else {
    const U8 bytes = __builtin_convertvector(rounded, U8);
    std::memcpy(static_cast<uint8_t*>(g.y) + begin, &bytes, count);
  }
}

inline void quantise_of(const QuantiseArgs& g) {
  int64_t i = 0;
  if (is_narrow(g)) {
    for (; i + kNarrow <= g.n; i += kNarrow) quantise_narrow<true>(g, i);
    if (i < g.n) quantise_narrow<false>(g, i);
    return;
  }
  for (; i + kQuantised <= g.n; i += kQuantised) quantise_some<true>(g, i);
  if (i < g.n) quantise_some<false>(g, i);
}

}  // namespace
}  // namespace rill::kernels
