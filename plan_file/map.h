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
/// them; where the system maps none, they are read. A file that is cut while it is mapped ends the
/// process that reads it: replace such a file by another, or read it.
/// Errors: kIo.
Result<MappedFile> map_file(const std::string& path);

/// Read a file of at most that many bytes into memory that is aligned to 64 bytes, so that later
/// changes of the file have no effect. Errors: kIo; kNoMem for a larger file, and if there is no
/// memory.
Result<MappedFile> read_file(const std::string& path, int64_t most_bytes);

}  // namespace rill::plan_file
