#pragma once

#include "core/base/nonblocking.h"
#include "core/tensor/view.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Combine elements as `combine_elements` does, in groups that become vector instructions. False,
/// with nothing done, where no loop is made for it: for what is neither a comparison nor a sum,
/// difference or product of integers or f64, nor truth; for f16; and for short rows.
/// Real-time: yes.
bool combine_groups(BinaryKind kind, const View& a, const View& b,
                    const View& out) RILL_NONBLOCKING;

}  // namespace rill::ops
