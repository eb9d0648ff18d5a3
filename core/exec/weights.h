#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rill {

/// Memory for the weights that a plan packs. Those of a plan that fills large pages lie in one
/// block of them: pages of 4 KiB lie wherever there was room, so that weights which would fit the
/// second cache level push each other out of it.
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
