#include "core/base/splitmix.h"

#include <gtest/gtest.h>

namespace rill {
namespace {

// Source: https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64, from Vigna's splitmix64.c.
TEST(Splitmix64, EqualsTheReference) {
  Splitmix64 random(1234567);
  for (const uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                  4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(random.next(), expected);
  }
}

TEST(Splitmix64, StaysWithinItsBounds) {
  Splitmix64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const int64_t number = random.in(-3, 4);
    EXPECT_GE(number, -3);
    EXPECT_LE(number, 4);
    const double unit = random.unit();
    EXPECT_GE(unit, 0.0);
    EXPECT_LT(unit, 1.0);
  }
}

}  // namespace
}  // namespace rill
