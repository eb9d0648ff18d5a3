#pragma once

#include <type_traits>

#include "kernels/matmul_packed/upcast_impl.h"
#include "kernels/rnn/rnn_args.h"

// The products of one lane with a reduced-precision W, upcast in registers. Upcasting is exact, and
// every column is one chain over ascending k from 0, so the bits are those of the loops with an f32
// W.

namespace rill::kernels {
namespace {

template <class Arch, int kVecs>
[[gnu::noinline]] void f16_sums(const FewBitsRow& row, const FewBitsVector* vectors,
                                float* sums) RILL_NONBLOCKING {
  using V = Lanes<Arch>;
  const std::byte* at[kVecs];
  V acc[kVecs];
#pragma GCC unroll 32
  for (int j = 0; j < kVecs; ++j) {
    at[j] = vectors[j].panel + 2 * vectors[j].first;
    acc[j] = V(0.0f);
  }
  const int64_t step = 2 * row.columns;
  for (int64_t p = 0, offset = 0; p < row.k; ++p, offset += step) {
    const V h(row.h[p]);
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      acc[j] = Ops<Arch>::madd(h, UpcastF16<Arch>::load(at[j] + offset), acc[j]);
    }
  }
#pragma GCC unroll 32
  for (int j = 0; j < kVecs; ++j) acc[j].store_aligned(sums + j * Ops<Arch>::kLanes);
}

template <class Arch, int kVecs>
[[gnu::noinline]] void q8_sums(const FewBitsRow& row, const FewBitsVector* vectors,
                               float* sums) RILL_NONBLOCKING {
  using V = Lanes<Arch>;
  V acc[kVecs];
#pragma GCC unroll 32
  for (V& each : acc) each = V(0.0f);
  int64_t block = 0;
  for (int64_t begin = 0; begin < row.k; begin += kPackedBlock) {
    const int64_t rows = row.k - begin < kPackedBlock ? row.k - begin : kPackedBlock;
    const std::byte* at[kVecs];
    V scale[kVecs];
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      const auto [panel, first] = vectors[j];
      scale[j] = Narrow<Arch>::upper_halves(panel + block + 2 * first);
      at[j] = panel + block + 2 * row.columns + first;
    }
    for (int64_t p = begin, offset = 0; p < begin + rows; ++p, offset += row.columns) {
      const V h(row.h[p]);
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        const V value = xsimd::to_float(Narrow<Arch>::bytes(at[j] + offset)) * scale[j];
        acc[j] = Ops<Arch>::madd(h, value, acc[j]);
      }
    }
    block += row.columns * (2 + rows);
  }
#pragma GCC unroll 32
  for (int j = 0; j < kVecs; ++j) acc[j].store_aligned(sums + j * Ops<Arch>::kLanes);
}

/// Compute the sums of `count` vectors, with enough chains at once to hide the latency. `F` is the
/// loop for kVecs of them.
template <class Arch, class F>
RILL_INLINE void few_bits_sums(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                               float* sums, F f) {
  const auto take = [&](auto vecs) {
    constexpr int kVecs = decltype(vecs)::value;
    for (; count >= kVecs; count -= kVecs, vectors += kVecs, sums += kVecs * Ops<Arch>::kLanes) {
      f(vecs, row, vectors, sums);
    }
  };
  take(std::integral_constant<int, 8>());
  take(std::integral_constant<int, 4>());
  take(std::integral_constant<int, 2>());
  take(std::integral_constant<int, 1>());
}

template <class Arch>
RILL_INLINE void f16_columns(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                             float* sums) {
  few_bits_sums<Arch>(row, vectors, count, sums, [](auto vecs, auto&&... a) {
    f16_sums<Arch, decltype(vecs)::value>(a...);
  });
}

template <class Arch>
RILL_INLINE void q8_columns(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                            float* sums) {
  few_bits_sums<Arch>(row, vectors, count, sums, [](auto vecs, auto&&... a) {
    q8_sums<Arch, decltype(vecs)::value>(a...);
  });
}

}  // namespace
}  // namespace rill::kernels
