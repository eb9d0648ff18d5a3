#pragma once

#include "kernels/matmul_packed/few_rows_impl.h"

// Panels of fewer bits written out as f32. A scale has 8 significant bits and a value has 7 at
// most, so that their product is exact.

namespace rill::kernels {
namespace {

template <class Arch>
using WholeLanes = xsimd::batch<int32_t, Arch>;

/// Read signed bytes as whole numbers, and the upper halves of floats as floats.
template <class Arch>
struct Narrow;
#if defined(__wasm__)
// Browsers have single instructions for several that emulate the intrinsics of x86.
template <>
struct Narrow<Sse42> {
  static RILL_INLINE WholeLanes<Sse42> bytes(const std::byte* p) {
    const v128_t eight = wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p));
    v128_t four = wasm_i32x4_extend_low_i16x8(eight);
    // Clang would take the whole numbers apart to make floats of them one by one.
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

/// Write `count` halves out.
template <class Arch>
RILL_INLINE void upcast_halves(const std::byte* from, int64_t count, float* to) {
  constexpr int kLanes = Ops<Arch>::kLanes;
  for (int64_t i = 0; i < count; i += kLanes) {
    UpcastF16<Arch>::load(from + 2 * i).store_unaligned(to + i);
  }
}

/// Write blocks out in which a byte has kPerByte values: one of 8 bits, or two of 4.
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

/// Copy values p to p + count of the one row of A, from segment to segment.
RILL_INLINE void copy_row(const MatmulF32Args& g, int64_t p, int64_t count, float* to) {
  while (count > 0) {
    const int64_t within = p % g.segment_len;
    const int64_t run = count < g.segment_len - within ? count : g.segment_len - within;
    const float* from = g.a + p / g.segment_len * g.segment_stride + within;
    for (int64_t i = 0; i < run; ++i) *to++ = from[i];
    p += run;
    count -= run;
  }
}

/// Compute one row by kPanels panels from column `col` on, without writing B out.
template <class Arch, int kPerByte, int kPanels>
[[gnu::noinline]] void scaled_row(const MatmulPackedArgs& args, PackedFormat format,
                                  int64_t col) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kIn = kPanelVecs<Arch>, kVecs = kPanels * kIn, kNr = kPanelColumns<Arch>;
  constexpr int kLanes = S::kLanes;
  const MatmulF32Args& g = args.product;
  const FewRows place{col, 1, 1, kVecs};
  const int64_t k = g.segments * g.segment_len, panel_bytes = packed_panel_bytes(format, k, kNr);
  alignas(64) float sums[kVecs * kLanes];
  alignas(64) float scales[kVecs * kLanes];
  float a[kPackedBlock];
  start_few<Arch>(g, place, sums);
  V acc[kVecs];
#pragma GCC unroll 32
  for (int j = 0; j < kVecs; ++j) acc[j] = V::load_aligned(sums + j * kLanes);
  const std::byte* panel = args.b + col / kNr * panel_bytes;
  for (int64_t begin = 0; begin < k; begin += kPackedBlock) {
    const int64_t rows = k - begin < kPackedBlock ? k - begin : kPackedBlock;
    copy_row(g, begin, rows, a);
    const std::byte* at[kVecs];
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      const std::byte* block = panel + j / kIn * panel_bytes;
      Narrow<Arch>::upper_halves(block + 2 * (j % kIn) * kLanes)
          .store_aligned(scales + j * kLanes);
      at[j] = block + 2 * kNr + j % kIn * kLanes;
    }
    const auto add = [&](WholeLanes<Arch> value, int j, int64_t p)
                         __attribute__((always_inline)) {
      const V scaled = xsimd::to_float(value) * V::load_aligned(scales + j * kLanes);
      acc[j] = S::madd(V(a[p]), scaled, acc[j]);
    };
    int64_t p = 0, offset = 0;
    for (; p + kPerByte <= rows; p += kPerByte, offset += kNr) {
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        const WholeLanes<Arch> value = Narrow<Arch>::bytes(at[j] + offset);
        if constexpr (kPerByte == 1) {
          add(value, j, p);
        } else {
          add((value << 28) >> 28, j, p);
          add(value >> 4, j, p + 1);
        }
      }
    }
    if (kPerByte == 2 && p < rows) {
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        add((Narrow<Arch>::bytes(at[j] + offset) << 28) >> 28, j, p);
      }
    }
    panel += packed_panel_bytes(format, rows, kNr);
  }
#pragma GCC unroll 32
  for (int j = 0; j < kVecs; ++j) acc[j].store_aligned(sums + j * kLanes);
  finish_few<Arch>(g, place, sums);
}

/// Compute all of C from a B in blocks: a single row as it lies, more by way of B written out.
template <class Arch, int kPerByte>
RILL_INLINE void scaled_product(const MatmulPackedArgs& args, PackedFormat format,
                                UpcastPanel upcast,
                                void (*plain)(const MatmulF32Args&) noexcept RILL_NONBLOCKING) {
  constexpr int kNr = kPanelColumns<Arch>;
  const int64_t n = args.product.n;
  if (args.product.m != 1) return packed_written_out(args, {format, kNr, upcast, plain});
  int64_t col = 0;
  for (; col + 4 * kNr <= n; col += 4 * kNr) scaled_row<Arch, kPerByte, 4>(args, format, col);
  for (; col < n; col += kNr) scaled_row<Arch, kPerByte, 1>(args, format, col);
}

}  // namespace
}  // namespace rill::kernels
