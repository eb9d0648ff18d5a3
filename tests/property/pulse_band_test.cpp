// Worked cases of matrices computed from positions only: frames weighted by distance. The whole run
// sums over all frames, and the stream over the frames with a weight. The order of the sums
// differs, and so may their last bits.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 2e-6;

/// The matmul of `weights` (rows by columns) with x [1, S, 4].
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
  expect_refused(weighed(where("apart >= 0")), 4, "y", "all earlier keys");
  expect_refused(weighed("distance"), 4, "y", "all later keys");
}

// Bands by monotonic curves, such as squares and exponentials, that cross a bound once on either
// side.
TEST(PulseCases, FramesWeighedByCurvesOfTheirDistance) {
  const auto seen_where = [](const char* seen) {
    return weighed(str_cat("select(", seen, ", 1.0, 0.0)"));
  };
  struct Known {
    const char* seen;
    int64_t ahead;
  };
  // Expected distances by hand: 3 * 3 <= 9; ln(5) > 1.5; exp(-0.1 * 4) < 0.7; tanh(0.3) < 0.3 <
  // tanh(0.4).
  const Known known[] = {{"distance * distance <= 9.0", 3},
                         {"apart * apart <= 9", 3},
                         {"sqr(distance) < 9.0", 2},
                         {"sqrt(distance) <= 1.8", 3},
                         {"log(distance + 1.0) <= 1.5", 3},
                         {"exp(distance * -0.1) >= 0.7", 3},
                         {"exp(distance * distance * -0.05) > 0.05", 7},
                         {"tanh(distance * 0.1) <= 0.3", 3},
                         {"9.0 >= distance * distance", 3},
                         {"sqr(distance - 3.0) <= 9.0", 6},
                         {"(sqr(tract_core_cast(apart + 3, to = 'f32')) <= 4.0)", 5}};
  for (const Known& each : known) {
    expect_streams(seen_where(each.seen), {{1, 4}, 1, 1, each.ahead, "S"}, kTolerance);
  }
  // A curve that never crosses hides nothing. For a curve that crosses back, the error names its
  // operator.
  expect_refused(seen_where("tanh(distance) <= 2.0"), 4, "y", "all later keys");
  expect_refused(seen_where("sin(distance) <= 0.5"), 4, "y", "(Sin)");
  expect_refused(seen_where("distance * distance - distance * 4.0 <= 5.0"), 4, "y", "(Square)");
}

/// Forms in which exporters test whether a distance from 0 to `far` is a multiple of `of`.
std::vector<std::string> multiples(int64_t of, int64_t far) {
  const std::string real = "tract_core_cast(apart, to = 'f32')";
  std::vector<std::string> out;
  for (const std::string& multiple :
       {str_cat("apart - apart / ", of, " * ", of, " == 0"),
        str_cat("(apart + 5) / ", of, " * ", of, " - apart == 5"),
        str_cat(real, " - floor(", real, " / ", of, ".0) * ", of, ".0 == 0.0"),
        str_cat("apart == tract_core_cast(ceil(", real, " / ", of, ".0), to = 'i64') * ", of),
        str_cat("apart - tract_core_cast(", real, " / ", of, ".0, to = 'i64') * ", of, " == 0")}) {
    out.push_back(str_cat("select(apart >= 0 && apart <= ", far, " && ", multiple, ", 1.0, 0.0)"));
  }
  return out;
}

TEST(PulseCases, EveryFewFramesCount) {
  for (const std::string& few : multiples(7, 30)) expect_frames(weighed(few), 5, kTolerance);
}

// Rows of these masks have a few hundred runs of equal values, however many keys they have. A
// number per key would exceed the limit on a mask's numbers.
TEST(PulseCases, EveryFewFramesOfManyCount) {
  for (const std::string& few : multiples(997, 150000)) {
    const auto streamed = StreamedRun::make(loaded(weighed(few)), 8);
    EXPECT_TRUE(streamed.ok()) << streamed.error().to_string() << few;
  }
}

}  // namespace
}  // namespace rill::test
