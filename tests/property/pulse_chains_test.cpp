// Worked cases of delays through chains: a slice, a window or a sum after a wait reduces the delay,
// as far as no node reads the waiting frames. Delays are derived by hand from the last input frame
// that an output frame depends on.

#include <gtest/gtest.h>

#include <string>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

/// The statements of a graph over x [1, 1, S].
std::string statements(const std::string& text) { return document("1, 1, S", text); }

// Frame n is x[n + 1]: the slice removes the joined prefix.
TEST(PulseChains, ASliceCutsPrependedFrames) {
  const std::string joined = "concat([" + slice("x", 4, 6) + ", x], axis = 2)";
  expect_streams(y(slice(joined, 3, 0)), {{1, 4}, 1, 1, 1, "S-1"});
  expect_streams(y(slice("relu(" + joined + ")", 3, 0)), {{1, 4}, 1, 1, 1, "S-1"});
  // Frame 0 is x[4]; frame 1 is x[5], which arrives a frame later.
  expect_streams(y(joined), {{1, 4}, 1, 1, 4, "S+2"});
  // Frame 0 is x[5], known once x[5] has arrived.
  expect_streams(y(slice(joined, 1, 0)), {{1}, 1, 1, 5, "S+1"});
  expect_streams(y(slice(joined, 1, 0)), {{4}, 1, 1, 4, "S+1"});
}

// Frame n is x[n + 2] - x[3]: frame 0 waits for x[3], later frames for x[n + 2].
TEST(PulseChains, ASliceOfFramesThatWaitForAKeptFrame) {
  const std::string less = "x - " + slice("x", 3, 4);
  expect_streams(y(slice(less, 2, 0)), {{1}, 1, 1, 3, "S-2"});
  expect_streams(y(slice(less, 2, 0)), {{4}, 1, 1, 2, "S-2"});
  expect_streams(y(slice(less, 5, 0)), {{1, 4}, 1, 1, 5, "S-5"});
  expect_streams(y(slice("abs(" + less + ") * 2.0", 2, 0)), {{1}, 1, 1, 3, "S-2"});
}

// The first window that is read ends with x[0].
TEST(PulseChains, UnreadWindowsOfPaddingAlone) {
  expect_streams(y(slice(conv("x", {2, 1, 1, 2, 0}), 1, 0)), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y(slice(conv("x", {2, 2, 1, 2, 0}), 1, 0)), {{2, 4}, 1, 2, 0, "S/2"});
  expect_streams(y(slice(pool("max_pool", {2, 1, 1, 1, 0}), 1, 0)), {{1, 4}, 1, 1, 1, "S-1"});
}

// Output n depends on x[n] and earlier frames.
TEST(PulseChains, PaddingOnceBeforeSeveralWindows) {
  for (const char* value : {"0.0", "0.75"}) {
    const std::string once = "  p = " + pad("x", 6, 0, value) + ";\n";
    expect_streams(statements(once + "  y = " + conv(conv(conv("p", {3}), {3}), {3}) + ";\n"),
                   {{1, 4}, 1, 1, 0, "S"});
    expect_streams(statements(once + "  a = tanh(" + conv("p", {3}) + " + 0.5);\n  b = sigmoid(" +
                              conv("a", {3}) + ");\n  y = " + conv("b", {2, 1, 2}) + ";\n"),
                   {{1, 4}, 1, 1, 0, "S"});
    expect_streams(statements(once + "  a = tanh(" + conv("p", {3}) + ");\n  b = " +
                              slice("p", 2, 0) + " + a;\n  c = tanh(" + conv("b", {3}) +
                              ");\n  y = " + slice(slice("b", 2, 0) + " + c", 2, 0) + " + " +
                              slice("p", 6, 0) + ";\n"),
                   {{1, 4}, 1, 1, 0, "S"});
  }
  expect_streams(y(conv(conv(pad("x", 5, 0, "0.5"), {2, 2}), {3})), {{2, 4}, 1, 2, 0, "(S+5)/2-2"});
  expect_streams(y(pool("avg_pool", {3, 1}, "ignore", conv(pad("x", 4, 0, "0.5"), {3}))),
                 {{1, 4}, 1, 1, 0, "S"});
}

// Padding of a window before frames that are themselves padding, of another value.
TEST(PulseChains, PaddingBeforePadding) {
  expect_streams(y(conv(conv(pad("x", 3, 0, "0.5"), {3, 1, 1, 2, 0}), {4})),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y(conv(conv(pad("x", 3, 2, "0.5"), {3, 2, 1, 1, 1}), {2})),
                 {{2, 4}, 1, 2, 0, "(S+6)/2-1"});
}

