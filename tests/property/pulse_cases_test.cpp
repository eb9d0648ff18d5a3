// The worked cases of the design of streaming: pulse, delay and length of an output, and its
// frames. A test's name ends in the numbers of its cases in the design's table. Delays and lengths
// follow from D' = max(0, ceil((D + K - stride - before) / stride)).

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

TEST(PulseCases, ElementsPassAtOnce1) { expect_streams(y("relu(x)"), {{1, 4}, 1, 1, 0, "S"}); }

TEST(PulseCases, ConvolutionsWait2To6) {
  expect_streams(y(conv("x", {3})), {{1, 4}, 1, 1, 2, "S-2"});
  expect_streams(y(conv("x", {3, 1, 1, 1, 1})), {{1, 4}, 1, 1, 1, "S"});
  expect_streams(y(conv("x", {3, 1, 1, 2, 0})), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y(conv("x", {3, 1, 1, 0, 2})), {{1, 4}, 1, 1, 2, "S"});
  expect_streams(y(conv("x", {5, 1, 4})), {{8}, 1, 1, 16, "S-16"});
}

TEST(PulseCases, StridedConvolutions7To10) {
  expect_streams(y(conv("x", {3, 2})), {{2, 8}, 1, 2, 1, "(S+1)/2-1"});
  expect_refused(y(conv("x", {3, 2})), 1, "y", "Conv");
  expect_streams(y(conv("x", {3, 2, 1, 1, 1})), {{2, 8}, 1, 2, 0, "(S+1)/2"});
  expect_streams(y(conv("x", {4, 2, 1, 1, 1})), {{8}, 1, 2, 1, "S/2"});
  expect_streams(y(conv(slice("x", 1, 0), {2, 3})), {{3}, 1, 3, 0, "S/3"});
}

TEST(PulseCases, ChainsOfConvolutions11To15) {
  expect_streams(y(conv(conv("x", {2}), {3, 2})), {{8}, 1, 2, 1, "S/2-1"});
  expect_streams(y(conv(conv(conv("x", {2, 1, 2}), {3}), {2, 1, 1, 1, 0})), {{1}, 1, 1, 4, "S-4"});
  expect_streams(y(conv(conv("x", {2, 1, 2}), {1, 2})), {{4}, 1, 2, 1, "(S+1)/2-1"});
  expect_streams(y(conv(conv(conv("x", {2}), {1}), {1, 2})), {{2}, 1, 2, 0, "S/2"});
  expect_streams(y(conv("x", {2, 2, 1, 1, 0})), {{2}, 1, 2, 0, "(S+1)/2"});
}

TEST(PulseCases, ConstantBorders16And21To22) {
  expect_streams(y(conv(pad("x", 13, 9, "9999.0"), {2, 2, 2})), {{2}, 1, 2, 0, "10+(S+1)/2"});
  expect_streams(y(pad("x", 2, 3, "-1.0")), {{1, 4}, 1, 1, 0, "S+5"});
  expect_streams(y(conv("relu(" + pad("x", 2, 0, "0.0") + ")", {3})), {{4}, 1, 1, 0, "S"});
}

TEST(PulseCases, EdgeAndReflectBorders17To20) {
  expect_streams(y(conv(pad("x", 5, 15, "0.0", "replicated"), {5, 3})), {{9}, 1, 3, 0, "6+S/3"});
  expect_streams(y(conv(pad("x", 0, 1, "0.0", "replicated"), {1})), {{1}, 1, 1, 0, "S+1"});
  expect_streams(y(pad("x", 2, 0, "0.0", "replicated")), {{1, 2, 3}, 1, 1, 0, "S+2"});
  expect_streams(y(pad("x", 2, 2, "0.0", "reflect")), {{4}, 1, 1, 0, "S+4"});
  expect_streams(y(pad("x", 2, 2, "0.0", "reflect")), {{1, 2}, 1, 1, 2, "S+4"});
}

TEST(PulseCases, BordersOfAStreamThatBeginsLaterAndEndsEarlier) {
  for (const char* border : {"replicated", "reflect"}) {
    for (const int64_t pulse : {1, 2, 3, 5}) {
      expect_frames(y(pad(slice("x", 3, -2), 2, 3, "0.0", border)), pulse);
      expect_frames(y(conv(pad(slice("x", 3, -2), 3, 2, "0.0", border), {4})), pulse);
      expect_frames(y(conv(pad(conv("x", {3, 1, 1, 0, 2}), 4, 1, "0.0", border), {2, 1, 2})),
                    pulse);
      expect_frames(y("x + " + conv(pad("x", 2, 2, "0.0", border), {5})), pulse);
      expect_frames(y(conv(pad("x", 2, 2, "0.0", border), {3, 1, 1, 1, 1})), pulse);
    }
    expect_frames(y(conv(pad(slice("x", 1, 0), 5, 4, "0.0", border), {2, 3})), 6);
  }
}

