#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/dim/dim.h"

namespace rill::cli {

/// Parse the values of `--set`, each symbol once. Errors: those of `parse_setting`; kArg, naming
/// both, if two of them give a symbol two values.
Result<std::vector<std::pair<std::string, Dim>>> parse_settings(std::span<const std::string> texts);

}  // namespace rill::cli
