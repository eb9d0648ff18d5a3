#pragma once

#include "core/base/nonblocking.h"
#include "core/tensor/view.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Combine elements as `combine_elements` does, in groups that become vector instructions. False,
/// with nothing done, if it has no loop for the operands: operators other than comparisons, logic,
/// and sums, differences and products of integers or f64; f16; and short rows. Real-time: yes.
bool combine_groups(BinaryKind kind, const View& a, const View& b,
                    const View& out) RILL_NONBLOCKING;

}  // namespace rill::ops
