#pragma once

#include "kernels/int8/floats_args.h"
#include "kernels/int8/int8_impl.h"
#include "kernels/int8/sparse_impl.h"

// Matmuls of floats in integers. Every row of A is rounded to bytes by a scale of that row alone.
// Sums are exact, and each other operation rounds once: all tiers have the same bits.

namespace rill::kernels {
namespace {

typedef float FloatLanes __attribute__((vector_size(4 * Dot::kLanes)));
typedef int32_t IntLanes __attribute__((vector_size(4 * Dot::kLanes)));
typedef uint8_t ByteLanes __attribute__((vector_size(Dot::kLanes)));
typedef uint16_t PairLanes __attribute__((vector_size(2 * Dot::kLanes)));

template <class To, class From>
RILL_INLINE To with_bits_of(From from) RILL_NONBLOCKING {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

RILL_INLINE FloatLanes floats_at(const float* from) RILL_NONBLOCKING {
  FloatLanes out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Out of line, for the last vector of a row only.
[[gnu::noinline]] inline void copy_bytes(const void* from, int64_t count, void* to) {
  std::memcpy(to, from, static_cast<size_t>(count));
}

/// Copy fewer floats than a vector has into a whole one, with zeros after them. Null stays null.
[[gnu::noinline]] inline const float* padded(const float* from, int64_t count,
                                             float (&to)[Dot::kLanes]) {
  if (from == nullptr) return nullptr;
  for (int64_t i = 0; i < Dot::kLanes; ++i) to[i] = i < count ? from[i] : 0.0f;
  return to;
}

/// Load a whole vector if enough floats are left; else pad them.
RILL_INLINE FloatLanes floats_at(const float* from, int64_t left) RILL_NONBLOCKING {
  float whole[Dot::kLanes];
  return floats_at(left < Dot::kLanes ? padded(from, left, whole) : from);
}

template <class V>
RILL_INLINE void store_some(const V& values, int64_t count, void* to) RILL_NONBLOCKING {
  if (count < Dot::kLanes) {
    return copy_bytes(&values, static_cast<int64_t>(sizeof values) / Dot::kLanes * count, to);
  }
  std::memcpy(to, &values, sizeof values);
}

/// Return the bits of the largest magnitude of n floats. A NaN has larger bits than infinity.
inline int32_t largest_bits_of(const float* from, int64_t n) RILL_NONBLOCKING {
  IntLanes most{};
  for (int64_t i = 0; i < n; i += Dot::kLanes) {
    const IntLanes bits = with_bits_of<IntLanes>(floats_at(from + i, n - i)) & 0x7FFFFFFF;
    most = bits > most ? bits : most;
  }
  int32_t lanes[Dot::kLanes];
  std::memcpy(lanes, &most, sizeof lanes);
  int32_t largest = 0;
#pragma GCC unroll 1
  for (const int32_t lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

/// Multiply n floats by `steps` and round them to bytes, or to 16 bits, in the form of the kernel.
inline void to_bytes_of(const float* from, int64_t n, float steps, uint8_t* to)
    RILL_NONBLOCKING {
  for (int64_t i = 0; i < n; i += Dot::kLanes, to += Dot::kLanes * (4 / Dot::kDepth)) {
    // The sum holds the nearest integer, ties to even, in the lowest bits of its mantissa.
    const FloatLanes sum = floats_at(from + i, n - i) * steps + 0x1.8p23f;
    const auto rounded = with_bits_of<IntLanes>(sum);
    if constexpr (Dot::kWide) {
      store_some(__builtin_convertvector(rounded, PairLanes), n - i, to);
    } else {
      store_some(__builtin_convertvector(rounded ^ (Dot::kSigned ? 0 : 0x80), ByteLanes), n - i,
                 to);
    }
  }
}

/// Scale the sums of up to kVecs vectors for each row, [rows][count][lanes].
[[gnu::noinline]] inline void scale_sums(const ByteRows& rows, const FewBitsVector* vectors,
                                         int count, const IntLanes* whole, int stride,
                                         float* sums) {
  for (int r = 0; r < rows.count; ++r, whole += stride) {
    for (int j = 0; j < count; ++j, sums += Dot::kLanes) {
      const std::byte* const head = vectors[j].panel + 4 * vectors[j].first;
      IntLanes bits;
      IntLanes start;
      std::memcpy(&bits, head, sizeof bits);
      // A negative scale marks a sparse panel.
      const auto scale = with_bits_of<FloatLanes>(bits & 0x7FFFFFFF);
      std::memcpy(&start, head + 4 * rows.columns, sizeof start);
      const IntLanes both =
          with_bits_of<IntLanes>(with_bits_of<Lanes>(whole[j]) + with_bits_of<Lanes>(start));
      const FloatLanes sum =
          __builtin_convertvector(both, FloatLanes) * (scale * rows.scales[r]);
      std::memcpy(sums, &sum, sizeof sum);
    }
  }
}

/// Compute the sums of up to kRows rows by up to kVecs vectors of columns, [rows][count][lanes].
/// Missing rows and vectors repeat the last one.
template <int kRows, int kVecs>
[[gnu::noinline]] void byte_sums(const ByteRows& rows, const FewBitsVector* vectors, int count,
                                 float* sums) RILL_NONBLOCKING {
  using V = Dot::V;
  const uint8_t* row[kRows];
  const int8_t* at[kVecs];
  V acc[kRows][kVecs];
  for (int r = 0; r < kRows; ++r) {
    row[r] = rows.bytes + (r < rows.count ? r : rows.count - 1) * rows.stride;
  }
  for (int j = 0; j < kVecs; ++j) {
    const auto [panel, first] = vectors[j < count ? j : count - 1];
    at[j] = reinterpret_cast<const int8_t*>(panel) + 8 * rows.columns + first * Dot::kDepth;
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) acc[r][j] = Dot::spread(0);
  }
  const int64_t groups = int8_padded(rows.k) / Dot::kDepth;
  const int64_t step = rows.columns * Dot::kDepth;
  for (int64_t p = 0, offset = 0; p < groups; ++p, offset += step) {
    V b[kVecs];
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) b[j] = Dot::load(at[j] + offset);
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      int32_t four;
      std::memcpy(&four, row[r] + p * 4, sizeof four);
      const V a = Dot::spread(four);
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) acc[r][j] = Dot::add(acc[r][j], a, b[j]);
    }
  }
  IntLanes whole[kRows * kVecs];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) whole[r * kVecs + j] = with_bits_of<IntLanes>(acc[r][j]);
  }
  scale_sums(rows, vectors, count, whole, kVecs, sums);
}

