#pragma once

#include "kernels/matmul_packed/few_rows_impl.h"

// Matmuls with an f16 B. Upcasting is exact, so the results have the bits of the f32 matmul with
// the upcast B.

namespace rill::kernels {
namespace {

/// One row of a panel as floats.
template <class Arch>
RILL_INLINE Lanes<Arch> halves_at(const std::byte* panel, int64_t p, int vec) {
  return UpcastF16<Arch>::load(panel + (p * kPanelColumns<Arch> + vec * Ops<Arch>::kLanes) * 2);
}

/// Compute up to kRows rows by kPanels panels from column `col` on.
template <class Arch, int kRows, int kPanels>
[[gnu::noinline]] void few_rows(const MatmulPackedArgs& args, int rows,
                                int64_t col) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kIn = kPanelVecs<Arch>, kVecs = kPanels * kIn;
  const MatmulF32Args& g = args.product;
  const FewRows place{col, rows, kRows, kVecs};
  const int64_t k = g.segments * g.segment_len;
  alignas(64) float sums[kRows * kVecs * S::kLanes];
  start_few<Arch>(g, place, sums);
  V acc[kRows][kVecs];
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
    a[r] = g.a + place.row_of(r) * g.lda;
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      acc[r][j] = V::load_aligned(sums + (r * kVecs + j) * S::kLanes);
    }
  }
  const std::byte* panels[kPanels];
#pragma GCC unroll 32
  for (int i = 0; i < kPanels; ++i) panels[i] = args.b + (col + i * kPanelColumns<Arch>)*k * 2;
  int64_t at = 0;
  for (int64_t s = 0; s < g.segments; ++s) {
    for (int64_t p = 0; p < g.segment_len; ++p, ++at) {
      V values[kVecs];
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) values[j] = halves_at<Arch>(panels[j / kIn], at, j % kIn);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        const V av(a[r][p]);
#pragma GCC unroll 32
        for (int j = 0; j < kVecs; ++j) acc[r][j] = S::madd(av, values[j], acc[r][j]);
      }
    }
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) a[r] += g.segment_stride;
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      acc[r][j].store_aligned(sums + (r * kVecs + j) * S::kLanes);
    }
  }
  finish_few<Arch>(g, place, sums);
}

/// Compute up to kRows rows, with as many panels at once as have sums in registers.
template <class Arch, int kRows>
void all_columns(const MatmulPackedArgs& args, int rows) {
  constexpr int kNr = kPanelColumns<Arch>;
  constexpr int kFit = Ops<Arch>::kRegisters / 2 / (kRows * kPanelVecs<Arch>);
  constexpr int kPanels = kFit < 4 ? kFit : 4;
  const int64_t n = args.product.n;
  int64_t col = 0;
  if constexpr (kPanels > 1) {
    for (; col + kPanels * kNr <= n; col += kPanels * kNr) {
      few_rows<Arch, kRows, kPanels>(args, rows, col);
    }
  }
  for (; col < n; col += kNr) few_rows<Arch, kRows, 1>(args, rows, col);
}

/// Compute all of C; `plain` is the tier's f32 matmul, and `upcast` unpacks its panels.
template <class Arch>
void matmul_f16(const MatmulPackedArgs& args, UpcastPanel upcast,
                void (*plain)(const MatmulF32Args&) noexcept RILL_NONBLOCKING) {
  const MatmulF32Args& g = args.product;
  if (g.m <= 0 || g.n <= 0) return;
  if (g.m == 1) return all_columns<Arch, 1>(args, 1);
  if (g.m == 2) return all_columns<Arch, 2>(args, 2);
  const auto rows = static_cast<int>(g.m);
  if (g.m <= 4) return all_columns<Arch, 4>(args, rows);
  if constexpr (16 * kPanelVecs<Arch> <= Ops<Arch>::kRegisters) {
    if (g.m <= 8) return all_columns<Arch, 8>(args, rows);
  }
  packed_written_out(args, {PackedFormat::kF16, kPanelColumns<Arch>, upcast, plain});
}

}  // namespace
}  // namespace rill::kernels
