#include "core/base/closest.h"

#include <gtest/gtest.h>

#include <array>

namespace rill {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"dump", "run", "stream", "--pulse",
                                                    "--profile"};

TEST(Closest, FindsTheIntendedName) {
  EXPECT_EQ(closest("strem", kNames), "stream");
  EXPECT_EQ(closest("steram", kNames), "stream");
  EXPECT_EQ(closest("streaming", kNames), "stream");
  EXPECT_EQ(closest("--puls", kNames), "--pulse");
  EXPECT_EQ(closest("--prfoile", kNames), "--profile");
  EXPECT_EQ(closest("dmup", kNames), "dump");
}

TEST(Closest, ReturnsNothingForADistantName) {
  EXPECT_EQ(closest("frobnicate", kNames), "");
  EXPECT_EQ(closest("", kNames), "");
  EXPECT_EQ(closest("x", kNames), "");
  EXPECT_EQ(closest(std::string(100000, 's'), kNames), "");
  EXPECT_EQ(closest("dump", {}), "");
}

TEST(Closest, BecomesAHint) {
  EXPECT_EQ(did_you_mean("strem", kNames), "Did you mean \"stream\"?");
  EXPECT_EQ(did_you_mean("frobnicate", kNames), "");
}

}  // namespace
}  // namespace rill