/// Return whether a panel has only its blocks that are not zero.
inline bool is_sparse(const ByteRows& rows, const std::byte* panel) RILL_NONBLOCKING {
  uint32_t bits = 0;
  std::memcpy(&bits, panel, sizeof bits);
  return bits >> 31u != 0 && SparseLayout(rows.k, rows.columns, kStrip).capacity > 0;
}

/// As `byte_sums`, for sparse panels.
template <int kRows, int kVecs>
[[gnu::noinline]] void sparse_sums(const ByteRows& rows, const FewBitsVector* vectors, int count,
                                   float* sums) RILL_NONBLOCKING {
  const uint8_t* row[kRows];
  for (int r = 0; r < kRows; ++r) {
    row[r] = rows.bytes + (r < rows.count ? r : rows.count - 1) * rows.stride;
  }
  const SparseLayout layout(rows.k, rows.columns, kStrip);
  constexpr int kStrips = Dot::kLanes / kStrip;
  IntLanes whole[kRows * kVecs];
  auto* const to = reinterpret_cast<std::byte*>(whole);
  for (int i = 0; i < count * kStrips; ++i) {
    const auto [panel, first] = vectors[i / kStrips];
    StripLanes some[kRows];
    strip_sums(strip_blocks(panel, layout, first / kStrip + i % kStrips), row, some);
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(to + (r * kVecs * kStrips + i) * sizeof some[r], &some[r], sizeof some[r]);
    }
  }
  scale_sums(rows, vectors, count, whole, kVecs, sums);
}

