#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace rill {

/// Return whether the bytes start like a `.npy` file.
bool is_npy(std::span<const std::byte> bytes);

/// Read a `.npy` file, versions 1 to 3, C or Fortran order, either byte order. Complex numbers
/// become a trailing axis of 2.
/// Errors: kParse, naming `name`; kUnsupported for texts, objects and records.
/// Source: numpy.lib.format.
Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view name);

/// Write a `.npy` file of version 1, in C order, little endian. bf16 is written as f32, quantised
/// integers as plain ones, block-quantised weights as f32, dims that are numbers as i64.
/// Errors: kSymbol for other dims; kUnsupported for strings and blobs.
Result<std::vector<std::byte>> write_npy(const Tensor& tensor);

}  // namespace rill
