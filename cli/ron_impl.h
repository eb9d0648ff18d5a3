#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace rill::cli {

/// A transform of the command line, with its parameters as a JSON object.
struct TransformSpec {
  std::string name;  ///< with `_` between words, even if written with `-`
  nlohmann::json fields = nlohmann::json::object();
};

/// Read `NAME`, `NAME(field: value, ...)` in Rust Object Notation, or `{"name": NAME, ...}`.
/// Errors: kArg, with the column.
Result<TransformSpec> parse_transform(std::string_view text);

}  // namespace rill::cli
