#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/base/status.h"

namespace rill::nnef {

/// A file that appears under its name complete or not at all. An existing file stays until
/// `commit`; without it the temporary sibling is removed.
class AtomicFile {
 public:
  /// Errors: kIo; kArg if the path is a folder.
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status commit();
  /// Where the bytes are until `commit`; empty where the path is written to directly.
  const std::string& temporary() const { return temporary_; }

 private:
  AtomicFile() = default;

  std::string path_;
  std::string temporary_;  ///< empty where the path is written to directly
  int descriptor_ = -1;
};

/// Give a name for a temporary sibling of a path, another one for each attempt.
std::string sibling_name(const std::string& path, int attempt);

Status already_exists(const std::string& path);

}  // namespace rill::nnef
