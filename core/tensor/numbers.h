#pragma once

#include <string_view>

#include "core/tensor/tensor.h"

namespace rill {

/// Parse numbers separated by commas, such as "16000" or "0.5,1e-3", as a tensor of rank 1: i64 if
/// all are integers, else f64. Errors: kParse if there is no number, or an invalid one.
Result<Tensor> numbers_of_text(std::string_view text);

}  // namespace rill
