#pragma once

#include "core/exec/lowering.h"
#include "ops/math/reduce.h"

namespace rill::ops {

/// Lower a reduction of f32 to a kernel. Return false if there is none for it.
Result<bool> lower_reduce(const Reduce& op, Lowering& lowering);

}  // namespace rill::ops
