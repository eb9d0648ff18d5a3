#pragma once

#include <string_view>

#include "core/graph/fact.h"

namespace rill {

/// Convert a constant to the type of a wire, including its scale and zero point, which a `cast` to
/// the `dtype` of the wire would lose.
/// Errors: those of `cast`.
Result<Tensor> as_type_of(const Tensor& value, const Fact& wire);

/// Fail unless a constant has the type of a wire, including the scale and zero point.
/// Errors: kDType; `what` is the purpose of the constant.
Status expect_type_of(std::string_view what, const Tensor& value, const Fact& wire);

}  // namespace rill
