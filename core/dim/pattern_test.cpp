#include "core/dim/pattern.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rill {
namespace {

Dim dim(std::string_view text) {
  auto parsed = parse_dim(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Dim::invalid();
}

DimPattern pattern(const Dim& of) {
  auto made = DimPattern::of(of, "S");
  EXPECT_TRUE(made.ok()) << of.to_string();
  return made.ok() ? std::move(made).value() : *DimPattern::of(Dim(0), "S");
}

TEST(DimPattern, FindsPeriodGrowthAndSettledLength) {
  const DimPattern trimmed = pattern(dim("max(0, S-500)"));
  EXPECT_EQ(trimmed.settled(), 500);
  EXPECT_EQ(trimmed.period(), 1);
  EXPECT_EQ(trimmed.growth(), 1);
  const DimPattern strided = pattern(dim("(3*S+5)/4"));
  EXPECT_EQ(strided.settled(), 0);
  EXPECT_EQ(strided.period(), 4);
  EXPECT_EQ(strided.growth(), 3);
  const DimPattern table = pattern(dim("min(S/3, 1000)"));
  EXPECT_EQ(table.settled(), 3000);
  EXPECT_EQ(table.growth(), 0);
}

TEST(DimPattern, FindsChangesAtLargeNumbers) {
  EXPECT_EQ(**pattern(dim("max(0, S-77777)-S")).least(0), -77777);
  EXPECT_EQ(**pattern(dim("min(S, 90000)/7")).greatest(0), 12857);
  EXPECT_EQ(**pattern(dim("99999-(S/3)")).last_non_negative(), 299999);
  EXPECT_EQ(*pattern(dim("S-5")).last_non_negative(), std::nullopt);
  EXPECT_EQ(**pattern(dim("S-2*S-1")).last_non_negative(), -1);
  EXPECT_EQ(*pattern(dim("S")).greatest(0), std::nullopt);
}

TEST(DimPattern, FindsStepsOfEvenGrowth) {
  EXPECT_EQ(**least_even_step(dim("max(0, (S-777)/6)"), "S", 1 << 20), 6);
  EXPECT_EQ(**least_even_step(dim("S/4+S/6"), "S", 1 << 20), 12);
  EXPECT_EQ(*least_even_step(dim("min(S, 12)"), "S", 1 << 20), std::nullopt);
  EXPECT_EQ(*least_even_step(dim("S/4000"), "S", 100), std::nullopt);
}

TEST(DimPattern, RefusesUndecidablePatterns) {
  EXPECT_FALSE(DimPattern::of(dim("S*S"), "S").ok());
  EXPECT_FALSE(DimPattern::of(dim("S*B"), "S").ok());
  EXPECT_FALSE(DimPattern::of(Dim::invalid(), "S").ok());
}

class RandomDims {
 public:
  explicit RandomDims(uint32_t seed) : random_(seed) {}

  int64_t constant() {
    const double log = std::uniform_real_distribution<double>(0, std::log(1e5))(random_);
    return static_cast<int64_t>(std::exp(log));
  }
  int64_t small() { return std::uniform_int_distribution<int64_t>(1, 40)(random_); }

  Dim any(int depth) {
    const int kind = depth == 0 ? 0 : std::uniform_int_distribution<int>(0, 9)(random_);
    switch (kind) {
      case 0: return Dim::symbol("S");
      case 1: return any(depth - 1) + Dim(constant());
      case 2: return any(depth - 1) - Dim(constant());
      case 3: return floor_div(any(depth - 1), constant() % 7 == 0 ? constant() : small());
      case 4: return Dim(small()) * any(depth - 1);
      case 5: return min(any(depth - 1), any(depth - 1));
      case 6: return max(any(depth - 1), any(depth - 1) - Dim(constant()));
      case 7: return max(Dim(0), any(depth - 1));
      case 8: return any(depth - 1) - any(depth - 1);
      default: return ge(any(depth - 1), Dim(constant())) * Dim(constant());
    }
  }

 private:
  std::mt19937 random_;
};

/// The maximum period and constant that brute force can enumerate in reasonable time.
constexpr int64_t kMostBrute = 400'000;

TEST(DimPattern, EqualsBruteForceOverRandomExpressions) {
  int known = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    RandomDims random(seed);
    const Dim each = random.any(4);
    const auto made = DimPattern::of(each, "S");
    if (!made.ok()) continue;
    const int64_t until = made->settled() + 3 * made->period();
    if (until > kMostBrute) continue;
    ++known;
    std::vector<int64_t> values;
    for (int64_t n = 0; n <= until + 5; ++n) values.push_back(*each.eval({{"S", n}}));
    const auto value = [&](int64_t n) { return values[static_cast<size_t>(n)]; };
    for (size_t i = 0; i < made->pieces().size(); ++i) {
      const DimPiece& piece = made->pieces()[i];
      const int64_t end =
          i + 1 < made->pieces().size() ? made->pieces()[i + 1].from : until + 5;
      for (int64_t n = piece.from; n < end; ++n) {
        const int64_t deviation = piece.period * value(n) - piece.growth * n;
        ASSERT_TRUE(piece.low <= deviation && deviation <= piece.high)
            << each.to_string() << " at " << n;
        if (n + piece.period >= end) continue;
        ASSERT_EQ(value(n + piece.period), value(n) + piece.growth)
            << each.to_string() << " at " << n;
      }
    }
    const int64_t from = random.constant() % until;
    const auto begin = values.begin() + from;
    if (const auto least = made->least(from); least.ok()) {
      ASSERT_EQ(least->has_value(), made->growth() >= 0) << each.to_string();
      if (*least) {
        ASSERT_EQ(**least, *std::min_element(begin, values.end())) << each.to_string();
      }
    }
    if (const auto most = made->greatest(from); most.ok() && *most) {
      ASSERT_EQ(**most, *std::max_element(begin, values.end())) << each.to_string();
    }
    if (const auto last = made->last_non_negative(); last.ok() && *last) {
      for (int64_t n = **last + 1; n <= until; ++n)
        ASSERT_LT(value(n), 0) << each.to_string() << " at " << n;
      if (**last >= 0 && **last <= until) {
        ASSERT_GE(value(**last), 0) << each.to_string();
      }
    }
  }
  EXPECT_GT(known, 400);
}

}  // namespace
}  // namespace rill
