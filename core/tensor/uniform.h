#pragma once

#include <optional>

#include "core/tensor/tensor.h"

namespace rill {

/// Return whether all elements of a tensor have the same bits; false if it is empty or null.
bool is_uniform(const TensorPtr& tensor);

/// Return the number that all elements equal; 0 and -0 count as one number. Nothing if the elements
/// differ, or if the tensor is null, empty or not numeric.
std::optional<double> uniform_number(const TensorPtr& tensor);

/// Return whether all bits of all elements are 0.
bool has_zero_bits_only(const Tensor& tensor);

/// Copy the first element, as a tensor of rank 0.
Tensor first_element(const Tensor& tensor);

}  // namespace rill
