#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rill {

/// Memory for the weights that a plan packs. If they fill large pages, they lie in one block of
/// them: the system scatters pages of 4 KiB, so that weights that fit the second cache level evict
/// each other.
class Weights {
 public:
  /// `expected`: about how many bytes will be taken. Few of them, or a system without large pages:
  /// no block is made.
  explicit Weights(int64_t expected);

  /// Give zeros, aligned to 64 bytes, that live as long as the block; null where it has no room.
  std::shared_ptr<void> take(int64_t bytes);

 private:
  std::shared_ptr<std::byte> block_;
  int64_t bytes_ = 0;
  int64_t used_ = 0;
};

}  // namespace rill
