// Worked cases of what is kept of a stream beyond windows: its first frames, positions of frames,
// states of loops.

#include <gtest/gtest.h>

#include <string>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

TEST(PulseCases, FirstFramesMeetAllOthers44) {
  expect_streams(y("x - " + slice("x", 0, 1)), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y("x - mean_reduce(" + slice("x", 0, 3) + ", axes = [2])"), {{2}, 1, 1, 2, "S"});
  expect_streams(y("x - mean_reduce(" + slice("x", 0, 3) + ", axes = [2])"), {{1}, 1, 1, 2, "S"});
  expect_streams(y("x - mean_reduce(" + slice("x", 0, 3) + ", axes = [2])"), {{3}, 1, 1, 0, "S"});
  expect_streams(y(conv("x", {3}) + " * " + slice(slice("x", 2, 0), 1, 2)), {{4}, 1, 1, 2, "S-2"});
}

TEST(PulseCases, FramesAreNumbered45) {
  const std::string range =
      "unsqueeze(tract_core_cast(tract_core_range(0, S, 1), to = 'f32'), axes = [1])";
  expect_streams(document("S, 4", "  y = x + " + range + ";\n"), {{1, 4}, 1, 1, 0, "S"});
  const std::string late =
      "slice(x, axes = [0], begin = [2], end = [0]) * unsqueeze(tract_core_cast("
      "tract_core_range(5, S + 3, 1), to = 'f32'), axes = [1])";
  expect_streams(document("S, 4", "  y = " + late + ";\n"), {{1, 4}, 1, 1, 2, "S-2"});
  const std::string even =
      "unsqueeze(tract_core_cast(tract_core_range(0, 2 * S, 2), to = 'f32'), axes = [1])";
  expect_streams(document("S, 4", "  y = x + " + even + ";\n"), {{3}, 1, 1, 0, "S"});
}

/// A table of 200 rows of one number each.
std::string table() {
  std::string rows;
  for (int i = 0; i < 200; ++i) rows += str_cat(i == 0 ? "" : ", ", "[", 0.01 * i * i, "]");
  return "[" + rows + "]";
}

TEST(PulseCases, RowsOfATableMeetFrames45) {
  const auto rows = [](const std::string& begin, const std::string& end) {
    return "slice(t, axes = [0], begin = [" + begin + "], end = [" + end + "])";
  };
  const std::string t = "  t = " + table() + ";\n";
  expect_streams(document("S, 4", t + "  y = x + " + rows("0", "S") + ";\n"),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_streams(document("S, 4", t + "  y = x + " + rows("3", "S + 3") + ";\n"),
                 {{4}, 1, 1, 0, "S"});
  expect_streams(
      document("2*S, 4", t + "  h = tract_core_downsample(x, axis = 0, stride = 2);\n  y = h + " +
                             rows("0", "S") + ";\n"),
      {{4}, 1, 1, 0, "S"});
  const std::string gathered = "tract_core_gather(t, tract_core_range(0, S, 1), axis = 0)";
  expect_streams(document("S, 4", t + "  y = x + " + gathered + ";\n"), {{1, 4}, 1, 1, 0, "S"});
  expect_refused(document("S, 4", t + "  y = x + " + rows("100 - S", "100") + ";\n"), 4, "slice",
                 "Slice");
}

TEST(PulseCases, RepeatedConstantsMeetAnyDelay46To47) {
  expect_streams(document("1, 1, S", "  y = tract_core_broadcast(" + slice("x", 2, 0) +
                                         ", shape = [3, 1, S - 2]);\n"),
                 {{4}, 1, 1, 2, "S-2"});
  expect_streams(
      document("1, 1, S", "  c = " + conv("x", {3, 2, 1, 2, 1}) +
                              ";\n  y = c + tract_core_broadcast([[[0.5]]], shape = [1, 1, S "
                              "/ 2 + 1]);\n"),
      {{4}, 1, 2, 0, "1+S/2"});
  // A causal model stays causal where a constant joins it.
  expect_streams(document("1, 1, S",
                          "  o = tract_core_broadcast([[[0.5]]], shape = [1, 1, S + 2]);\n"
                          "  p = " +
                              pad("x", 2, 0, "0.0") + " + o;\n  y = " + conv("p", {3}) + ";\n"),
                 {{1, 4}, 1, 1, 0, "S"});
}

}  // namespace
}  // namespace rill::test
