#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rill::plan_file {

/// Return a checksum, which changes with high probability if any byte does. Handwritten because
/// librill_run has no dependencies; processes 32 bytes per iteration.
uint64_t checksum(std::span<const std::byte> bytes);

/// The same checksum over bytes in pieces.
class Checksum {
 public:
  /// `bytes`: the size of all pieces together.
  explicit Checksum(size_t bytes) : sums_{1, 2, 3, bytes} {}
  /// Add a piece. The size of every piece but the last is a multiple of 32 bytes.
  void add(std::span<const std::byte> piece);
  uint64_t value() const;

 private:
  uint64_t sums_[4];
};

}  // namespace rill::plan_file
