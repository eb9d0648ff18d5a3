#pragma once

#include "ops/math/formula.h"

namespace rill::ops {

/// Sequences of several lengths in one tensor: `lengths` [N] belongs to the axis `batch` of x, and
/// counts entries along the axis `time`.
struct Sequences {
  OutletId lengths;  ///< i64
  int64_t time = 0;
  int64_t batch = 1;
};

/// Return the lengths, which runs refuse unless they lie in 0 to `frames`, as ONNX Runtime does.
OutletId checked_lengths(Formula& f, OutletId lengths, const Dim& frames);
/// Return which entries lie within their sequence: bools of the rank of x, with extent 1 on all
/// axes but two.
OutletId within(Formula& f, OutletId x, const Sequences& sequences);
/// Reverse each sequence, and keep the entries after it.
OutletId reversed_within(Formula& f, OutletId x, const Sequences& sequences);
/// Return the last entry of each sequence, with extent 1 along time; the first of an empty one.
OutletId last_of(Formula& f, OutletId x, const Sequences& sequences);

}  // namespace rill::ops
