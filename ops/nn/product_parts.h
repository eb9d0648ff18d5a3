#pragma once

#include <algorithm>

#include "core/run/step_fields.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul_packed/matmul_packed.h"

namespace rill::ops {

/// How a matmul is split into slices that threads compute: rows, or panels of columns. Sums are
/// never split, so the bits are those of the whole matmul.
struct ProductSlices {
  int64_t count = 1;
  int64_t columns = 0;      ///< per slice; 0: a slice is a row
  int64_t panel_bytes = 0;  ///< of the packed B, per slice of columns
};

RILL_STEP_FIELDS(ProductSlices, count, columns, panel_bytes)

/// Choose how to slice a matmul [m, n]. Slice the rows if they make 16 tiles or more and B takes at
/// most 4 MiB: each core then keeps a copy of B in its cache, and mostly reads rows that it wrote a
/// step before. Otherwise slice the side with more tiles, so that all slices read the smaller
/// operand. If the step packs or unpacks B, slice the columns if there are 16 panels or more:
/// otherwise each slice of rows would have to pack all of B.
inline ProductSlices slices_of(int64_t m, int64_t n, int nr, bool packs, int64_t panel_bytes) {
  constexpr int64_t kRowsOfTile = 8;
  constexpr int64_t kEnough = 16;
  constexpr int64_t kSmallBytes = int64_t{4} << 20;
  const int64_t panels = (n + nr - 1) / nr;
  const int64_t tiles = (m + kRowsOfTile - 1) / kRowsOfTile;
  if (!packs && tiles >= kEnough && panels * panel_bytes <= kSmallBytes) return {m, 0, 0};
  if (panels >= tiles || (packs && panels >= kEnough)) return {panels, nr, panel_bytes};
  return {m, 0, 0};
}

/// The number of multiply-adds that take as long as loading one value of B, packed or not: these
/// loads bound matmuls of few rows.
constexpr double kWorkPerWeight = 16;

/// Return the slices of a whole matmul. `packs`: the step packs B.
inline ProductSlices slices_of(const kernels::MatmulF32Args& whole,
                               const kernels::MatmulF32& kernel, bool packs) {
  const int64_t k = whole.segments * whole.segment_len;
  return slices_of(whole.m, whole.n, kernel.nr, packs,
                   4 * kernels::matmul_f32_packed_floats(kernel, k, kernel.nr));
}

inline ProductSlices slices_of(const kernels::MatmulF32Args& whole,
                               const kernels::MatmulPacked& kernel) {
  const int64_t k = whole.segments * whole.segment_len;
  return slices_of(whole.m, whole.n, kernel.nr, true,
                   kernels::matmul_packed_bytes(kernel, k, kernel.nr));
}

/// Require that a matmul [m, n] with panels of `nr` columns can be cut into these slices.
inline void touch_slices(const ProductSlices& slices, int64_t m, int64_t n, int64_t nr,
                         int64_t panel_bytes, StepTouches& touches) {
  const bool rows = slices.columns == 0 && slices.count == m;
  const bool panels = slices.columns == nr && slices.panel_bytes == panel_bytes &&
                      slices.count == (n + nr - 1) / nr;
  touches.require(rows || panels, "slices of its product");
}

/// Require that the counts of a matmul are valid: the sizes of its packed operands are then in
/// range.
inline void touch_counts(const kernels::MatmulF32Args& args, StepTouches& touches) {
  for (const int64_t count : {args.m, args.n, args.segments, args.segment_len}) {
    touches.within(count, 0, kMostCounted);
  }
  touches.require(!args.whole_panels, "weights in their packed layout");
  const int64_t k = touches.holds() ? args.segments * args.segment_len : 0;
  touches.within(k, 0, kMostCounted);
}

/// Return the region of the rows of A; or that of the rows of C, which are `row_stride` apart.
inline Region rows_of(const kernels::MatmulF32Args& args, const Ref& a) {
  return region<float>(a)
      .over(args.m, args.lda)
      .over(args.segments, args.segment_stride)
      .over(args.segment_len);
}
inline Region results_of(const kernels::MatmulF32Args& args, const Ref& c, int64_t row_stride) {
  return region<float>(c).over(args.m, row_stride).over(args.n);
}

/// Return the region of the packed B: f32, or quantized if `few_bits` is not null.
inline Region packed_columns(const kernels::MatmulF32Args& args, const kernels::MatmulF32& kernel,
                             const kernels::MatmulPacked* few_bits, const Ref& b) {
  const int64_t k = args.segments * args.segment_len;
  const int64_t bytes = few_bits != nullptr
                            ? kernels::matmul_packed_bytes(*few_bits, k, args.n)
                            : 4 * kernels::matmul_f32_packed_floats(kernel, k, args.n);
  return region<std::byte>(b).over(bytes).aligned(64);
}

/// Report the additional requirements of a matmul with quantized weights.
inline void touch_few_bits(const kernels::MatmulF32Args& args,
                           const kernels::MatmulPacked& few_bits, StepTouches& touches) {
  constexpr int64_t kBlock = 32;
  touches.require(
      few_bits.format != kernels::PackedFormat::kQ4_0 || args.segment_len % kBlock == 0,
      "whole blocks of weights");
  if (!touches.holds()) return;
  touches.scratch(4 * kernels::matmul_packed_scratch_floats(few_bits, args));
}

/// Narrow a matmul, and its operands that are not null, to `count` slices from `first`.
inline void narrow(const ProductSlices& slices, int64_t first, int64_t count,
                   kernels::MatmulF32Args* args) noexcept {
  if (slices.columns == 0) {
    args->m = count;
    args->a += first * args->lda;
    args->c += first * args->ldc;
    if (args->residual) args->residual += first * args->ldr;
    return;
  }
  const int64_t column = first * slices.columns;
  args->whole_panels = true;  // a slice of several whole panels
  args->n = std::min(args->n - column, count * slices.columns);
  if (args->c) args->c += column;
  if (args->bias) args->bias += column;
  if (args->residual) args->residual += column;
  if (args->b) args->b += first * slices.panel_bytes / 4;
}

}  // namespace rill::ops
