#pragma once

#include "ops/math/formula.h"

namespace rill::ops {

/// Read an attribute that is a list of numbers; empty if the node lacks it.
Result<std::vector<float>> numbers_of(OnnxCtx& ctx, std::string_view name);

/// Apply the activation of a fused operator, by its name and parameters, such as "Relu" or "Clip".
/// Errors: kUnsupported for names that com.microsoft does not define.
Result<OutletId> activated(Formula& f, OutletId x, std::string_view name,
                           const std::vector<float>& parameters);

}  // namespace rill::ops
