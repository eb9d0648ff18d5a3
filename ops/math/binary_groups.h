#pragma once

#include "core/base/nonblocking.h"
#include "core/tensor/view.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Combine elements as `combine_elements` does, in groups that become vector instructions. Return
/// false, and do nothing, if there is no loop for the operands. There are loops for comparisons,
/// for logic of bools, for sums, differences and products of integers or f64, and for quotients of
/// f64. f16 and short rows have none. Real-time: yes.
bool combine_groups(BinaryKind kind, const View& a, const View& b,
                    const View& out) RILL_NONBLOCKING;

}  // namespace rill::ops
