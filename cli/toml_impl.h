#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/status.h"

namespace rill::cli {

/// Read the part of TOML that deployment files use: tables, dotted ones too, and keys with texts,
/// numbers, truth values, lists and inline tables. Errors: kParse, with the line.
/// Source: TOML 1.0.
Result<nlohmann::json> parse_toml(std::string_view text, std::string_view file);

}  // namespace rill::cli
