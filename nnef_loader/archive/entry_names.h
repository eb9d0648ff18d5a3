#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"

namespace rill::nnef {

enum class NameRule : uint8_t {
  kPath,  ///< relative paths below the archive; hidden files are left out
  kKey,   ///< any text
};

/// Return the name of an entry, a path without `.` and empty parts; nothing if the entry is
/// skipped. Errors: kParse for absolute names and for `..`.
Result<std::optional<std::string>> entry_name(std::string_view raw, NameRule rule);

/// Return whether an entry is a tensor that is large enough to stay in its file.
bool is_large_tensor(std::string_view name, int64_t bytes);

/// Fail with `code` if two entries have one name.
Status check_unique(std::span<const Entry> entries, Code code);

}  // namespace rill::nnef
