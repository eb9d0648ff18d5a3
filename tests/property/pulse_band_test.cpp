// Worked cases of matrices that are made of positions alone: frames weighed by their distance.
//
// The whole run sums over all frames, the stream over those that have a weight: the order of the
// sums differs, and so may their last bits.

#include <gtest/gtest.h>

#include <string>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 2e-6;

/// The product of x [1, S, 4] with `weights` of rows and columns.
std::string weighed(const std::string& weights) {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n"
                  "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
                  "  apart = row - column;\n"
                  "  distance = tract_core_cast(abs(apart), to = 'f32');\n  w = " +
                      weights + ";\n  y = matmul(w, x);\n");
}

std::string where(const std::string& seen) { return "tract_core_cast(" + seen + ", to = 'f32')"; }

TEST(PulseCases, FramesTimesAMatrixWithABand) {
  const std::string ahead = where("(apart >= -1) && (apart < 3)");
  expect_streams(weighed(ahead), {{1, 4}, 1, 1, 1, "S"}, kTolerance);
  const std::string tent = "max(1.0 - distance / 3.0, 0.0)";
  expect_streams(weighed(tent), {{1, 4}, 1, 1, 2, "S"}, kTolerance);
  const std::string fading = "select(apart >= 0 && apart < 5, pow(0.9, distance), 0.0)";
  expect_streams(weighed(fading), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  const std::string chunks = where("row / 4 == column / 4") + " / 4.0";
  expect_streams(weighed(chunks), {{4, 8}, 1, 1, 0, "S"}, kTolerance);
  expect_refused(weighed(where("apart >= 0")), 4, "y", "all keys that went before");
  expect_refused(weighed("distance"), 4, "y", "all keys that follow");
}

}  // namespace
}  // namespace rill::test
