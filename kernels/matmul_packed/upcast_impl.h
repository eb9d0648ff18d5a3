#pragma once

#include "kernels/matmul_packed/few_rows_impl.h"

// Unpacks reduced-precision panels to f32. A scale has 8 significant bits and a value at most 7, so
// their product is exact.

namespace rill::kernels {
namespace {

template <class Arch>
using WholeLanes = xsimd::batch<int32_t, Arch>;

/// Convert signed bytes to integers, and the upper halves of floats to floats.
template <class Arch>
struct Narrow;
#if defined(__wasm__)
// WebAssembly has single instructions where the x86 intrinsics are emulated by several.
template <>
struct Narrow<Sse42> {
  static RILL_INLINE WholeLanes<Sse42> bytes(const std::byte* p) {
    const v128_t eight = wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p));
    v128_t four = wasm_i32x4_extend_low_i16x8(eight);
    // Without this barrier, Clang would convert the integers to floats one by one.
    asm("" : "+r"(four));
    return reinterpret_cast<__m128i>(four);
  }
  static RILL_INLINE Lanes<Sse42> upper_halves(const std::byte* p) {
    return reinterpret_cast<__m128>(wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16));
  }
};
#elif defined(__SSE4_2__)
template <>
struct Narrow<Sse42> {
  static RILL_INLINE WholeLanes<Sse42> bytes(const std::byte* p) {
    int32_t four;
    std::memcpy(&four, p, sizeof four);
    return _mm_cvtepi8_epi32(_mm_cvtsi32_si128(four));
  }
  static RILL_INLINE Lanes<Sse42> upper_halves(const std::byte* p) {
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(halves), 16));
  }
};
#endif
#if defined(__AVX2__) && defined(__FMA__)
template <>
struct Narrow<Avx2> {
  static RILL_INLINE WholeLanes<Avx2> bytes(const std::byte* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static RILL_INLINE Lanes<Avx2> upper_halves(const std::byte* p) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
};
#endif
#if defined(__AVX512BW__)
template <>
struct Narrow<Avx512> {
  static RILL_INLINE WholeLanes<Avx512> bytes(const std::byte* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static RILL_INLINE Lanes<Avx512> upper_halves(const std::byte* p) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};
#endif
#if defined(__ARM_NEON)
template <>
struct Narrow<Neon> {
  static RILL_INLINE WholeLanes<Neon> bytes(const std::byte* p) {
    uint32_t four;
    std::memcpy(&four, p, sizeof four);
    return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four))));
  }
  static RILL_INLINE Lanes<Neon> upper_halves(const std::byte* p) {
    uint16_t halves[4];
    std::memcpy(halves, p, sizeof halves);
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(halves), 16));
  }
};
#endif

/// Upcast `count` halves.
template <class Arch>
RILL_INLINE void upcast_halves(const std::byte* from, int64_t count, float* to) {
  constexpr int kLanes = Ops<Arch>::kLanes;
  for (int64_t i = 0; i < count; i += kLanes) {
    UpcastF16<Arch>::load(from + 2 * i).store_unaligned(to + i);
  }
}

/// Unpack blocks with kPerByte values per byte: one of 8 bits, or two of 4.
template <class Arch, int kPerByte>
RILL_INLINE void upcast_blocks(const std::byte* from, int64_t k, int64_t columns, float* to) {
  constexpr int kLanes = Ops<Arch>::kLanes;
  for (int64_t begin = 0; begin < k; begin += kPackedBlock) {
    const int64_t rows = k - begin < kPackedBlock ? k - begin : kPackedBlock;
    const std::byte* values = from + 2 * columns;
    for (int64_t col = 0; col < columns; col += kLanes) {
      const Lanes<Arch> scale = Narrow<Arch>::upper_halves(from + 2 * col);
      const std::byte* at = values + col;
      float* out = to + col;
      int64_t p = 0;
#pragma GCC unroll 4
      for (; p + kPerByte <= rows; p += kPerByte, at += columns, out += kPerByte * columns) {
        const WholeLanes<Arch> value = Narrow<Arch>::bytes(at);
        if constexpr (kPerByte == 1) {
          (xsimd::to_float(value) * scale).store_unaligned(out);
        } else {
          (xsimd::to_float((value << 28) >> 28) * scale).store_unaligned(out);
          (xsimd::to_float(value >> 4) * scale).store_unaligned(out + columns);
        }
      }
      if (kPerByte == 2 && p < rows) {
        const WholeLanes<Arch> value = Narrow<Arch>::bytes(at);
        (xsimd::to_float((value << 28) >> 28) * scale).store_unaligned(out);
      }
    }
    from = values + (rows + kPerByte - 1) / kPerByte * columns;
    to += rows * columns;
  }
}

}  // namespace
}  // namespace rill::kernels
