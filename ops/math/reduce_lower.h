#pragma once

#include "core/exec/lowering.h"
#include "ops/math/reduce.h"

namespace rill::ops {

/// Lower a reduction of f32 to the kernel; false if it has none for it.
Result<bool> lower_reduce(const Reduce& op, Lowering& lowering);

}  // namespace rill::ops
