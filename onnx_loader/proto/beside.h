#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace rill::onnx {

/// Read bytes of a file in the folder of a model, or in a folder of that folder.
/// Errors: kIo if the path is absolute or leads outside of the folder, by `..` or by links; if
/// there is no such file, or it ends before.
Status read_beside(const std::string& folder, std::string_view location, int64_t offset,
                   std::span<std::byte> out);

}  // namespace rill::onnx
