#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/base/status.h"

namespace rill::nnef {

/// The bytes of one archive, in memory or in a regular file. Owns its file descriptor.
class Source {
 public:
  /// `bytes` must outlive the source.
  Source(std::span<const std::byte> bytes, std::string_view name);
  /// Take ownership of an open regular file of that size.
  Source(int descriptor, int64_t size, std::string_view name);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  void set_size(int64_t size) { size_ = size; }
  bool in_memory() const { return descriptor_ < 0; }
  int descriptor() const { return descriptor_; }
  /// Map the file, so that entries may stay in it. Without effect where that is not possible.
  void map();
  const MappedBytes& mapped() const { return mapped_; }
  std::span<const std::byte> memory() const { return bytes_; }

  /// Copy the available bytes out.
  Result<size_t> read_at(int64_t offset, std::span<std::byte> out) const;

 private:
  std::span<const std::byte> bytes_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  std::string name_;
  MappedBytes mapped_;
};

/// Describe the last failure of the operating system.
Status system_error(std::string_view what, const std::string& path);

/// Open for reading. Errors: kIo, `File not found X` if there is none.
Result<int> open_for_reading(const std::string& path);

/// Refuse a model of at least `bytes` by `LoadLimits::max_expanded_bytes`. Errors: kParse.
Status model_too_large(const std::string& path, int64_t bytes, int64_t max_bytes);

/// Read all of an open file. Errors: kIo; kParse if it is over `max_bytes`.
Result<std::vector<std::byte>> read_descriptor(int descriptor, const std::string& path,
                                               int64_t max_bytes);
/// As above, of a model; a larger one is refused by `model_too_large`.
Result<std::vector<std::byte>> read_model_descriptor(int descriptor, const std::string& path,
                                                     int64_t max_bytes);

}  // namespace rill::nnef
