#pragma once

#include "ops/math/formula.h"

namespace rill::ops {

/// Sequences of several lengths in one tensor. `lengths` [N] has one length per index of the axis
/// `batch` of x, in entries along the axis `time`.
struct Sequences {
  OutletId lengths;  ///< i64
  int64_t time = 0;
  int64_t batch = 1;
};

/// Return the lengths, which runs refuse unless they lie in 0 to `frames`, as ONNX Runtime does.
OutletId checked_lengths(Formula& f, OutletId lengths, const Dim& frames);
/// Return which entries lie within their sequence: bools of the rank of x, with extent 1 on all
/// axes except `batch` and `time`.
OutletId within(Formula& f, OutletId x, const Sequences& sequences);
/// Reverse each sequence; entries after its end stay.
OutletId reversed_within(Formula& f, OutletId x, const Sequences& sequences);
/// Return the last entry of each sequence, with extent 1 along time; entry 0 for an empty sequence.
OutletId last_of(Formula& f, OutletId x, const Sequences& sequences);

}  // namespace rill::ops
