#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"

namespace rill::nnef {

/// Read the regular files below a folder, sorted by name; links and hidden ones are left out.
Result<std::vector<Entry>> read_folder(const std::string& path, const LoadLimits& limits,
                                       bool map_files);

/// Read the files directly in a folder whose names `wanted` accepts.
Result<std::vector<Entry>> read_siblings(const std::string& folder, const LoadLimits& limits,
                                         bool map_files,
                                         const std::function<bool(std::string_view)>& wanted);

}  // namespace rill::nnef
