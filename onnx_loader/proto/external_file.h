#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "nnef_loader/archive/source.h"

namespace rill::onnx {

/// Open a file in the folder of a model, or in a folder of that folder.
/// Errors: kIo if the path is absolute or leads outside of the folder, by `..` or by links; if
/// there is no such file, or it is not a regular file.
Result<std::unique_ptr<nnef::Source>> open_external(const std::string& folder,
                                                    std::string_view location);

/// Check that a file of `bytes` holds `wanted` bytes at `offset`. Errors: kIo.
Status check_range(std::string_view location, int64_t bytes, int64_t offset, int64_t wanted);

}  // namespace rill::onnx
