#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/status.h"

namespace rill::cli {

/// Read a TOML document, by toml++. Dates and times become null. Errors: kParse, with the line.
/// Source: TOML 1.0.
Result<nlohmann::json> parse_toml(std::string_view text, std::string_view file);

}  // namespace rill::cli