TEST(PulseCases, SlicesMoveNothing23To26) {
  expect_streams(y(slice("x", 3, -2)), {{4}, 1, 1, 3, "S-5"});
  // The padding exists even for a stream without other frames.
  expect_streams(y(pad(slice("x", 0, -2), 0, 2, "0.0")), {{1}, 1, 1, 1, "max(S-2,0)+2"});
  const auto every = [](const std::string& x, int stride) {
    return str_cat("tract_core_downsample(", x, ", axis = 2, stride = ", stride, ")");
  };
  expect_streams(y(every("x", 2)), {{4}, 1, 2, 0, "(S+1)/2"});
  expect_streams(y(every(slice("x", 1, 0), 3)), {{6}, 1, 3, 0, "(S+1)/3"});
  expect_streams(y(every(slice("x", 1, 0), 2)), {{2}, 1, 2, 0, "S/2"});
}

TEST(PulseCases, Pools27To29) {
  expect_streams(y(pool("max_pool", {2, 2})), {{4}, 1, 2, 0, "S/2"});
  expect_refused(y(pool("max_pool", {2, 2})), 3, "y", "MaxPool");
  expect_streams(y(pool("max_pool", {3, 2})), {{2}, 1, 2, 1, "(S+1)/2-1"});
  expect_streams(y(pool("max_pool", {3, 1, 1, 1, 1})), {{4}, 1, 1, 1, "S"});
  const std::string later = slice("x", 1, 0);
  expect_streams(y(pool("max_pool", {3, 2}, "ignore", later)), {{2}, 1, 2, 1, "S/2-1"});
  expect_streams(y(pool("max_pool", {2, 2, 1, 0, 1}, "ignore", later)), {{2}, 1, 2, 1, "S/2"});
  expect_streams(y(pool("max_pool", {1, 2}, "ignore", later)), {{2}, 1, 2, 0, "S/2"});
}

TEST(PulseCases, AveragesCountTheirPadding30) {
  expect_streams(y(pool("avg_pool", {3, 1, 1, 1, 1}, "constant")), {{4}, 1, 1, 1, "S"});
}

TEST(PulseCases, AveragesLeaveOutTheirPadding30) {
  expect_streams(y(pool("avg_pool", {3, 1, 1, 1, 1}, "ignore")), {{4}, 1, 1, 1, "S"});
  expect_streams(y(pool("avg_pool", {5, 2, 1, 3, 4}, "ignore")), {{2, 6}, 1, 2, 0, "(S+4)/2"});
  expect_frames(y(pool("avg_pool", {3, 1, 2, 2, 1}, "ignore", slice("x", 2, -3))), 3);
  expect_frames(document("1, 1, S, 3",
                         "  y = avg_pool(x, size = [1, 1, 3, 2], stride = [1, 1, 1, 1], dilation = "
                         "[1, 1, 1, 1], padding = [(0, 0), (0, 0), (1, 1), (1, 0)], border = "
                         "'ignore');\n"),
                2);
}

const char kIndexed[] = "  (y, i) = ";

TEST(PulseCases, PoolsReturnThePlaceOfTheLargest31) {
  const auto indexed = [](const Window& w, const std::string& x = "x") {
    return document("1, 1, S", kIndexed + pool("max_pool_with_index", w, "ignore", x) + ";\n",
                    "y, i");
  };
  expect_streams(indexed({2, 2}), {{4}, 1, 2, 0, "S/2"});
  expect_streams(indexed({3, 1, 2, 2, 2}), {{1, 4}, 1, 1, 2, "S"});
  expect_streams(indexed({3, 1, 1, 1, 1}, slice("x", 2, 0)), {{3}, 1, 1, 3, "S-2"});
}

