#include "plan_file/checksum.h"

#include <cstring>

namespace rill::plan_file {

uint64_t checksum(std::span<const std::byte> bytes) {
  // Four sums side by side: one alone waits for its own products.
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
  uint64_t sums[4] = {1, 2, 3, bytes.size()};
  size_t at = 0;
  const auto take = [&](size_t which, uint64_t word) {
    sums[which] = (sums[which] ^ word) * kFactor;
    sums[which] ^= sums[which] >> 29U;
  };
  for (; at + 32 <= bytes.size(); at += 32) {
    for (size_t i = 0; i < 4; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at + i * 8, sizeof word);
      take(i, word);
    }
  }
  for (; at < bytes.size(); ++at) take(at % 4, static_cast<uint64_t>(bytes[at]) + 1);
  for (size_t i = 1; i < 4; ++i) take(0, sums[i]);
  return sums[0];
}

}  // namespace rill::plan_file
