#pragma once

#include "core/base/status.h"
#include "core/graph/fact.h"

namespace rill::ops {

/// Refuse an input whose type the operator does not support: kDType, with a remedy for sizes.
Status not_defined_for(const Fact& input);
/// As above, for two inputs of one type.
Status not_defined_for(const Fact& a, const Fact& b);

}  // namespace rill::ops