TEST(PulseCases, ValuesOfPoolsWithAnIndexStream31) {
  expect_streams(document("1, 1, S", kIndexed + pool("max_pool_with_index", {2, 2}) + ";\n"),
                 {{4}, 1, 2, 0, "S/2"});
  const std::string none = ", padding = [(0, 0), (0, 0), (0, 0), (0, 0)]);\n";
  const std::string planes = "(x, size = [1, 1, 2, 2], stride = [1, 1, 1, 2]" + none;
  expect_streams(document("1, 1, S, 4", kIndexed + ("max_pool_with_index" + planes), "y, i"),
                 {{4}, 1, 1, 1, "S-1"});
  const std::string rows = "(x, size = [1, 1, 2, 2], stride = [1, 1, 1, 2]" + none;
  expect_streams(document("1, 1, 4, S", kIndexed + ("max_pool_with_index" + rows)),
                 {{4}, 1, 2, 0, "S/2"});
  expect_refused(document("1, 1, 4, S", kIndexed + ("max_pool_with_index" + rows), "y, i"), 4, "y",
                 "MaxPool");
}

std::string deconv(const std::string& x, const Window& w, const std::string& bias = "0.0") {
  return str_cat("deconv(", x, ", ", weights(w.kernel), ", ", bias, ", stride = [", w.stride,
                 "], dilation = [", w.dilation, "], padding = [(", w.before, ", ", w.after, ")])");
}

TEST(PulseCases, Deconvolutions32To36) {
  expect_streams(y(deconv("x", {4, 2})), {{2}, 2, 1, 0, "2*S+2"});
  expect_streams(y(deconv("x", {4, 2, 1, 1, 1}, "0.5")), {{2}, 2, 1, 1, "2*S"});
  expect_streams(y(deconv("x", {32, 16}, "0.5")), {{2}, 16, 1, 0, "16*S+16"});
  expect_streams(y(deconv("x", {2, 1, 2})), {{1}, 1, 1, 0, "S+2"});
  expect_streams(y(deconv("x", {2, 3})), {{2}, 3, 1, 0, "3*S-1"});
  expect_streams(y(deconv(conv("x", {3, 1, 1, 0, 2}), {2, 2})), {{4}, 2, 1, 4, "2*S"});
}

// Padding that is cropped, so that the convolution reads a part of it.
TEST(PulseCases, DeconvolutionsAfterABorder) {
  for (const char* value : {"0.0", "0.5"}) {
    expect_streams(y(slice(deconv(pad("x", 5, 5, value), {12, 2}), 15, -15)),
                   {{1, 4}, 2, 1, 5, "2*S"});
  }
  const std::string edge = pad("x", 5, 5, "0.0", "replicate");
  expect_streams(y(slice(deconv(edge, {12, 2}), 15, -15)), {{1, 4}, 2, 1, 5, "2*S"});
}

// Such frames lie before the first one that any output reads.
TEST(PulseCases, DeconvolutionsThatTrimMoreThanTheirKernel) {
  for (const int64_t kernel : {1, 2, 3}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t before : {1, 3, 6}) {
        for (int64_t trimmed = 1; trimmed <= 5; ++trimmed) {
          const std::string x = pad("x", before, 1, "0.75");
          expect_frames(y(deconv(x, {kernel, stride, 1, trimmed, 0}, "-0.25")), 1);
          expect_frames(y(slice(deconv(x, {kernel, stride}, "-0.25"), trimmed, 0)), 2);
        }
      }
    }
  }
}

// The end of a short stream repeats frames before the first one that the output reads.
TEST(PulseCases, ReflectedEndsOfFramesThatAreTrimmed) {
  for (const int64_t trimmed : {1, 2, 3}) {
    const std::string edges = pad("(x - slice(x, axes = [2], begin = [1], end = [2]))", 1, 1, "0.0",
                                  "reflect");
    expect_frames(y(slice(edges, trimmed, 0)), 1);
    expect_frames(y(slice(edges, trimmed, 0)), 3);
  }
}

// Padding that keeps the size is constant if the length modulo the stride is known.
TEST(PulseCases, PaddingThatKeepsTheSizeWithAStride) {
  const auto same = [](const std::string& x, int64_t kernel, int64_t stride) {
    std::string text = conv(x, {kernel, stride});
    text.replace(text.find("[(0, 0)]"), 8, "[]");
    return "  y = " + text + ";\n";
  };
  expect_streams(document("1, 1, 2*S", same("x", 3, 2)), {{1, 4}, 1, 1, 1, "S"});
  expect_streams(document("1, 1, 2*S", same("x", 4, 2)), {{1, 4}, 1, 1, 1, "S"});
  expect_streams(document("1, 1, 2*S", same(slice("x", 1, 0), 3, 2)), {{1, 4}, 1, 1, 1, "S"});
  expect_streams(document("1, 1, 3*S", same(slice("x", 1, 0), 6, 3)), {{2}, 1, 1, 1, "S"});
  std::string even = document("1, 1, S", same("x", 3, 2));
  expect_refused(even, 4, "y", "--assert 'S == 2 * (S / 2)'");
  even.insert(even.find("graph network"), "extension tract_assert S == 2 * (S / 2);\n");
  const Graph graph = loaded(even);
  auto streamed = StreamedRun::make(graph, 4);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  for (int64_t length = 2; length <= 20; length += 2) {
    EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << length;
  }
}

