#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rill {

/// Bytes of a file in the page cache that all processes share; the system reads a page when it is
/// first touched. The file must not change while it is mapped. If it is truncated, reading the
/// missing bytes ends the process; changed bytes may become visible.
struct MappedBytes {
  std::shared_ptr<const std::byte> data;  ///< the first one; owns the mapping
  size_t size = 0;

  std::span<const std::byte> bytes() const { return {data.get(), size}; }
  /// Return `count` bytes from byte `begin`. They must be mapped.
  MappedBytes part(size_t begin, size_t count) const { return {{data, data.get() + begin}, count}; }
};

/// Whether this system maps files.
#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__)
inline constexpr bool kMapsFiles = true;
#else
inline constexpr bool kMapsFiles = false;
#endif

/// Map `bytes` bytes of an open file for reading. The result is empty for an empty file, or if the
/// system cannot map files: then read the file.
MappedBytes map_file(int descriptor, size_t bytes);

/// Let the system drop the pages that lie entirely within mapped bytes, until they are read again.
/// Use it only on memory of `map_file`: other memory would lose its content.
void drop_pages(std::span<const std::byte> mapped);

}  // namespace rill
