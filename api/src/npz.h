#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace rill {

using NamedTensor = std::pair<std::string, Tensor>;

/// Read all arrays of an `.npz` bundle in file order, named without `.npy`; other members are
/// skipped. A plain `.npy` file gives one tensor named after the file.
/// Errors: kIo; kParse; kUnsupported for non-numeric element types, as in `read_npy`.
Result<std::vector<NamedTensor>> read_npz(const std::string& path);
Result<std::vector<NamedTensor>> read_npz_memory(std::span<const std::byte> bytes,
                                                 std::string_view name_for_messages);

/// Write a deflated `.npz` bundle, atomically; equal tensors give equal bytes. Types as
/// `write_npy`. Errors: kIo; kArg for empty or equal names; those of `write_npy`.
Status write_npz(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace rill
