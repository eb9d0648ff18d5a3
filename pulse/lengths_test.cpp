// The lengths of a model determine its longest stream, even if that is very long, or if few lengths
// are valid.

#include "pulse/lengths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/base/splitmix.h"
#include "core/base/text.h"

namespace rill::pulse {
namespace {

using Longest = std::optional<int64_t>;

Longest longest(const std::vector<std::string>& texts) {
  std::vector<Dim> dims;
  for (const std::string& text : texts) {
    auto dim = parse_dim(text);
    EXPECT_TRUE(dim.ok()) << text;
    if (dim.ok()) dims.push_back(std::move(dim).value());
  }
  return longest_stream("S", dims);
}

TEST(LongestStream, ExceedsAnyNumber) {
  EXPECT_EQ(longest({"70001-S"}), 70001);
  EXPECT_EQ(longest({"4398046511105-S"}), 4398046511105);  // 2^42 + 1
  EXPECT_EQ(longest({"1152921504606846977-S", "S-5"}), 1152921504606846977);  // 2^60 + 1
  EXPECT_EQ(longest({"S-70001"}), std::nullopt);
  EXPECT_EQ(longest({"70001-S", "90000-3*(S/4099)"}), 70001);
}

// Blocks of 4099, or 70001, frames fit only multiples of that length, but without end.
TEST(LongestStream, HasNoEndWhereFarLengthsFitRarely) {
  for (const char* block : {"4099", "70001", "99991"}) {
    EXPECT_EQ(longest({str_cat(block, "*(S/", block, ")-S")}), std::nullopt) << block;
    EXPECT_EQ(longest({str_cat("S-", block, "*(S/", block, ")-", block, "+1")}), std::nullopt);
  }
  // The ranges of valid lengths become shorter from block to block.
  EXPECT_EQ(longest({"4099*(S/4099)-S+3-S/50000"}), 196752);
}

// The last length that fits, and not the first after which one does not.
TEST(LongestStream, IsBeyondAllGaps) {
  Splitmix64 dice(17);
  for (int i = 0; i < 200; ++i) {
    const auto size = [&](double most) {
      return static_cast<int64_t>(std::exp(dice.unit() * std::log(most)));
    };
    const int64_t period = 2 + size(4e4);
    const int64_t falls = 1 + size(4e4);
    const int64_t above = size(20);
    const std::string text =
        str_cat(period, "*(S/", period, ")-S+", above, "-S/", falls);
    int64_t last = 0;
    for (int64_t s = 0; s <= (above + 1) * falls; ++s) {
      if (period * (s / period) - s + above - s / falls >= 0) last = s;
    }
    EXPECT_EQ(longest({text}), last) << text;
  }
}

}  // namespace
}  // namespace rill::pulse
