#pragma once

#include <string_view>

#include "core/tensor/tensor.h"

namespace rill {

/// Read numbers with commas between them, as in "16000" or "0.5,1e-3", as a tensor of rank 1: i64
/// where all are integers, else f64.
/// Errors: kParse for what is no number, or no number at all.
Result<Tensor> numbers_of_text(std::string_view text);

}  // namespace rill
