#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/base/status.h"

namespace rill::nnef {

/// A file that appears under its name completely or not at all. An existing file stays until
/// `commit`; without a commit, the destructor removes the temporary sibling.
class AtomicFile {
 public:
  /// Open a temporary sibling of the path, or the path itself if it is a device or a pipe. Errors:
  /// kIo; kArg if the path is a folder.
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status commit();
  /// Return the path of the bytes until `commit`; empty for direct writes.
  const std::string& temporary() const { return temporary_; }

 private:
  AtomicFile() = default;

  std::string path_;
  std::string temporary_;  ///< empty where the path is written to directly
  int descriptor_ = -1;
};

/// Return a name for a temporary sibling of a path, a different one for each attempt.
std::string sibling_name(const std::string& path, int attempt);

Status already_exists(const std::string& path);

}  // namespace rill::nnef