// Padding around padding of another value, and around a cache.
TEST(PulseChains, PaddingAroundPadding) {
  const std::string known = "relu(" + pad("x", 2, 0, "0.5") + ")";
  expect_streams(y(conv(conv(pad(known, 3, 1, "-0.75"), {3}), {4})), {{1, 4}, 1, 1, 0, "S+1"});
  const std::string joined = "concat([[[[0.5, -2.0]]], x], axis = 2)";
  expect_streams(y(conv(conv(pad(joined, 3, 0, "0.25"), {3}), {4})), {{1, 4}, 1, 1, 0, "S"});
}

// A chain of windows with their own padding, over a cache and over padding.
TEST(PulseChains, WindowsWithPaddingAfterPrependedFrames) {
  const std::string joined = "concat([[[[0.5, -2.0, 0.25, 1.5]]], x], axis = 2)";
  expect_streams(y(conv(conv(conv(joined, {3, 1, 1, 1, 1}), {3, 1, 1, 2, 0}), {3, 1, 1, 0, 2})),
                 {{1, 4}, 1, 1, 0, "S+4"});
  expect_streams(y(conv(conv(pad("x", 4, 0, "0.5"), {3, 1, 1, 1, 2}), {3, 1, 1, 1, 1})),
                 {{1, 4}, 1, 1, 0, "S+5"});
  expect_streams(y(conv(pool("max_pool", {3, 1, 1, 2, 0}, "ignore", pad("x", 3, 0, "0.5")), {4})),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y(pool("avg_pool", {3, 1, 1, 2, 2}, "ignore", conv(joined, {3}))),
                 {{1, 4}, 1, 1, 0, "S+4"});
}

// A short stream ends within the prefix, so a later padding replaces frames of the prefix.
TEST(PulseChains, PaddingAfterAStreamThatEndsAmongPrependedFrames) {
  const std::string joined = "concat([[[[0.5, -2.0, 0.25]]], x], axis = 2)";
  for (const std::string& front : {joined, pad("x", 3, 0, "0.5")}) {
    const std::string cut = slice(front, 0, -3);
    for (const int64_t pulse : {1, 2, 5}) {
      expect_frames(y(pad(cut, 0, 3, "0.75")), pulse);
      expect_frames(y(pad(cut, 2, 3, "0.75")), pulse);
      expect_frames(y(conv(cut, {3, 1, 1, 1, 3})), pulse);
    }
  }
}

// The slice removes the results that a transposed convolution computes from padding alone.
TEST(PulseChains, ATransposedConvolutionOfUnreadPadding) {
  const auto up = [](int64_t stride) {
    return str_cat("deconv(", pad("x", 2, 0, "0.5"), ", [[[0.5, -2.0]]], 0.25, stride = [", stride,
                   "], dilation = [1], padding = [(0, 0)])");
  };
  expect_streams(y(slice(up(1), 2, 0)), {{1, 4}, 1, 1, 0, "S+1"});
  expect_streams(y(slice(up(2), 4, 0)), {{1, 4}, 2, 1, 0, "2*S"});
}

