#pragma once

#include <span>

#include "core/exec/lowering.h"

// Steps on f16 by f32 kernels: their inputs are upcast before, and their outputs downcast after
// them. Other operands stay unchanged.

namespace rill::ops {

/// Return an operand in f32: an f16 one in scratch memory of this node, any other itself.
Operand upcast(Lowering& lowering, const Operand& operand);

/// Return f32 memory, with that order of axes, for an f16 output; for any other, the output itself.
Operand in_floats(Lowering& lowering, const Operand& out, std::span<const int> order);
/// Round that memory to f16, in output 0.
void narrow(Lowering& lowering, const Operand& wide, const Operand& out,
            std::span<const int> order);

}  // namespace rill::ops
