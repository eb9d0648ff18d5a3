#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/exec/property.h"

namespace rill::plan_file {

// A limit per file, so that reading a hostile file takes little more memory than the file itself.
inline constexpr int64_t kMostProperties = int64_t{1} << 16;
inline constexpr int64_t kMostPropertyValues = int64_t{1} << 20;

/// Read the record of a model's properties; an empty record has none. Time and memory are linear in
/// the record. Errors: kParse.
Result<std::vector<Property>> read_properties(std::span<const std::byte> record);

}  // namespace rill::plan_file