// Output n is the sum of x[0] to x[n].
TEST(PulseChains, SumsThatBeginWithPrependedFrames) {
  const auto sum = [](const std::string& x) { return "tract_core_cumsum(" + x + ", axis = 2)"; };
  expect_streams(y(slice(sum(pad("x", 1, 0, "0.5")), 1, 0)), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(y(sum(pad("x", 1, 0, "0.5"))), {{1, 4}, 1, 1, 0, "S+1"});
  expect_streams(y("x + " + slice(sum("concat([[[[0.5, -0.25, 3.0]]], x], axis = 2)"), 3, 0)),
                 {{1, 4}, 1, 1, 0, "S"});
  const std::string late = "concat([[[[0.5, -0.25]]], " + conv("x", {3}) + "], axis = 2)";
  expect_streams(y(slice(sum(late), 2, 0)), {{1, 4}, 1, 1, 2, "S-2"});
}

/// Statements on x [1, 1, S] with a cache c [1, 1, 6] as an input.
std::string cached(const std::string& statements) {
  std::string text = document("1, 1, S", "  p = concat([c, x], axis = 2);\n" + statements);
  text.replace(text.find("graph network(x)"), 16, "graph network(x, c)");
  text.insert(text.find("  p = "), "  c = external<scalar>(shape = [1, 1, 6]);\n");
  return text;
}

// Several layers compute their results for the cache alone separately.
TEST(PulseChains, ACacheOnceBeforeSeveralWindows) {
  expect_streams(cached("  y = " + conv(conv(conv("p", {3}), {3}), {3}) + ";\n"),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_streams(cached("  a = tanh(" + conv("p", {3}) + ");\n  b = " + slice("p", 2, 0) +
                        " + a * 0.5;\n  d = tanh(" + conv("b", {5}) + ");\n  y = " +
                        slice("b", 4, 0) + " + d + " + slice("a", 4, 0) + ";\n"),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_streams(cached("  y = " + slice(conv("p", {2, 2}), 1, 0) + ";\n"),
                 {{2, 4}, 1, 2, 0, "(S+6)/2-1"});
  expect_streams(cached("  y = " + conv("relu(" + conv("p", {3, 2}) + ")", {3}) + ";\n"),
                 {{2, 4}, 1, 2, 0, "(S+5)/2-2"});
}

// Filters of extent 1 preserve known frames.
TEST(PulseChains, PointwiseFiltersBetweenTheWindows) {
  expect_streams(statements("  p = " + pad("x", 4, 0, "0.5") + ";\n  a = conv(" +
                            conv("p", {3}) + ", [[[0.5]], [[-2.0]]], [[0.25, 1.5]]);\n  y = "
                            "conv(a, [[[0.5, 0.25, 1.0], [0.125, -0.5, 0.75]]], 0.0, "
                            "border = 'constant', padding = [(0, 0)]);\n"),
                 {{1, 4}, 1, 1, 0, "S"});
}

// Three slices of one joined wire with different begins: none waits for another.
TEST(PulseChains, SlicesOfOneJoinedWireWithDifferentBegins) {
  const std::string joined =
      "  p = concat([[[[0.5, 0.25, 1.5, -2.0, 3.0, 0.125, -1.0, 2.0]]], x], axis = 2);\n";
  expect_streams(statements(joined + "  y = " + conv(slice("p", 0, -2), {7}) + " + " +
                            slice("p", 6, -2) + " + " + conv(slice("p", 7, 0), {2}) + ";\n"),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_streams(statements(joined + "  y = " + slice("p", 8, 0) + " + " + slice("p", 0, -8) +
                            ";\n"),
                 {{1, 4}, 1, 1, 0, "S"});
}

// p begins with x[4 - n], n < 4. Cut off, these frames are not waited for.
TEST(PulseChains, SlicesOfAMirroredStream) {
  const std::string wide = "  p = " + pad("x", 4, 0, "0.0", "reflect") + ";\n";
  expect_streams(statements(wide + "  y = " + slice("p", 0, -4) + " + " + slice("p", 4, 0) + ";\n"),
                 {{1}, 1, 1, 4, "S"});
  expect_streams(statements(wide + "  y = abs(" + slice("p", 2, 0) + ") * 2.0;\n"),
                 {{1}, 1, 1, 2, "S+2"});
  expect_streams(statements(wide + "  y = " + slice(conv("p", {3}), 2, 0) + ";\n"),
                 {{1}, 1, 1, 2, "S"});
}

// The number of repeats follows from the length, such as where a stack of frames is filled up.
TEST(PulseChains, EndsOfAComputedLengthArePads) {
  const std::string last = "slice(x, axes = [2], begin = [-1], end = [S])";
  for (const std::string& frame : {last, std::string("[[[0.25]]]")}) {
    const std::string filled = "concat([x, tract_core_broadcast(" + frame +
                               ", shape = [1, 1, 3*((S+2)/3)-S])], axis = 2)";
    expect_streams(y(filled), {{3, 6}, 1, 1, 0, "3*((2+S)/3)"});
    expect_streams(y(conv(filled, {3, 3})), {{3, 6}, 1, 3, 0, "(2+S)/3"});
    expect_streams(y(conv("concat([" + slice("x", 0, 1) + ", x, " + filled.substr(11), {2})),
                   {{3, 6}, 1, 1, 0, "3*((2+S)/3)"});
  }
}

// Each slice reads frames of x, or of the repeated first one: none waits for another.
TEST(PulseChains, SlicesOfRepeatedFirstFramesDoNotWait) {
  const std::string first = slice("x", 0, 1);
  const std::string frames = first + ", " + first + ", " + first;
  for (const std::string& front : {frames, std::string("[[[0.0, 0.0, 0.0]]]")}) {
    expect_streams(
        document("1, 1, S", "  p = concat([" + front + ", x], axis = 2);\n"
                            "  a = slice(p, axes = [2], begin = [0], end = [-6], stride = [6]);\n"
                            "  b = slice(p, axes = [2], begin = [6], end = [0], stride = [6]);\n"
                            "  y = concat([a, b], axis = 1);\n"),
        {{6, 12}, 1, 6, 0, "(2+S)/6"});
  }
}

}  // namespace
}  // namespace rill::test
