#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rill {

/// Bytes of a file that the system reads when they are first touched, in the page cache that all
/// processes share. A process that reads bytes which were cut off the file meanwhile ends; bytes
/// that were changed meanwhile may show.
struct MappedBytes {
  std::shared_ptr<const std::byte> data;  ///< the first one; owns the mapping
  size_t size = 0;

  std::span<const std::byte> bytes() const { return {data.get(), size}; }
  /// Return `count` bytes, beginning with byte `begin`. They must be mapped.
  MappedBytes part(size_t begin, size_t count) const { return {{data, data.get() + begin}, count}; }
};

/// Whether this system maps files.
#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__)
inline constexpr bool kMapsFiles = true;
#else
inline constexpr bool kMapsFiles = false;
#endif

/// Map an open file of that size, to read only. Nothing where the system maps none, and for an
/// empty file: read it then.
MappedBytes map_file(int descriptor, size_t bytes);

/// Let the system drop the whole pages among mapped bytes, until they are read again. Memory that
/// is not of `map_file` would be lost.
void drop_pages(std::span<const std::byte> mapped);

}  // namespace rill
