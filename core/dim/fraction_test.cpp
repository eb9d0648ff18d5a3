#include "core/dim/fraction.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rill {
namespace {

using Fraction = std::pair<int64_t, int64_t>;

TEST(Fraction, ScalesOfModelsAreFractions) {
  EXPECT_EQ(simple_fraction(1.0F / 3.0F, Rounded::kAny), Fraction(1, 3));
  EXPECT_EQ(simple_fraction(2.0F / 3.0F, Rounded::kAny), Fraction(2, 3));
  EXPECT_EQ(simple_fraction(0.2F, Rounded::kAny), Fraction(1, 5));
  EXPECT_EQ(simple_fraction(1.5F, Rounded::kAny), Fraction(3, 2));
  EXPECT_EQ(simple_fraction(0.6F, Rounded::kDown), Fraction(3, 5));
}

TEST(Fraction, FindsNoFractionOfLargeNumbers) {
  EXPECT_FALSE(simple_fraction(0.7310586F, Rounded::kDown));
  EXPECT_FALSE(simple_fraction(0.0F, Rounded::kDown));
  EXPECT_FALSE(simple_fraction(-0.5F, Rounded::kDown));
  EXPECT_FALSE(simple_fraction(NAN, Rounded::kDown));
  EXPECT_FALSE(simple_fraction(INFINITY, Rounded::kDown));
}

TEST(Fraction, FindsNoFractionIfProductsFallBelowAnInteger) {
  // In f32, 90 * 1.3 is below 117.
  EXPECT_LT(90.0F * 1.3F, 117.0F);
  EXPECT_FALSE(simple_fraction(1.3F, Rounded::kDown));
}

TEST(Fraction, FloatProductsRoundLikeThoseOfTheFraction) {
  for (int64_t q = 1; q <= 48; ++q) {
    for (int64_t p = 1; p <= 48; ++p) {
      const float scale = static_cast<float>(p) / static_cast<float>(q);
      const auto down = simple_fraction(scale, Rounded::kDown);
      const auto any = simple_fraction(scale, Rounded::kAny);
      for (int64_t n = 1; n < 20000; n += n < 300 ? 1 : 61) {
        const float product = static_cast<float>(n) * scale;
        if (down) {
          ASSERT_EQ(static_cast<int64_t>(std::floor(product)), n * down->first / down->second)
              << n << " * " << p << " / " << q;
        }
        if (!any) continue;
        const int64_t up = (n * any->first + any->second - 1) / any->second;
        ASSERT_EQ(static_cast<int64_t>(std::ceil(product)), up) << n << " * " << p << " / " << q;
      }
    }
  }
}

}  // namespace
}  // namespace rill
