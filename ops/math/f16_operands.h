#pragma once

#include <span>

#include "core/exec/lowering.h"

// Steps on f16 that use f32 kernels: inputs are upcast before the step, and outputs downcast after
// it. Operands of other types stay unchanged.

namespace rill::ops {

/// Return an operand as f32: scratch memory of this node for f16, any other operand itself.
Operand upcast(Lowering& lowering, const Operand& operand);

/// Return f32 scratch memory with this order of axes for an f16 output; any other output itself.
Operand in_floats(Lowering& lowering, const Operand& out, std::span<const int> order);
/// Round the scratch memory `wide` to f16, in output 0.
void narrow(Lowering& lowering, const Operand& wide, const Operand& out,
            std::span<const int> order);

}  // namespace rill::ops
