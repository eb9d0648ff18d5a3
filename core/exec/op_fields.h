#pragma once

#include "core/graph/op.h"
#include "core/run/step_fields.h"

namespace rill {

/// Visit the attributes of an operator as step arguments, for steps that keep the whole operator.
void describe(StepFields& fields, Op& op);
/// Visit every attribute that an evaluation of the operator depends on.
void describe(StepFields& fields, const OpClass& known, Op& op);

/// Return the types and shapes of operands.
Facts facts_of(std::span<const PlacedView> operands);

}  // namespace rill
