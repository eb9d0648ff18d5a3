#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rill {

/// Memory for the packed weights of a plan. Weights that fill large pages share one block of them.
/// In scattered 4 KiB pages, weights that would fit the L2 cache evict each other.
class Weights {
 public:
  /// `expected`: the estimated bytes. For a small estimate, or without large pages, no block is
  /// made.
  explicit Weights(int64_t expected);

  /// Return zeros, aligned to 64 bytes, that live as long as the block; null if it is full.
  std::shared_ptr<void> take(int64_t bytes);
  /// Take back memory of `bytes` bytes if it is what `take` gave last. It has no user any more.
  void give_back(const void* taken, int64_t bytes);

 private:
  std::shared_ptr<std::byte> block_;
  int64_t bytes_ = 0;
  int64_t used_ = 0;
};

}  // namespace rill