TEST(PulseCases, UNet37) {
  const std::string text =
      document("1, 1, 2*S", "  d = " + conv("x", {4, 2, 1, 1, 1}) + ";\n  y = x + " +
                                deconv("d", {4, 2, 1, 1, 1}) + ";\n");
  expect_streams(text, {{4}, 2, 1, 3, "2*S"});
}

// A crop that removes padded frames does not wait for them.
TEST(PulseCases, BordersThatAreCutOffAgain) {
  for (const char* border : {"replicate", "reflect", "constant"}) {
    const std::string wide = pad("x", 2, 2, "0.5", border);
    expect_streams(y(slice(wide, 3, -1)), {{1, 4}, 1, 1, 1, "S"});
    expect_streams(y(slice(wide, 2, -2)), {{1, 4}, 1, 1, 0, "S"});
  }
}

TEST(PulseCases, BranchesMeet38To40) {
  expect_streams(y("x + " + conv("x", {5, 1, 1, 2, 2})), {{1, 4}, 1, 1, 2, "S"});
  expect_streams(y("select(" + conv("x", {4, 1, 1, 0, 3}) + " > 0.0, " +
                   conv("x", {2, 1, 1, 0, 1}) + ", " + conv("x", {3, 1, 1, 0, 2}) + ")"),
                 {{4}, 1, 1, 3, "S"});
  expect_streams(y(conv("x", {3}) + " + " + slice("x", 1, -1)), {{4}, 1, 1, 2, "S-2"});
}

TEST(PulseCases, ConstantFramesAroundAStream41) {
  expect_streams(y("concat([[[[0.25, 0.25]]], x], axis = 2)"), {{4}, 1, 1, 0, "S+2"});
  expect_streams(y("concat([x, [[[0.25]]]], axis = 2)"), {{4}, 1, 1, 0, "S+1"});
  expect_streams(y(conv("concat([[[[0.25, 0.25]]], x], axis = 2)", {3})), {{4}, 1, 1, 0, "S"});
}

TEST(PulseCases, DifferentFramesAroundAStream41) {
  expect_streams(y("concat([[[[0.25, 0.5]]], x], axis = 2)"), {{1, 4}, 1, 1, 0, "S+2"});
  expect_streams(y("concat([[[[0.25]]], [[[0.5]]], x, [[[0.1, 0.2, 0.3]]]], axis = 2)"),
                 {{1, 4}, 1, 1, 0, "S+5"});
  expect_streams(
      y("concat([[[[0.25, 0.25]]], " + slice("x", 0, -3) + ", [[[0.1, 0.2]]]], axis = 2)"),
      {{4}, 1, 1, 0, "max(S-3,0)+4"});
}

TEST(PulseCases, FramesOfTheStreamPrepended42To43) {
  expect_streams(y("concat([" + slice("x", 0, 1) + ", " + slice("x", 1, 0) + " - 0.5 * " +
                   slice("x", 0, -1) + "], axis = 2)"),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y("concat([" + slice("x", 5, 6) + ", x], axis = 2)"), {{4}, 1, 1, 4, "S+1"});
  expect_streams(y("concat([" + slice("x", 5, 6) + ", x], axis = 2)"), {{1}, 1, 1, 5, "S+1"});
}

std::string cumsum(const std::string& x, const std::string& how) {
  return "tract_core_cumsum(" + x + ", axis = 2, " + how + ")";
}

TEST(PulseCases, RunningSums48) {
  expect_streams(y(cumsum("x", "exclusive = false")), {{4}, 1, 1, 0, "S"});
  expect_streams(y(cumsum(slice("x", 3, 0), "exclusive = true")), {{1, 4}, 1, 1, 2, "S-3"});
  expect_streams(y(cumsum("x", "exclusive = true")), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y(conv(cumsum("x", "exclusive = true"), {2})), {{4}, 1, 1, 0, "S-1"});
  expect_refused(y(cumsum("x", "reverse = true")), 4, "y", "CumSum");
}

