#pragma once

#include <algorithm>
#include <array>

#include "kernels/pointwise/pointwise.h"
#include "kernels/softmax/softmax.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

enum MaskedSide : size_t { kX, kMask, kOut, kSides };

using MaskedStrides = std::array<int64_t, kSides>;

struct MaskedRowsStep {
  kernels::PointwiseFn combine;
  kernels::PointwiseArgs combination;  ///< without the addresses of its rows
  kernels::SoftmaxF32Fn normalise;
  float scale = 1.0F;
  int64_t n = 1;     ///< elements of a row
  int64_t rows = 1;  ///< of the innermost loop
  int loops = 0;     ///< around it
  std::array<int64_t, kMaxRank> extent{};
  std::array<MaskedStrides, kMaxRank> stride{};
  MaskedStrides row{};
  MaskedStrides element{};
  std::array<Ref, kSides> refs;
};

RILL_STEP_FIELDS(MaskedRowsStep, combine, combination, normalise, scale, n, rows, loops, extent,
                 stride, row, element, refs)

/// The floats of the rows that are computed together, so that they stay in the first-level cache.
constexpr int64_t kMaskedFloatsAtOnce = 4096;

/// The distance of two rows in scratch memory: each begins at a whole vector.
inline int64_t masked_pitch(int64_t n) noexcept RILL_NONBLOCKING { return (n + 15) / 16 * 16; }
inline int64_t masked_rows_at_once(int64_t n) noexcept RILL_NONBLOCKING {
  return std::max<int64_t>(1, kMaskedFloatsAtOnce / masked_pitch(n));
}

/// Return the pointwise computation of a row before the softmax.
kernels::PointwiseArgs masked_combination(const MaskedRowsStep& step);

void run_masked_rows(const MaskedRowsStep& step, const Frame& frame,
                     const Share& share) noexcept RILL_NONBLOCKING;
void touch_masked_rows(const MaskedRowsStep& step, StepTouches& touches);

inline constexpr auto kMaskedRows =
    step_kind<MaskedRowsStep, run_masked_rows, touch_masked_rows>("masked_rows");

}  // namespace rill::ops
