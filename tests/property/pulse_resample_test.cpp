// Worked cases of resampling along the stream.

#include <gtest/gtest.h>

#include <string>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

std::string upsample(int factor, const std::string& method, const std::string& x = "x") {
  return str_cat("multilinear_upsample(", x, ", factor = [", factor, "], method = '", method, "')");
}

/// A document over x [1, 1, S] that gives y by an operator that ONNX has.
std::string onnx(const std::string& expression) {
  std::string text = y(expression);
  text.insert(text.find("graph network"), "extension tract_registry tract_onnx;\n");
  return text;
}

std::string resize(const std::string& scale, const std::string& how, const std::string& x = "x") {
  return str_cat("tract_onnx_resize(", x, ", scales = [1.0, 1.0, ", scale, "], ", how, ")");
}

const char kLinear[] = "interpolator = 'linear'";
const char kCubic[] = "interpolator = 'cubic'";

// An output waits for the input frame to its right.
TEST(PulseResample, LinearUpsamplingBetweenTheCentresOfFrames) {
  expect_streams(y(upsample(2, "symmetric")), {{1, 4}, 2, 1, 1, "2*S"});
  expect_streams(y(upsample(3, "symmetric")), {{1, 3}, 3, 1, 1, "3*S"});
  expect_streams(y(upsample(4, "symmetric")), {{1, 2, 5}, 4, 1, 2, "4*S"});
  expect_streams(y(upsample(7, "symmetric")), {{2}, 7, 1, 3, "7*S"});
}

TEST(PulseResample, LinearUpsamplingFromTheBeginsOfFrames) {
  expect_streams(y(upsample(2, "asymmetric")), {{1, 4}, 2, 1, 1, "2*S"});
  expect_streams(y(upsample(4, "asymmetric")), {{3}, 4, 1, 3, "4*S"});
}

TEST(PulseResample, BehindAndBeforeOtherDelays) {
  expect_streams(y(upsample(2, "symmetric", slice("x", 1, 0))), {{1, 4}, 2, 1, 3, "2*S-2"});
  expect_streams(y(upsample(2, "symmetric", conv("x", {3, 1, 1, 1, 1}))), {{4}, 2, 1, 3, "2*S"});
  expect_streams(y(conv(upsample(2, "symmetric"), {4, 2, 1, 1, 1})), {{1, 4}, 1, 1, 1, "S"});
  // Frames are cut off the end, some of which go by before it is known.
  expect_streams(y(upsample(2, "symmetric", slice("x", 0, -3))), {{1}, 2, 1, 5, "2*S-6"});
  expect_frames(y(upsample(2, "symmetric", slice("x", 0, -3))), 4);
  expect_streams(y(upsample(2, "symmetric", pad("x", 2, 1, "0.5"))), {{1, 4}, 2, 1, 0, "2*S+6"});
}

TEST(PulseResample, CubicUpsamplingWaitsForTwoFrames) {
  expect_streams(onnx(resize("2.0", kCubic)), {{1, 4}, 2, 1, 3, "2*S"});
}

TEST(PulseResample, Downsampling) {
  expect_streams(onnx(resize("0.5", kLinear)), {{2, 4}, 1, 2, 0, "S/2"});
  expect_streams(onnx(resize("0.25", kLinear)), {{4}, 1, 4, 0, "S/4"});
  expect_streams(onnx(resize("0.5", std::string(kLinear) + ", antialias = true")),
                 {{2, 6}, 1, 2, 1, "S/2"});
  expect_refused(onnx(resize("0.5", kLinear)), 3, "y", "multiple of 2");
}

TEST(PulseResample, NearestFramesThatAreNotRepeatedAsTheyAre) {
  const std::string up =
      "interpolator = 'nearest', coord_transformer = 'asymmetric', nearest_mode = ";
  expect_streams(onnx(resize("2.0", up + "'ceil'")), {{1, 4}, 2, 1, 1, "2*S"});
  expect_streams(onnx(resize("0.5", up + "'floor'")), {{2, 4}, 1, 2, 0, "S/2"});
}

// As interpolate(scale_factor) and interpolate(size) are written.
TEST(PulseResample, SizesThatAreAMultiple) {
  const std::string sized =
      "tract_core_resize(x, sizes = [1, 1, 2 * S], coord_transformer = 'half_pixel', interpolator "
      "= "
      "'linear')";
  expect_streams(y(sized), {{1, 4}, 2, 1, 1, "2*S"});
}

TEST(PulseResample, PlacesThatDependOnTheLengthAreRefused) {
  expect_refused(y(upsample(2, "aligned")), 4, "y", "Resize");
  expect_refused(onnx(resize("1.5", kLinear)), 4, "y", "Resize");
  expect_refused(onnx(resize("2.0", std::string(kLinear) + ", exclude_outside = true")), 4, "y",
                 "Resize");
}

}  // namespace
}  // namespace rill::test
