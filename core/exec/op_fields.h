#pragma once

#include "core/graph/op.h"
#include "core/run/step_fields.h"

namespace rill {

/// Show the attributes of an operator as arguments of a step, for steps that keep the whole
/// operator.
void describe(StepFields& fields, Op& op);
/// Show everything that an operator depends on.
void describe(StepFields& fields, const OpClass& known, Op& op);

/// Return the types and shapes of operands.
Facts facts_of(std::span<const PlacedView> operands);

}  // namespace rill
