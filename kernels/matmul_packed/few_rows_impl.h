#pragma once

#include <cstddef>
#include <cstring>
#if defined(__wasm__)
#include <wasm_simd128.h>
#endif

#include "kernels/half/half_bits.h"
#include "kernels/simd/dense_impl.h"
#include "kernels/matmul_packed/matmul_packed_args.h"

// Shared code of matmuls with a quantized B. B lies in panels of nr columns.

namespace rill::kernels {
namespace {

/// Columns of a panel.
template <class Arch>
constexpr int kPanelColumns = kPanelVecs<Arch> * Ops<Arch>::kLanes;

/// Upcast f16 to f32, by bit operations if the CPU has no instruction for it.
template <class Arch>
struct UpcastF16 {
  static RILL_INLINE Lanes<Arch> load(const std::byte* p) {
    constexpr int kLanes = Ops<Arch>::kLanes;
    alignas(64) uint32_t bits[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      uint16_t half;
      std::memcpy(&half, p + 2 * i, 2);
      bits[i] = float_bits_of_half(half);
    }
    alignas(64) float values[kLanes];
    std::memcpy(values, bits, sizeof values);
    return Lanes<Arch>::load_aligned(values);
  }
};
#if defined(__wasm__)
template <>
struct UpcastF16<Sse42> {
  static RILL_INLINE Lanes<Sse42> load(const std::byte* p) {
    v128_t bits = wasm_u32x4_load16x4(p);
    // Without this barrier, Clang operates on the halves before upcasting them, with more
    // instructions.
    asm("" : "+r"(bits));
    const v128_t size = wasm_v128_and(bits, wasm_i32x4_const_splat(0x7FFF));
    // Browsers do not flush denormals, so the factor converts subnormal halves correctly.
    const v128_t finite =
        wasm_f32x4_mul(wasm_i32x4_shl(size, 13), wasm_f32x4_const_splat(0x1p112F));
    // Keep an all-ones exponent (infinity, NaN).
    const v128_t endless = wasm_v128_and(wasm_i32x4_gt(size, wasm_i32x4_const_splat(0x7BFF)),
                                         wasm_i32x4_const_splat(0x7F800000));
    const v128_t sign = wasm_i32x4_shl(wasm_v128_xor(bits, size), 16);
    return reinterpret_cast<__m128>(wasm_v128_or(wasm_v128_or(finite, endless), sign));
  }
};
#elif defined(__SSE4_2__)
template <>
struct UpcastF16<Sse42> {
  static RILL_INLINE Lanes<Sse42> load(const std::byte* p) {
    const __m128i bits = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m128i size = _mm_and_si128(bits, _mm_set1_epi32(0x7FFF));
    const __m128i bias = _mm_set1_epi32(112 << 23);
    // Keep an all-ones exponent (infinity, NaN); subnormal halves count units of 2^-24.
    const __m128i endless = _mm_and_si128(_mm_cmpgt_epi32(size, _mm_set1_epi32(0x7BFF)), bias);
    const __m128i normal =
        _mm_add_epi32(_mm_add_epi32(_mm_slli_epi32(size, 13), bias), endless);
    const __m128 counted = _mm_mul_ps(_mm_cvtepi32_ps(size), _mm_set1_ps(0x1p-24f));
    const __m128i small = _mm_cmplt_epi32(size, _mm_set1_epi32(0x400));
    const __m128i value = _mm_blendv_epi8(normal, _mm_castps_si128(counted), small);
    const __m128i sign = _mm_slli_epi32(_mm_xor_si128(bits, size), 16);
    return _mm_castsi128_ps(_mm_or_si128(value, sign));
  }
};
#endif
#if defined(__AVX2__) && defined(__FMA__)
template <>
struct UpcastF16<Avx2> {
  static RILL_INLINE Lanes<Avx2> load(const std::byte* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};
#endif
#if defined(__AVX512BW__)
template <>
struct UpcastF16<Avx512> {
  static RILL_INLINE Lanes<Avx512> load(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
};
#endif
#if defined(__ARM_NEON)
template <>
struct UpcastF16<Neon> {
  static RILL_INLINE Lanes<Neon> load(const std::byte* p) {
    uint16_t bits[4];
    std::memcpy(bits, p, sizeof bits);
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(bits)));
  }
};
#endif

/// The place of a tile of few rows in C. It computes `tile_rows` rows and stores `rows` of them;
/// the others repeat the last row.
struct FewRows {
  int64_t col;
  int rows, tile_rows, vecs;

  RILL_INLINE int64_t row_of(int r) const { return r < rows ? r : rows - 1; }
};

/// Initialise sums, [tile_rows][vecs] vectors, with the bias, C or zeros, and with zeros past the
/// last column.
template <class Arch>
[[gnu::noinline]] void start_few(const MatmulF32Args& g, FewRows at, float* sums) {
  using S = Ops<Arch>;
  for (int r = 0; r < at.tile_rows; ++r) {
    const float* from = g.accumulate        ? g.c + at.row_of(r) * g.ldc + at.col
                        : g.bias == nullptr ? nullptr
                                            : g.bias + at.col;
    for (int j = 0; j < at.vecs; ++j, sums += S::kLanes) {
      const int64_t col = j * S::kLanes;
      const auto v =
          from == nullptr ? Lanes<Arch>(0.0f) : S::load_partial(from + col, g.n - at.col - col);
      v.store_aligned(sums);
    }
  }
}

/// Add the residual to the sums, apply the leaky ReLU and the clip, and store them to C, up to the
/// last column.
template <class Arch>
[[gnu::noinline]] void finish_few(const MatmulF32Args& g, FewRows at, const float* sums) {
  using S = Ops<Arch>;
  const Clip<Arch> clip(g.clip, g.lo, g.hi);
  for (int r = 0; r < at.rows; ++r) {
    for (int j = 0; j < at.vecs; ++j, sums += S::kLanes) {
      const int64_t col = at.col + j * S::kLanes;
      auto v = Lanes<Arch>::load_aligned(sums);
      if (g.residual != nullptr) {
        v = v + S::load_partial(g.residual + r * g.ldr + col, g.n - col);
      }
      v = math::max_or_second(v * Lanes<Arch>(g.slope), v);
      S::store_partial(g.c + r * g.ldc + col, clip.apply(v), g.n - col);
    }
  }
}

}  // namespace
}  // namespace rill::kernels
