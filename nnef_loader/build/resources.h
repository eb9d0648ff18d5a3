#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"
#include "nnef_loader/archive/archive.h"

namespace rill::nnef {

/// The files of an archive, by name. A tensor is read at its first use; its file is then freed, so
/// that no weight is in memory twice.
class Resources {
 public:
  explicit Resources(std::vector<Entry> entries);

  bool has(std::string_view name) const { return files_.find(name) != files_.end(); }
  /// Return the content of a file as text; empty if there is none. The text points into the
  /// resources.
  std::string_view text(std::string_view name) const;
  /// Return the content of a file; empty if there is none, or if it is a tensor that was read.
  std::span<const std::byte> bytes(std::string_view name) const;
  /// List the files, sorted.
  std::vector<std::string> names() const;
  /// Find the first file in a folder that has that name, for messages; empty if there is none.
  std::string elsewhere(std::string_view name) const;
  /// Read `<label>.dat`, or that of the label without leading `/`.
  /// Errors: kIo if there is none; kParse if it is damaged.
  Result<TensorPtr> tensor(std::string_view label);

 private:
  struct File {
    std::vector<std::byte> bytes;
    MappedBytes mapped;  ///< in place of `bytes`
    TensorPtr tensor;

    std::span<const std::byte> content() const { return mapped.data ? mapped.bytes() : bytes; }
  };
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace rill::nnef
