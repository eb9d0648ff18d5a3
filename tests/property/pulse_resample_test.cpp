// Worked cases of resampling along the stream.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

std::string upsample(int factor, const std::string& method, const std::string& x = "x") {
  return str_cat("multilinear_upsample(", x, ", factor = [", factor, "], method = '", method, "')");
}

/// A document over x [1, 1, S] that computes y by an operator of ONNX.
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

// For whole factors, the symmetric form has the same positions.
TEST(PulseResample, SymmetricUpsamplingByWholeFactors) {
  for (const char* kind : {kLinear, kCubic}) {
    const std::string how = std::string(kind) + ", coord_transformer = 'half_pixel_symmetric'";
    const int64_t delay = kind == kLinear ? 1 : 3;
    expect_streams(onnx(resize("2.0", how)), {{1, 4}, 2, 1, delay, "2*S"});
    expect_streams(onnx(resize("7.0", how)), {{1, 3}, 7, 1, kind == kLinear ? 3 : 10, "7*S"});
    expect_refused(onnx(resize("1.5", how)), 2, "y", "depend on the length of the stream");
  }
}

// The PyTorch form differs where several frames become one.
TEST(PulseResample, UpsamplingAsPyTorchDoes) {
  const std::string how = std::string(kLinear) + ", coord_transformer = 'pytorch_half_pixel'";
  expect_streams(onnx(resize("1.5", how)), {{2, 4}, 3, 2, 1, "S+S/2"});
  expect_streams(onnx(resize("3.0", how)), {{1, 4}, 3, 1, 1, "3*S"});
  expect_refused(onnx(resize("0.75", how)), 4, "y", "depend on the length of the stream");
}

TEST(PulseResample, LinearUpsamplingFromTheBeginsOfFrames) {
  expect_streams(y(upsample(2, "asymmetric")), {{1, 4}, 2, 1, 1, "2*S"});
  expect_streams(y(upsample(4, "asymmetric")), {{3}, 4, 1, 3, "4*S"});
}

