#include "kernels/softmax/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/testing.h"

namespace rill::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> softmax(Tier tier, std::vector<float> x, bool log) {
  std::vector<float> y(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  softmax_f32(tier)({1, n, x.data(), n, y.data(), n, log});
  return y;
}

std::vector<float> random_row(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> dist(0.0f, 4.0f);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = dist(rng);
  return x;
}

TEST(Softmax, EqualsItsDefinitionInDoublePrecision) {
  for (Tier tier : tiers()) {
    for (int64_t n : {1, 2, 3, 7, 8, 12, 15, 16, 17, 33, 64, 100, 1000}) {
      const std::vector<float> x = random_row(n, static_cast<uint32_t>(n));
      const std::vector<float> y = softmax(tier, x, false), z = softmax(tier, x, true);
      double m = -kInf, sum = 0.0;
      for (float v : x) m = std::fmax(m, static_cast<double>(v));
      for (float v : x) sum += std::exp(static_cast<double>(v) - m);
      // Errors of each term: 2 ulp of exp, and the rounding of x - m, which is at most 32. The sum
      // by lanes adds at most n / width + 4 roundings of both signs, so their total grows like
      // sqrt(n). 1/sum and the product add one rounding each.
      const double u = std::ldexp(1.0, -24);
      const double bound = u * (32.0 + 6.0 + 4.0 + std::sqrt(static_cast<double>(n)));
      for (size_t i = 0; i < x.size(); ++i) {
        const double shifted = static_cast<double>(x[i]) - m;
        const double want = std::exp(shifted) / sum, want_log = shifted - std::log(sum);
        EXPECT_NEAR(static_cast<double>(y[i]), want, bound * want) << tier_name(tier) << n;
        EXPECT_NEAR(static_cast<double>(z[i]), want_log, bound + 2 * u * std::fabs(want_log));
      }
    }
  }
}

TEST(Softmax, ARowWithANanOrOfMinusInfinityBecomesNan) {
  for (Tier tier : tiers()) {
    for (bool log : {false, true}) {
      for (size_t n : {1, 5, 16, 19}) {
        for (float v : softmax(tier, std::vector<float>(n, -kInf), log)) EXPECT_TRUE(std::isnan(v));
        for (size_t at = 0; at < n; ++at) {
          std::vector<float> x(n, 0.5f);
          x[at] = kNan;
          for (float v : softmax(tier, x, log)) EXPECT_TRUE(std::isnan(v)) << tier_name(tier) << n;
        }
      }
    }
  }
}

TEST(Softmax, MinusInfinityHasNoWeight) {
  for (Tier tier : tiers()) {
    const std::vector<float> y = softmax(tier, {0.0f, -kInf, 0.0f}, false);
    EXPECT_EQ(y, (std::vector<float>{0.5f, 0.0f, 0.5f}));
    EXPECT_EQ(softmax(tier, {0.0f, -kInf}, true)[1], -kInf);
  }
}

TEST(Softmax, ARowsBitsDependOnTheRowOnly) {
  for (Tier tier : tiers()) {
    for (bool log : {false, true}) {
      for (int64_t n : {1, 4, 12, 16, 21, 40}) {
        constexpr int64_t kRows = 5;
        const int64_t stride = n + 3;
        std::vector<float> x = random_row(kRows * stride, 3), y(x.size(), 9.0f);
        softmax_f32(tier)({kRows, n, x.data(), stride, y.data(), stride, log});
        for (int64_t r = 0; r < kRows; ++r) {
          const auto from = x.begin() + r * stride;
          const std::vector<float> want = softmax(tier, std::vector<float>(from, from + n), log);
          ASSERT_EQ(std::memcmp(want.data(), y.data() + r * stride,
                                static_cast<size_t>(n) * sizeof(float)),
                    0);
          ASSERT_EQ(y[static_cast<size_t>(r * stride + n)], 9.0f) << "wrote past the row";
        }
        softmax_f32(tier)({kRows, n, x.data(), stride, x.data(), stride, log});
        for (int64_t r = 0; r < kRows; ++r) {
          ASSERT_EQ(std::memcmp(x.data() + r * stride, y.data() + r * stride,
                                static_cast<size_t>(n) * sizeof(float)),
                    0)
              << "in place";
        }
      }
    }
  }
}

}  // namespace
}  // namespace rill::kernels
