#include "core/exec/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace rill {
namespace {

TEST(Weights, SmallWeightsStayOnTheHeap) {
  EXPECT_EQ(Weights(0).take(64), nullptr);
  EXPECT_EQ(Weights(int64_t{1} << 20).take(64), nullptr);
  EXPECT_EQ(Weights(INT64_MAX).take(64), nullptr);
}

TEST(Weights, LargeWeightsShareOneZeroedBlock) {
  constexpr int64_t kBytes = int64_t{3} << 20;
  std::vector<std::shared_ptr<void>> taken;
  {
    Weights weights(kBytes);
    for (int64_t left = kBytes; left > 0; left -= 1000) {
      taken.push_back(weights.take(1000));
      if (!taken.back()) break;
    }
    EXPECT_EQ(weights.take(kBytes), nullptr);
    EXPECT_EQ(weights.take(0), nullptr);
    EXPECT_EQ(weights.take(-1), nullptr);
  }
  // Without a block, as under AddressSanitizer, the first result is null.
  if (!taken[0]) return;
  ASSERT_TRUE(taken.back());
  const auto* before = static_cast<const std::byte*>(taken[0].get());
  for (const auto& each : taken) {
    auto* const at = static_cast<std::byte*>(each.get());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % 64, 0U);
    EXPECT_TRUE(at == before || at - before >= 1000);
    EXPECT_TRUE(std::all_of(at, at + 1000, [](std::byte b) { return b == std::byte{0}; }));
    std::memset(at, 0xFF, 1000);
    before = at;
  }
}

TEST(Weights, TheLastAllocationIsTakenBackAndCleared) {
  constexpr int64_t kBytes = int64_t{3} << 20;
  Weights weights(kBytes);
  const std::shared_ptr<void> first = weights.take(1000);
  if (!first) return;  // there is no block
  std::shared_ptr<void> last = weights.take(5000);
  std::memset(last.get(), 0xFF, 5000);
  weights.give_back(first.get(), 1000);  // not the last allocation: it stays
  weights.give_back(last.get(), 5000);
  const std::shared_ptr<void> again = weights.take(64);
  EXPECT_EQ(again, last);
  const auto* const at = static_cast<const std::byte*>(again.get());
  EXPECT_TRUE(std::all_of(at, at + 5000, [](std::byte b) { return b == std::byte{0}; }));
}

}  // namespace
}  // namespace rill