TEST(PulseResample, AfterAndBeforeOtherDelays) {
  expect_streams(y(upsample(2, "symmetric", slice("x", 1, 0))), {{1, 4}, 2, 1, 3, "2*S-2"});
  expect_streams(y(upsample(2, "symmetric", conv("x", {3, 1, 1, 1, 1}))), {{4}, 2, 1, 3, "2*S"});
  expect_streams(y(conv(upsample(2, "symmetric"), {4, 2, 1, 1, 1})), {{1, 4}, 1, 1, 1, "S"});
  // A slice drops the last frames; some of them arrive before the end is known.
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

TEST(PulseResample, NearestFramesThatAreNotRepeatedUnchanged) {
  const std::string up =
      "interpolator = 'nearest', coord_transformer = 'asymmetric', nearest_mode = ";
  expect_streams(onnx(resize("2.0", up + "'ceil'")), {{1, 4}, 2, 1, 1, "2*S"});
  expect_streams(onnx(resize("0.5", up + "'floor'")), {{2, 4}, 1, 2, 0, "S/2"});
}

// Three output frames per two input frames, at positions -1/6, 1/2 and 7/6, so the last one waits.
TEST(PulseResample, FractionsOfTheFrames) {
  expect_streams(onnx(resize("1.5", kLinear)), {{2, 4, 10}, 3, 2, 1, "S+S/2"});
  expect_streams(onnx(resize("2.5", kLinear)), {{2, 6}, 5, 2, 1, "2*S+S/2"});
  expect_streams(onnx(resize("0.75", kLinear)), {{4, 8}, 3, 4, 0, "(3*S)/4"});
  expect_streams(onnx(resize("1.25", kCubic)), {{4, 8}, 5, 4, 2, "S+S/4"});
  expect_streams(onnx(resize("1.5", "interpolator = 'nearest', coord_transformer = 'asymmetric'")),
                 {{2, 6}, 3, 2, 0, "S+S/2"});
  expect_refused(onnx(resize("1.5", kLinear)), 3, "y", "multiple of 2");
  expect_frames(onnx(resize("1.5", kLinear, slice("x", 1, -3))), 4);
  expect_frames(onnx(resize("0.625", kLinear, pad("x", 2, 1, "0.5"))), 8);
  expect_journeys(onnx(resize("1.5", kLinear)), {2, 4, 6});
}

struct Interpolated {
  std::string scale;
  std::vector<float> frames;
};

// torch.nn.functional.interpolate([1, 4, 9, ..., 49], scale_factor, mode="linear").
TEST(PulseResample, FractionsAreThoseOfPyTorch) {
  const Interpolated cases[] = {
      {"1.5",
       {1.0F, 2.5F, 4.833333F, 8.166668F, 12.5F, 17.5F, 23.5F, 30.5F, 38.166672F, 46.833336F}},
      {"2.5",
       {1.0F, 1.3F, 2.5F, 3.7F, 5.5F, 7.5F, 9.7F, 12.5F, 15.3F, 18.7F, 22.3F, 26.1F, 30.5F, 34.9F,
        39.9F, 45.1F, 49.0F}},
      {"0.75", {1.5F, 6.5F, 14.833334F, 26.833336F, 42.5F}},
      {"1.25", {1.0F, 3.1F, 6.5F, 11.1F, 16.9F, 24.1F, 32.7F, 42.5F}},
      {"0.625", {1.9F, 8.5F, 20.5F, 37.3F}}};
  for (const Interpolated& each : cases) {
    auto whole = WholeRun::make(loaded(onnx(resize(each.scale, kLinear))), 7);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    const std::vector<float> first = {1, 4, 9, 16, 25, 36, 49};
    auto squares = Tensor::of<float>(DType::kF32, {1, 1, 7}, first);
    ASSERT_TRUE(squares.ok());
    std::vector<Tensor> inputs;
    inputs.push_back(std::move(squares).value());
    const std::vector<Tensor> found = whole->run(inputs);
    ASSERT_EQ(found[0].volume(), static_cast<int64_t>(each.frames.size())) << each.scale;
    for (size_t i = 0; i < each.frames.size(); ++i) {
      EXPECT_NEAR(found[0].data<float>()[i], each.frames[i], 1e-5F * each.frames[i]) << i;
    }
  }
}

/// A document of torch_to_nnef over x [1, 1, S].
std::string exported(const std::string& expression) {
  std::string text = y(expression);
  text.insert(text.find("graph network"),
              "fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[])\n"
              "{\n  properties = [(\"torch_to_nnef_version\", \"0.24.12\")];\n}\n");
  return text;
}

// `F.interpolate(x, scale_factor=0.5, mode="linear")` of 2 or 3 frames is the mean of the first
// two. In files of other exporters, this mode has the ONNX meaning: the first frame.
TEST(PulseResample, OneFrameOfPyTorchLiesBetweenTwo) {
  const std::string half =
      "tract_core_resize(x, scales = [1.0, 1.0, 0.5], coord_transformer = 'pytorch_half_pixel', "
      "interpolator = 'linear')";
  for (const int64_t frames : {2, 3}) {
    for (const bool torch : {true, false}) {
      auto whole = WholeRun::make(loaded(torch ? exported(half) : y(half)), frames);
      ASSERT_TRUE(whole.ok()) << whole.error().to_string();
      const std::vector<float> squares = {1, 4, 9};
      auto x = Tensor::of<float>(DType::kF32, {1, 1, frames},
                                 std::span(squares).first(static_cast<size_t>(frames)));
      ASSERT_TRUE(x.ok());
      std::vector<Tensor> inputs;
      inputs.push_back(std::move(x).value());
      EXPECT_EQ(whole->run(inputs)[0].data<float>()[0], torch ? 2.5F : 1.0F) << frames;
    }
  }
  expect_streams(exported(half), {{2, 4}, 1, 2, 0, "S/2"});
  expect_refused(y(half), 4, "y", "Resize");
}

// interpolate(scale_factor) and interpolate(size) as exporters write them.
TEST(PulseResample, SizesThatAreAMultiple) {
  const std::string sized =
      "tract_core_resize(x, sizes = [1, 1, 2 * S], coord_transformer = 'half_pixel', interpolator "
      "= "
      "'linear')";
  expect_streams(y(sized), {{1, 4}, 2, 1, 1, "2*S"});
}

TEST(PulseResample, PlacesThatDependOnTheLengthAreRefused) {
  expect_refused(y(upsample(2, "aligned")), 4, "y", "Resize");
  expect_refused(onnx(resize("2.0", std::string(kLinear) + ", exclude_outside = true")), 4, "y",
                 "Resize");
}

/// x at floor(n / places) * hop for n < `count`, in torch_to_nnef's form of integer division.
std::string held(int64_t places, int64_t hop, const std::string& count) {
  return document("1, 1, S", str_cat("  n = tract_core_cast(tract_core_range(0, ", count,
                                     ", step = 1), to = 'f32');\n  b = floor(n / ", places,
                                     ".0);\n  i = tract_core_cast(b, to = 'i64') * ", hop,
                                     ";\n  y = tract_core_gather(x, i, axis = 2);\n"));
}

/// The whole run must gather rows `row(i)`, and the stream must agree.
void expect_rows(const std::string& text, int64_t pulse, int64_t length,
                 const std::function<int64_t(int64_t)>& row) {
  SCOPED_TRACE(str_cat("pulse ", pulse, ", length ", length, "\n", text));
  const Graph graph = loaded(text);
  const std::vector<Tensor> x = noise_inputs(graph, length, 3);
  auto whole = WholeRun::make(graph, length);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  const Tensor y = std::move(whole->run(x)[0]);
  for (int64_t i = 0; i < y.volume(); ++i) {
    ASSERT_EQ(y.data<float>()[i], x[0].data<float>()[row(i)]) << i;
  }
  auto streamed = StreamedRun::make(graph, pulse);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  EXPECT_EQ(stream_problem(graph, &*streamed, length), "");
}

TEST(PulseResample, RowsThatAreHeldOrTakenSeveralTimes) {
  expect_streams(held(4, 4, "S"), {{4, 12}, 1, 1, 0, "S"});
  expect_streams(held(2, 1, "2 * S"), {{1, 3}, 2, 1, 0, "2*S"});
  expect_streams(held(3, 2, "3 * (S / 2)"), {{2, 4}, 3, 2, 0, "3*(S/2)"});
  for (const int64_t places : {2, 3, 7, 60, 1000, 4099, 65537}) {
    const auto row = [&](int64_t n) { return n / places * places; };
    for (const int64_t length :
         {int64_t{0}, int64_t{1}, places - 1, places, places + 1, 3 * places - 1, 5 * places + 2}) {
      expect_rows(held(places, places, "S"), places, length, row);
    }
  }
  // The last of these rows may lie beyond the end of the input.
  expect_refused(held(2, 3, "S"), 6, "\"y\"", "Gather");
}

// With a pulse of 30000 frames, the search for the least delay covers more than 240000 candidates.
TEST(PulseResample, LateStreamsOfLargePulses) {
  constexpr int64_t kFar = 30000;
  const std::string late = conv("x", {2, 1, kFar, 0, kFar});
  const Graph graph = loaded(y(upsample(8, "symmetric", late)));
  auto streamed = StreamedRun::make(graph, kFar);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  EXPECT_EQ(streamed->session().plan().outputs[0].stream.delay, 8 * kFar + 4);
  EXPECT_EQ(stream_problem(graph, &*streamed, 2 * kFar + 5), "");
}

}  // namespace
}  // namespace rill::test
