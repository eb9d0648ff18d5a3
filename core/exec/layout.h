#pragma once

#include <cstdint>
#include <span>

namespace rill {

/// The lifetime of a buffer, as first and last step, and its offset.
struct Lifetime {
  int64_t bytes = 0;
  int first_step = 0;
  int last_step = 0;
  int64_t offset = 0;  ///< out
};

/// The alignment of buffers in bytes.
inline constexpr int64_t kBufferAlign = 64;
inline constexpr int64_t aligned_bytes(int64_t bytes) {
  return (bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
}

/// Place buffers in one block so that buffers that are alive at the same time do not overlap.
/// Return the bytes of the block. For several thousand buffers or more, this takes O(n log n) time.
int64_t lay_out(std::span<Lifetime> buffers);

}  // namespace rill
