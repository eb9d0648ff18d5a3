#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rill::plan_file {

/// A sum over bytes that changes where any of them does, most likely. By hand, because librill_run
/// needs no other library and sums 32 bytes at a time.
uint64_t checksum(std::span<const std::byte> bytes);

/// The same over bytes that come in pieces.
class Checksum {
 public:
  /// `bytes`: of all pieces together.
  explicit Checksum(size_t bytes) : sums_{1, 2, 3, bytes} {}
  /// Add a piece. All but the last one have a multiple of 32 bytes.
  void add(std::span<const std::byte> piece);
  uint64_t value() const;

 private:
  uint64_t sums_[4];
};

}  // namespace rill::plan_file
