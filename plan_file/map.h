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

/// Map a file read-only, so that its bytes stay in the page cache and all processes share them.
/// Without support by the system, read it. Truncating a mapped file ends the process that reads it:
/// replace such a file by rename, or use `read_file`.
/// Errors: kIo.
Result<MappedFile> map_file(const std::string& path);

/// Read a file of at most `most_bytes` into memory aligned to 64 bytes, so that later changes of
/// the file have no effect. Errors: kIo; kNoMem for a larger file, and if memory runs out.
Result<MappedFile> read_file(const std::string& path, int64_t most_bytes);

}  // namespace rill::plan_file
