#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/base/status.h"

namespace rill::plan_file {

/// The bytes of a file, as long as `owner` lives.
struct MappedFile {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

/// Map a file, to read only, so that its bytes stay in the page cache, where all processes share
/// them; where the system maps none, they are read into memory that is aligned to 64 bytes. A file
/// that is cut while it is mapped ends the process that reads it: replace such a file by another.
/// Errors: kIo.
Result<MappedFile> map_file(const std::string& path);

}  // namespace rill::plan_file