/// Finish and store some sums of C. A partial last vector of a row is padded to a whole one.
[[gnu::noinline]] inline void finish_rows(const MatmulF32Args& g,
                                          const SumsOfC& some) RILL_NONBLOCKING {
  const float* sums = some.sums;
  for (int64_t row = some.row; row < some.row + some.rows; ++row) {
    for (int j = 0; j < some.vecs; ++j, sums += Dot::kLanes) {
      const int64_t col = some.col + j * Dot::kLanes, count = g.n - col;
      if (count <= 0) continue;
      float* const c = g.c + row * g.ldc + col;
      const float* start = g.accumulate ? c : g.bias != nullptr ? g.bias + col : nullptr;
      const float* residual = g.residual != nullptr ? g.residual + row * g.ldr + col : nullptr;
      float* to = c;
      float whole[3][Dot::kLanes];
      if (count < Dot::kLanes) {
        start = padded(start, count, whole[0]);
        residual = padded(residual, count, whole[1]);
        to = whole[2];
      }
      FloatLanes v = floats_at(sums);
      if (start != nullptr) v = floats_at(start) + v;
      if (residual != nullptr) v = v + floats_at(residual);
      if (g.slope != 1.0f) {
        const FloatLanes less = v * g.slope;
        v = less > v ? less : v;
      }
      if (g.clip) {
        const FloatLanes lo = FloatLanes{} + g.lo, hi = FloatLanes{} + g.hi;
        v = lo > v ? lo : v;
        v = hi < v ? hi : v;
      }
      std::memcpy(to, &v, sizeof v);
      if (to != c) copy_bytes(to, 4 * count, c);
    }
  }
}

/// The vectors of columns that one row is multiplied by at once: their sums hide the latency of a
/// dot product.
constexpr int kRowVecs = Dot::kLanes > 1 ? 6 : Dot::kPanel;

[[gnu::noinline]] inline void one_row_sums(const ByteRows& row, const FewBitsVector* vectors,
                                           int count, float* sums) RILL_NONBLOCKING {
  for (; count > 0; count -= kRowVecs, vectors += kRowVecs, sums += kRowVecs * Dot::kLanes) {
    // All panels of a matrix are alike.
    const auto some = is_sparse(row, vectors->panel) ? sparse_sums<1, kRowVecs>
                                                     : byte_sums<1, kRowVecs>;
    some(row, vectors, count < kRowVecs ? count : kRowVecs, sums);
  }
}

constexpr int kManyByteRows = Dot::kLanes > 1 ? 4 : 1;

inline void many_row_sums(const ByteRows& rows, const FewBitsVector* vectors, int count,
                          float* sums) RILL_NONBLOCKING {
  const auto some = is_sparse(rows, vectors->panel) ? sparse_sums<kManyByteRows, Dot::kPanel>
                                                    : byte_sums<kManyByteRows, Dot::kPanel>;
  some(rows, vectors, count, sums);
}

constexpr ByteTiles kTiles = {Dot::kLanes,   Dot::kDepth,     Dot::kPanel, kRowVecs,
                              kManyByteRows, largest_bits_of, to_bytes_of, one_row_sums,
                              many_row_sums, finish_rows};

inline void sums_by_int8_of(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                            float* sums) {
  one_row_sums({row.bytes, 0, &row.scale, 1, row.k, row.columns}, vectors, count, sums);
}

}  // namespace
}  // namespace rill::kernels

/// Define the functions of one kernel of kernels.inc.
#define RILL_BY_INT8(name)                                                                   \
  void matmul_by_int8_##name(const MatmulPackedArgs& args) noexcept {                       \
    matmul_by_tiles(args, kTiles);                                                          \
  }                                                                                         \
  void sums_by_int8_##name(const FewBitsRow& row, const FewBitsVector* vectors, int count,  \
                           float* sums) noexcept {                                          \
    sums_by_int8_of(row, vectors, count, sums);                                             \
  }                                                                                         \
  float int8_row_##name(const FloatRow& row, uint8_t* to) noexcept {                        \
    return int8_row(row, kTiles, to);                                                       \
  }
