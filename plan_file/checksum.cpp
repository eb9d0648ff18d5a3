#include "plan_file/checksum.h"

#include <cstring>

namespace rill::plan_file {
namespace {

void take(uint64_t* sum, uint64_t word) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
  *sum = (*sum ^ word) * kFactor;
  *sum ^= *sum >> 29U;
}

}  // namespace

void Checksum::add(std::span<const std::byte> piece) {
  // Four independent sums: a single one would wait for each of its products.
  uint64_t sums[4] = {sums_[0], sums_[1], sums_[2], sums_[3]};
  size_t at = 0;
  for (; at + 32 <= piece.size(); at += 32) {
    for (size_t i = 0; i < 4; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, piece.data() + at + i * 8, sizeof word);
      take(&sums[i], word);
    }
  }
  for (; at < piece.size(); ++at) {
    take(&sums[at % 4], static_cast<uint64_t>(piece[at]) + 1);
  }
  std::memcpy(sums_, sums, sizeof sums);
}

uint64_t Checksum::value() const {
  uint64_t sum = sums_[0];
  for (size_t i = 1; i < 4; ++i) take(&sum, sums_[i]);
  return sum;
}

uint64_t checksum(std::span<const std::byte> bytes) {
  Checksum sum(bytes.size());
  sum.add(bytes);
  return sum.value();
}

}  // namespace rill::plan_file
