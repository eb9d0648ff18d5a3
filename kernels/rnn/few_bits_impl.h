#pragma once

#include "kernels/matmul_packed/upcast_impl.h"
#include "kernels/rnn/rnn_args.h"

// The products of one lane with a W of fewer bits, which is upcast in registers. Values are exact
// as floats, and every column is one chain over ascending k from 0: the bits of the loops with a W
// that is written out.

namespace rill::kernels {
namespace {

/// A vector of columns: the panel that it lies in, and its first column.
struct FewBitsVector {
  const std::byte* panel;
  int64_t first;
};

/// One row of `k` values by panels of `columns` columns.
struct FewBitsRow {
  const float* h;
  int64_t k, columns;
};

template <class Arch, int kVecs>
[[gnu::noinline]] void f16_sums(const FewBitsRow& row, const FewBitsVector* vectors,
                                Lanes<Arch>* sums) RILL_NONBLOCKING {
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
  for (int j = 0; j < kVecs; ++j) sums[j] = acc[j];
}

template <class Arch, int kVecs>
[[gnu::noinline]] void q8_sums(const FewBitsRow& row, const FewBitsVector* vectors,
                               Lanes<Arch>* sums) RILL_NONBLOCKING {
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
  for (int j = 0; j < kVecs; ++j) sums[j] = acc[j];
}

/// Return whether weights of a format are upcast in registers.
inline bool reads_few_bits(PackedFormat format) {
  return format == PackedFormat::kF16 || format == PackedFormat::kQ8;
}

/// Compute the sums of `count` vectors, as many at once as there are chains to hide the latency of.
template <class Arch>
[[gnu::noinline]] void few_bits_sums(PackedFormat format, const FewBitsRow& row,
                                     const FewBitsVector* vectors, int count,
                                     Lanes<Arch>* sums) RILL_NONBLOCKING {
  const auto take = [&](auto f16, auto q8, int vecs) {
    for (; count >= vecs; count -= vecs, vectors += vecs, sums += vecs) {
      format == PackedFormat::kF16 ? f16(row, vectors, sums) : q8(row, vectors, sums);
    }
  };
  take(f16_sums<Arch, 8>, q8_sums<Arch, 8>, 8);
  take(f16_sums<Arch, 4>, q8_sums<Arch, 4>, 4);
  take(f16_sums<Arch, 2>, q8_sums<Arch, 2>, 2);
  take(f16_sums<Arch, 1>, q8_sums<Arch, 1>, 1);
}

}  // namespace
}  // namespace rill::kernels