const char kLeaky[] =
    "fragment loop(h: tensor<scalar>, a: tensor<scalar>) -> (h_t: tensor<scalar>) {\n"
    "  h_t = 0.5 * h + a;\n}\n"
    "fragment loop2(h: tensor<scalar>, a: tensor<scalar>, b: tensor<scalar>)\n"
    "    -> (h_t: tensor<scalar>) {\n  h_t = 0.5 * h + a * b;\n}\n";

std::string scan(const std::string& body, const std::string& scanned, int step) {
  return document("1, 1, S",
                  str_cat("  y = tract_core_scan(body = '", body, "', scan = [", scanned,
                          "], full = [], state = [('h', [[[0.1]]], 'h_t')], output = [('h_t', "
                          "'full', 2, ",
                          step, ")], skip = 0);\n"),
                  "y", kLeaky);
}

TEST(PulseCases, Loops49To50) {
  expect_streams(scan("loop", "('a', x, 2, 1)", 1), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(scan("loop", "('a', " + slice("x", 3, 0) + ", 2, 1)", 1), {{4}, 1, 1, 3, "S-3"});
  expect_refused(scan("loop", "('a', x, 2, -1)", -1), 4, "y", "Scan");
  expect_streams(
      scan("loop2", "('a', " + slice("x", 3, 0) + ", 2, 1), ('b', " + slice("x", 0, -3) + ", 2, 1)",
           1),
      {{4}, 1, 1, 3, "S-3"});
}

TEST(PulseCases, Reshapes52) {
  const std::string split = "reshape(t, shape = [S, 8])";
  expect_streams(document("2*S, 4", "  t = copy(x);\n  y = " + split + ";\n"), {{4}, 1, 1, 0, "S"});
  // The same, shifted by one frame, with one frame appended at the end.
  const std::string later =
      "  t = pad(slice(x, axes = [0], begin = [1], end = [0]), padding = [(0, 1), (0, 0)]);\n";
  expect_streams(document("2*S, 4", later + "  y = " + split + ";\n"), {{4}, 1, 1, 1, "S"});
  expect_streams(document("S, 2", "  y = reshape(x, shape = [2*S]);\n"), {{4}, 2, 1, 0, "2*S"});
  expect_refused(document("2, S", "  y = reshape(x, shape = [2*S]);\n"), 4, "y", "Reshape");
}

TEST(PulseCases, ShortTimeTransforms53) {
  const auto stft = [](int frame, int stride) {
    return document("1, S, 2", str_cat("  y = tract_core_stft(x, axis = 1, frame = ", frame,
                                       ", stride = ", stride, ");\n"));
  };
  expect_shape(stft(8, 4), {{4}, 1, 4, 1, "S/4-1"});
  expect_shape(stft(8, 2), {{4}, 1, 2, 3, "S/2-3"});
  expect_shape(stft(6, 4), {{4}, 1, 4, 1, "(S-6)/4+1"});
  expect_shape(stft(400, 160), {{1600}, 1, 160, 2, "(S-400)/160+1"});
  expect_shape(stft(4, 6), {{6}, 1, 6, 0, "(S-4)/6+1"});
  expect_refused(stft(8, 4), 6, "y", "STFT");
}

TEST(PulseCases, PaddingBeforeAShortTimeTransform54) {
  expect_shape(document("1, S, 1",
                        "  c = [[[0.0]]];\n  p = pad(x, padding = [(0, 0), (256, 256), (0, 0)]);\n"
                        "  z = concat([p, p * 0.0], axis = 2);\n"
                        "  y = tract_core_stft(z, axis = 1, frame = 512, stride = 160);\n"),
               {{1600}, 1, 160, 1, "1+S/160"});
}

// The exporter's inverse STFT: an inverse transform, a window, and an overlap-add by a transposed
// convolution with an identity filter.
TEST(PulseCases, FramesOfAShortTimeTransformAreAddedAgain) {
  std::string places;
  for (int sample = 0; sample < 8; ++sample) {
    places += sample == 0 ? "[[" : "], [";
    for (int at = 0; at < 8; ++at) {
      places += str_cat(at == 0 ? "" : ", ", at == sample ? "1.0" : "0.0");
    }
  }
  const std::string text =
      document("1, S, 1",
               "  p = pad(x, padding = [(0, 0), (4, 4), (0, 0)]);\n"
               "  z = concat([p, p * 0.0], axis = 2);\n"
               "  f = tract_core_stft(z, axis = 1, frame = 8, stride = 4);\n"
               "  t = tract_core_fft(f * 0.5, axis = 2, inverse = true);\n"
               "  r = squeeze(slice(t, axes = [3], begin = [0], end = [1]), axes = [3]);\n"
               "  w = r * [[[0.1, 0.3, 0.6, 0.9, 0.9, 0.6, 0.3, 0.1]]];\n"
               "  o = deconv(transpose(w, axes = [0, 2, 1]), [" +
                   places +
                   "]]], 0.0, stride = [4], dilation = [1], padding = [(0, 0)]);\n"
                   "  y = slice(o, axes = [2], begin = [4], end = [S + 4]);\n");
  expect_streams(text, {{4, 8}, 1, 1, 4, "S"}, 2e-6);
}

TEST(PulseCases, Fourier55) {
  const auto fft = [](int axis) {
    return document("S, 4, 2",
                    str_cat("  y = tract_core_fft(x, axis = ", axis, ", inverse = false);\n"));
  };
  expect_shape(fft(1), {{2}, 1, 1, 0, "S"});
  expect_refused(fft(0), 2, "y", "FFT");
}

TEST(PulseCases, OperatorsThatNeedTheWholeStreamAreRefused56) {
  expect_streams(document("1, 3, S", "  y = softmax(x, axes = [1]);\n"), {{4}, 1, 1, 0, "S"});
  expect_refused(y("softmax(x, axes = [2])"), 4, "y", "Softmax");
  expect_refused(y("x - sum_reduce(x, axes = [2])"), 4, "y", "Reduce");
}

TEST(PulseCases, Products57) {
  const auto einsum = [](const std::string& shape, const std::string& inputs,
                         const std::string& expr) {
    return document(
        shape, "  y = tract_core_einsum([" + inputs + "], expr = '" + expr + "', acc = 'f32');\n");
  };
  expect_streams(einsum("S, 1, 2", "x, [[[0.3, 0.1], [-0.7, 0.9]]]", "sij,ijk->sik"),
                 {{1}, 1, 1, 0, "S"});
  expect_refused(einsum("S, 2", "x, x * 0.5", "sk,sn->kn"), 1, "y", "EinSum");
  expect_refused(einsum("S, 2", "x, x * 0.5", "sk,tk->st"), 1, "y", "EinSum");
}

std::string dilated_stack(const std::string& padding) {
  std::string text;
  std::string x = "x";
  for (const int64_t d : {1, 2, 4, 8}) {
    const int64_t before = padding == "causal" ? 2 * d : padding == "same" ? d : 0;
    const int64_t after = padding == "same" ? d : 0;
    const std::string out = str_cat("y", d);
    const std::string straight = padding == "valid" ? slice(x, d, -d) : x;
    text += "  " + out + " = " + straight + " + " + conv(x, {3, 1, d, before, after}) + ";\n";
    x = out;
  }
  return document("1, 1, S", text, x);
}

TEST(PulseCases, StacksOfDilatedConvolutions64) {
  expect_streams(dilated_stack("causal"), {{1, 8}, 1, 1, 0, "S"});
  expect_streams(dilated_stack("same"), {{1, 8}, 1, 1, 15, "S"});
  expect_streams(dilated_stack("valid"), {{1, 8}, 1, 1, 30, "S-30"});
}

TEST(PulseCases, EveryOutputHasItsDelay65) {
  const std::string text =
      document("1, 1, S", "  y = copy(x);\n  z = " + slice("x", 2, 0) + ";\n", "y, z");
  expect_streams(text, {{4}, 1, 1, 0, "S"});
  expect_shape(text, {{4}, 1, 1, 2, "S-2"}, 1);
}

// Regressions found by random graphs.

TEST(Regression, AMaskHoldsAFrameThatDiffersFromChannelToChannel) {
  expect_frames(document("1, 2, S", "  y = concat([x, [[[0.5], [-0.25]]]], axis = 2);\n"), 2);
  expect_frames(document("1, 2, S", "  y = concat([[[[0.5], [-0.25]]], " + slice("x", 2, 0) +
                                        "], axis = 2);\n"),
                3);
}

TEST(Regression, APaddedMaximumAfterAHoldIgnoresItsPadding) {
  const std::string negative = "0.0 - abs(" + slice("x", 0, -3) + ")";
  expect_frames(document("1, 1, S", "  n = " + negative + ";\n  y = " +
                                        pool("max_pool", {3, 1, 1, 1, 1}, "ignore", "n") + ";\n"),
                1);
}

TEST(Regression, AConvolutionAbsorbsNoMoreInAStreamThanInTheWhole) {
  expect_frames(document("1, 1, S", "  c = " + conv("x", {1}) +
                                        ";\n"
                                        "  p = concat([[[[0.276, 0.276]]], c], axis = 2);\n"
                                        "  y = p * 0.692 + -0.165;\n"),
                1);
}

TEST(Regression, FirstFramesOfAProductAreRoundedAsTheOthers) {
  expect_frames(document("1, 1, S",
                         "  p = concat([[[[-0.304, -0.304, -0.304]]], x, [[[0.037]]]], axis = 2);\n"
                         "  t = transpose(p, axes = [0, 2, 1]);\n"
                         "  y = matmul(t, [[[0.901, -0.965, 0.497, -0.440, 0.001]]])"
                         " + [[[-0.051, -0.384, 0.262, 0.451, -0.201]]];\n"),
                1);
}

// A hold downstream of the begin mask leaves zeros before the first frame: ops/array/extend_stream.
TEST(Regression, ConstantFramesAroundAStreamThatEndsEarly) {
  expect_frames(y(pad(slice("x", 2, -3), 3, 1, "0.569")), 1);
}

TEST(Regression, AWindowAfterASliceOfRepeatedFrames) {
  const std::string sliced = slice(pad("x", 3, 3, "0.0", "replicated"), 3, 0);
  expect_frames(document("1, 1, S", "  s = " + sliced + ";\n  y = " + conv("s", {1}) + ";\n"), 1);
  expect_frames(document("1, 1, S", "  s = " + sliced + ";\n  y = " + conv("s", {3}) + ";\n"), 2);
}

TEST(Regression, SumsOverChannelsRoundTheSameForAnyPulse) {
  expect_frames(document("1, 3, S", "  y = x - mean_reduce(x, axes = [1]);\n"), 1);
}

// Merged axes remain separable through matmuls and elementwise operators.
TEST(PulseCases, AxesMergedBeforeTheStream) {
  const auto around = [](const std::string& between) {
    return document("3, S, 4", "  flat = reshape(x, shape = [3 * S, 4]);\n" + between +
                                   "  y = reshape(z, shape = [3, S, 2]);\n");
  };
  const std::string product =
      "  w = matmul(flat, [[0.3, -0.2], [0.5, 0.9], [0.1, 0.4], [-0.7, 0.6]]);\n";
  expect_streams(around(product + "  z = relu(w + [[0.25, -0.5]]) * 0.5;\n"),
                 {{1, 4}, 1, 1, 0, "S"}, 0);
  expect_streams(around(product + "  z = w + matmul(flat, [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], "
                                  "[0.7, 0.8]]);\n"),
                 {{1, 4}, 1, 1, 0, "S"}, 0);
  // A bias after the split is added after the matmul, as in the whole run.
  expect_streams(document("5, S, 2, 4",
                          "  flat = reshape(x, shape = [5 * S * 2, 4]);\n" + product +
                              "  y = reshape(w, shape = [5, S, 2, 2]) + 1.0;\n"),
                 {{1, 3}, 1, 1, 0, "S"}, 0);
  // These operators distinguish rows: they read several rows, or row numbers.
  for (const char* const mixing :
       {"softmax(w, axes = [0])", "w + slice(w, axes = [0], begin = [0], end = [1])",
        "tract_core_cumsum(w, axis = 0)",
        "concat([slice(w, axes = [0], begin = [1], end = [0]), "
        "slice(w, axes = [0], begin = [0], end = [1])], axis = 0)",
        "w + unsqueeze(tract_core_cast(tract_core_range(0, 3 * S, 1), to = 'f32'), axes = [1])"}) {
    expect_refused(around(product + "  z = " + mixing + ";\n"), 4, "z", "Reshape");
  }
}

// A reduction does not depend on the order of rows, so channels and frames may be merged before it.
TEST(PulseCases, ReductionsOverChannelsMergedWithFrames) {
  for (const char* const kind :
       {"sum_reduce", "mean_reduce", "max_reduce", "min_reduce", "tract_core_product_reduce"}) {
    for (const char* const shape : {"[1, 6*S]", "[1, 2, 3*S]", "[1, 3, 2*S]", "[1, 1, 6*S, 1]"}) {
      const int axis = std::string_view(shape).find(',', 5) == std::string_view::npos ? 1 : 2;
      const auto graph = loaded(
          document("1, 6, S", str_cat("  r = reshape(tanh(x), shape = ", shape, ");\n  y = ", kind,
                                      "(r, axes = [", axis, "]);\n")));
      for (const int64_t pulse : {1, 4}) {
        auto streamed = StreamedRun::make(graph, pulse);
        ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
        for (const int64_t length : {1, 4, 11}) {
          auto whole = WholeRun::make(graph, length);
          ASSERT_TRUE(whole.ok()) << whole.error().to_string();
          const std::vector<Tensor> x = noise_inputs(graph, length, 1);
          const auto got = streamed->run(x, length);
          ASSERT_TRUE(got.ok()) << got.error().to_string();
          EXPECT_EQ(difference((*got)[0], whole->run(x)[0], 1e-5), "")
              << kind << " of " << shape << ", pulse " << pulse << ", S=" << length;
        }
      }
    }
  }
  // The index of an extreme depends on the order of rows.
  expect_refused(document("1, 6, S", "  r = reshape(x, shape = [1, 6*S]);\n"
                                     "  y = argmax_reduce(r, axes = [1]);\n"),
                 4, "y", "Reshape");
  // A norm over the frames needs a sum over the whole stream, and is refused.
  expect_refused(document("1, 6, S", "  r = reshape(x, shape = [1, 6*S]);\n"
                                     "  n = r - mean_reduce(r, axes = [1]);\n"
                                     "  y = reshape(n, shape = [1, 6, S]);\n"),
                 4, "n", "known at the end");
}

// Layers over single rows: over pieces of a row, over rows of several frames, and after a slice.
TEST(PulseCases, RowsOfABatchAndFrames) {
  const auto rows = [](const std::string& text) { return document("2, S, 6", text); };
  expect_streams(rows("  a = reshape(x, shape = [2 * S * 3, 2]);\n"
                      "  b = softmax(a, axes = [1]) + a;\n"
                      "  c = reshape(b, shape = [2 * S, 6]);\n"
                      "  d = tract_core_cumsum(reshape(c, shape = [2 * S, 3, 2]), axis = 1);\n"
                      "  y = reshape(d, shape = [2, S, 6]);\n"),
                 {{1, 4}, 1, 1, 0, "S"}, 0);
  expect_streams(rows("  a = reshape(x, shape = [2 * (S / 4), 4, 6]);\n"
                      "  m = max_reduce(a, axes = [1]);\n"
                      "  y = reshape(m, shape = [2, S / 4, 6]);\n"),
                 {{4, 8}, 1, 4, 0, "S/4"}, 0);
  expect_streams(rows("  s = slice(x, axes = [1], begin = [3], end = [0]);\n"
                      "  a = reshape(s, shape = [2 * (S - 3), 6]);\n"
                      "  t = reshape(relu(a), shape = [2, S - 3, 6]);\n"
                      "  y = t + slice(x, axes = [1], begin = [0], end = [S - 3]);\n"),
                 {{1, 4}, 1, 1, 3, "S-3"}, 0);
}

// In a centred Fourier transform, operators between the mirrored frames and the window add no
// delay.
TEST(PulseCases, MirroredFramesReachTheirWindow) {
  const std::string centred =
      document("1, S",
               "  p = pad(x, padding = [(0, 0), (4, 4)], border = 'reflect');\n"
               "  c = pad(unsqueeze(p * 0.5, axes = [2]), padding = [(0, 0), (0, 0), (0, 1)]);\n"
               "  y = tract_core_stft(c, axis = 1, frame = 8, stride = 2);\n");
  expect_streams(centred, {{8}, 1, 2, 1, "S/2+1"}, 1e-5);
  // Two readers of the padding each get their own.
  const std::string both =
      document("1, 1, S",
               "  p = pad(x, padding = [(0, 0), (0, 0), (2, 2)], border = 'replicate');\n"
               "  a = conv(p * 2.0, [[[0.5, 0.25, -0.5, 0.125, 1.0]]], 0.0, padding = [(0, 0)]);\n"
               "  y = a + slice(p, axes = [2], begin = [2], end = [S + 2]);\n");
  expect_streams(both, {{1, 4}, 1, 1, 2, "S"}, 0);
}

}  // namespace
}  // namespace rill::test
