#include "kernels/half/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

std::vector<const HalfCasts*> casts() {
  std::vector<const HalfCasts*> found;
  for (Tier tier : tiers()) {
    const HalfCasts& own = half_casts(tier);
    if (own.tier == tier) found.push_back(&own);
  }
  return found;
}

/// Return the value of an f16, by the definition of the format.
double value_of(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double size = exponent == 0 ? std::ldexp(mantissa, -24)
                                    : std::ldexp(mantissa + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

TEST(Half, UpcastsEveryOne) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const HalfCasts* cast : casts()) {
    for (const int64_t n : {int64_t{65536}, int64_t{65536 - 5}}) {
      std::vector<float> found(all.size(), kGuard);
      cast->upcast(n, all.data(), found.data());
      for (size_t i = 0; i < all.size(); ++i) {
        const bool nan = (i & 0x7C00) == 0x7C00 && (i & 0x3FF) != 0,
                   endless = (i & 0x7FFF) == 0x7C00;
        const float size = endless ? ((i & 0x8000) != 0 ? -kInf : kInf)
                                   : static_cast<float>(value_of(all[i]));
        const float expected = static_cast<int64_t>(i) >= n ? kGuard : nan ? kNan : size;
        ASSERT_TRUE(same(found[i], expected)) << cast->name << ", " << i;
      }
    }
  }
}

/// The midpoint of two neighbours rounds to the even one; other values round to the nearer one.
TEST(Half, NarrowsToTheNearestEvenOne) {
  for (const HalfCasts* cast : casts()) {
    for (uint16_t low = 0; low < 0x7C00; ++low) {
      const double below = value_of(low), above = value_of(static_cast<uint16_t>(low + 1));
      const auto middle = static_cast<float>((below + above) / 2);
      const float in[] = {static_cast<float>(below), std::nextafter(middle, 0.0f), middle,
                          std::nextafter(middle, kInf), -middle};
      uint16_t out[5];
      cast->downcast(5, in, out);
      const auto up = static_cast<uint16_t>(low + 1), even = (low & 1) != 0 ? up : low;
      ASSERT_EQ(out[0], low) << cast->name;
      ASSERT_EQ(out[1], low) << cast->name << ", " << low;
      ASSERT_EQ(out[2], even) << cast->name << ", " << low;
      ASSERT_EQ(out[3], up) << cast->name << ", " << low;
      ASSERT_EQ(out[4], even | 0x8000) << cast->name << ", " << low;
    }
  }
}

TEST(Half, RoundsNumbersOutOfRangeAndNan) {
  const std::vector<float> in = {kInf, -kInf, 65520.0f, 1e38f, -1e38f, 0x1p-25f, 0x1p-149f,
                                 -0.0f, kNan, 65519.0f, 1.0f};
  const std::vector<uint16_t> expected = {0x7C00, 0xFC00, 0x7C00, 0x7C00, 0xFC00, 0,
                                          0,      0x8000, 0x7E00, 0x7BFF, 0x3C00};
  for (const HalfCasts* cast : casts()) {
    std::vector<uint16_t> found(in.size());
    cast->downcast(static_cast<int64_t>(in.size()), in.data(), found.data());
    EXPECT_EQ(found, expected) << cast->name;
  }
}

}  // namespace
}  // namespace rill::kernels
