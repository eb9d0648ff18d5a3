#pragma once

#include <string_view>

#include "ops/math/formula.h"

namespace rill::ops {

/// Reshape one number, or a list along an axis, to the rank of the input. Errors: kShape for a
/// nested list, or a missing axis.
Result<OutletId> along(Formula& f, OutletId list, OutletId x, int64_t written_axis);

/// Repeat each number for its block of `block` entries along an axis; -1 is the last axis. The last
/// block ends at `count` entries.
OutletId over_blocks(Formula& f, OutletId numbers, int axis, int64_t block, const Dim& count);

/// Round, add the zero point if it is valid, and saturate. `x` is in units of the scale. Errors:
/// kUnsupported for types other than integers of 8 and 16 bits.
Result<OutletId> rounded(Formula& f, OutletId x, OutletId zero, DType type);

/// Read integers minus their zero point, which is one number or a list along an axis. `wide`: the
/// type of the result, in which later sums are exact.
Result<OutletId> centered(OnnxCtx& ctx, Formula& f, const char* x, const char* zero,
                          int64_t axis, DType wide);

/// Read integers with one scale as real numbers.
Result<OutletId> real(OnnxCtx& ctx, Formula& f, const char* x, const char* scale,
                      const char* point);

/// Requantise integer sums, in units of `scale`, to `y_scale` and the type of `y_zero_point`.
Result<Value> requantized(Formula& f, OutletId sums, OutletId scale);

/// Move the channels from the last axis to the second one, or back.
OutletId channels_second(Formula& f, OutletId x);
OutletId channels_last(Formula& f, OutletId x);

}  // namespace rill::ops
