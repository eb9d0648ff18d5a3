#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rill {

/// Memory for the packed weights of a plan. Weights that fill huge pages share one block of them:
/// in scattered 4 KiB pages, weights that would fit the L2 cache evict each other.
class Weights {
 public:
  /// `expected`: the estimated bytes. If the estimate is small, or without huge pages, there is no
  /// block.
  explicit Weights(int64_t expected);

  /// Return zeroed memory, aligned to 64 bytes, that lives as long as the block; null if the block
  /// is full.
  std::shared_ptr<void> take(int64_t bytes);
  /// Take back memory of `bytes` bytes if it is the last allocation of `take`. It must not be used
  /// any more.
  void give_back(const void* taken, int64_t bytes);

 private:
  std::shared_ptr<std::byte> block_;
  int64_t bytes_ = 0;
  int64_t used_ = 0;
};

}  // namespace rill
