// Worked cases of state beyond windows: the first frames of a stream, positions of frames, loop
// states.

#include <gtest/gtest.h>

#include <string>

#include "nnef_loader/properties.h"
#include "tests/property/journey.h"
#include "tests/property/loop_texts.h"
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

// The delay of the window hides when the first frames become known. A state that moves between
// pulses must not find them unknown.
TEST(PulseCases, FirstFramesAfterADelayOfAllPulses) {
  const std::string text =
      y(conv("x", {5}) + " - mean_reduce(" + slice("x", 0, 6) + ", axes = [2])");
  for (const int64_t pulse : {2, 3, 4}) {
    auto streamed = StreamedRun::make(loaded(text), pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    EXPECT_EQ(streamed->output().delay, 4);
  }
  expect_journeys(text, {2, 3, 4});
}

// An output capped at min(N, S) frames ends after N frames.
TEST(PulseCases, AtMostANumberOfFrames) {
  const std::string first = "slice(x, axes = [2], begin = [0], end = [min(9, S)])";
  for (const std::string& each : {y(first + " * 2.0"), y(conv(first, {3, 1, 1, 1, 1})),
                                  y("x + sum_reduce(" + conv(first, {1}) + ", axes = [1])")}) {
    const Graph graph = loaded(each);
    for (const int64_t pulse : {1, 2, 16}) {
      auto streamed = StreamedRun::make(graph, pulse);
      if (!streamed.ok()) continue;
      for (const int64_t length : {1, 8, 9, 10, 12, 40, 200}) {
        if (is_too_short(graph, length)) continue;
        EXPECT_EQ(stream_problem(graph, &*streamed, length), "")
            << "pulse " << pulse << ", length " << length << "\n"
            << each;
      }
    }
    expect_journeys(each, {1, 2, 5});
  }
}

/// Expect correct streams of at least `least` frames. Shorter ones are refused, unless the whole
/// run has no frames either.
void expect_long_streams(const std::string& text, int64_t pulse, int64_t least) {
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, pulse);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  for (const int64_t length : {least, least + 1, least + pulse, 3 * least + 2 * pulse + 5}) {
    EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse << ", " << length;
  }
  for (const int64_t length : {int64_t{1}, least / 2, least - 1}) {
    if (!streamed->session().check_length(length).ok()) continue;
    auto whole = WholeRun::make(graph, length);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    EXPECT_EQ(whole->run(noise_inputs(graph, length, 1))[0].volume(), 0) << pulse << ", " << length;
    EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse << ", " << length;
  }
}

// The exporter's form of x[:, :, :3]: at most as many frames as there are.
TEST(PulseCases, FirstFramesOfAStreamThatIsLongEnough) {
  std::string text =
      document("1, 1, S",
               "  n = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [2], "
               "end = [3]), axes = [0]);\n"
               "  f = slice(x, axes = [2], begin = [0], end = [min(3, n)]);\n"
               "  y = x - mean_reduce(f, axes = [2]);\n");
  expect_long_streams(text, 3, 3);
  text.insert(text.find("graph network"), "extension tract_assert S >= 3;\n");
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, 3);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  EXPECT_EQ(streamed->output().delay, 0);
  for (const int64_t length : {3, 4, 7, 12}) {
    EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << length;
  }
}

// A slice from min(c, S) begins at c if it has frames at all, however large c is. So does a slice
// of the rest of the stream.
TEST(PulseCases, SlicesThatBeginWithinTheStream) {
  const auto cut = [](const std::string& x, const std::string& begin, const std::string& end) {
    return "slice(" + x + ", axes = [2], begin = [" + begin + "], end = [" + end + "])";
  };
  const std::string far = y(cut("x", "min(S, 5000)", "S"));
  const Graph graph = loaded(far);
  auto streamed = StreamedRun::make(graph, 7);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  EXPECT_EQ(streamed->output().delay, 5000);
  for (const int64_t length : {1, 4999, 5000, 5001, 5100}) {
    EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << length;
  }
  const std::string trimmed = cut("x", "min(S, 7)", "max(min(S, 7), S - 5)");
  const std::string left = "max(min(S, 7), S - 5) - min(S, 7)";
  expect_frames(y(cut(trimmed, "min(" + left + ", 1)", left)), 3);
  // The rest of the stream is numbered from its own first frame.
  const auto numbered = [](const std::string& x, const std::string& frames) {
    return y(x + " + unsqueeze(tract_core_cast(tract_core_range(0, " + frames +
             ", 1), to = 'f32'), axes = [0, 1])");
  };
  expect_frames(numbered(cut("x", "min(S, 47)", "S"), "S - min(S, 47)"), 6);
  expect_frames(numbered(trimmed, left), 4);
  // With 6 frames the slice begins at 2, with 10 frames at 5. It begins at 5 for all S >= 9.
  expect_long_streams(y(cut("x", "min(S, 9) - min(S, 4)", "S")), 3, 9);
  // The mean of the first frames is known when they have arrived, if the stream cannot be shorter.
  const std::string few = y("x - mean_reduce(" + cut("x", "0", "min(S, 3901)") + ", axes = [2])");
  for (const int64_t pulse : {1, 7, 5000}) expect_long_streams(few, pulse, 3901);
}

TEST(PulseCases, ZerosLikeTheFirstFramesPrepended) {
  const auto text = [](const std::string& first, int frames) {
    return y(conv("concat([" + first + " * 0.0, x], axis = 2)", {frames + 1}));
  };
  // The prefix is part of the window's history, so only the last frame of a window adds a wait.
  expect_streams(text(slice("x", 0, 1), 1), {{1, 4}, 1, 1, 0, "S"});
  std::string two = text("slice(x, axes = [2], begin = [0], end = [min(2, S)])", 2);
  expect_long_streams(two, 4, 2);
  two.insert(two.find("graph network"), "extension tract_assert S >= 2;\n");
  const Graph graph = loaded(two);
  for (const auto& [pulse, delay] : {std::pair{1, 1}, {2, 0}, {4, 0}}) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    EXPECT_EQ(streamed->output().delay, delay);
    for (int64_t length = 2; length <= 14; ++length) {
      EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse << ", " << length;
    }
  }
}

TEST(PulseCases, PrependedFramesCostTheSameAsAPad) {
  const std::string learned = "[[[0.3, -0.2]]]";
  const auto joined = [](const std::string& first, const Window& window) {
    return y(conv("concat([" + first + ", x], axis = 2)", window));
  };
  expect_streams(joined(learned, {3}), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(joined(learned, {5}), {{1, 4}, 1, 1, 2, "S-2"});
  expect_streams(joined(learned, {4, 2}), {{2, 8}, 1, 2, 0, "S/2"});
  expect_streams(joined(learned, {2, 1, 2}), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(joined(learned + ", " + learned, {2, 3}), {{3}, 1, 3, 0, "1+(S+2)/3"});
  expect_journeys(joined(learned, {3}), {1, 3, 4});
  const std::string first = slice("x", 0, 1);
  expect_streams(joined(first + ", " + first, {3}), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(joined("tile(" + first + ", repeats = [1, 1, 3])", {7, 6}),
                 {{6, 12}, 1, 6, 0, "(S+2)/6"});
  expect_streams(joined("tile([[[0.0]]], repeats = [1, 1, 2])", {3}), {{1, 4}, 1, 1, 0, "S"});
  // A stream that begins two frames later has room for the two joined frames.
  const std::string late = slice("x", 2, 0);
  expect_streams(y(conv("concat([" + learned + ", " + late + "], axis = 2)", {3})),
                 {{1, 4}, 1, 1, 2, "max(S,2)-2"});
}

TEST(PulseCases, EndsJoinedByHandArePads) {
  const std::string first = slice("x", 0, 1);
  const std::string last = "slice(x, axes = [2], begin = [-1], end = [S])";
  expect_streams(y(conv("concat([" + first + ", x, " + last + "], axis = 2)", {3})),
                 {{1, 4}, 1, 1, 1, "S"});
  expect_streams(y("concat([x, " + last + ", " + last + "], axis = 2)"), {{1, 4}, 1, 1, 0, "S+2"});
  // The frame next to the joined ones is a constant here.
  expect_refused(y("concat([x, [[[0.5]]], " + last + "], axis = 2)"), 4, "y", "mode='replicate'");
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

/// A table of 200 rows with one number each.
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
  // A causal model remains causal if a constant is added to its padded input.
  expect_streams(document("1, 1, S",
                          "  o = tract_core_broadcast([[[0.5]]], shape = [1, 1, S + 2]);\n"
                          "  p = " +
                              pad("x", 2, 0, "0.0") + " + o;\n  y = " + conv("p", {3}) + ";\n"),
                 {{1, 4}, 1, 1, 0, "S"});
}

TEST(PulseCases, LoopsTakeWholeChunks) {
  const std::string start = "('h', [[[0.1]]], 'h_t')";
  const std::string text =
      loop("1, 1, 2*S", "('a', x, 2, 2)", start, "('o', 'full', 2, 2)", "pairs");
  expect_streams(text, {{1, 3}, 2, 1, 0, "2*S"});
  const std::string sums =
      loop("1, 1, 2*S", "('a', x, 2, 2)", start, "('h_t', 'full', 2, 1)", "pairs");
  expect_streams(sums, {{1, 3}, 1, 1, 0, "S"});
  // Shifted by one frame, and in whole chunks again.
  const std::string later =
      "  z = pad(slice(x, axes = [2], begin = [1], end = [0]), padding = [(0, "
      "0), (0, 0), (0, 1)]);\n";
  expect_streams(loop("1, 1, 2*S", "('a', z, 2, 2)", start, "('o', 'full', 2, 2)", "pairs", later),
                 {{2}, 2, 1, 2, "2*S"});
  const std::string halves = "  b = tract_core_downsample(x, axis = 2, stride = 2);\n";
  expect_streams(loop("1, 1, 2*S", "('a', x, 2, 2), ('b', b, 2, 1)", start, "('h_t', 'full', 2, 1)",
                      "mixed", halves),
                 {{1, 3}, 1, 1, 0, "S"});
  expect_refused(loop("1, 1, S", "('a', x, 2, 2)", start, "('o', 'full', 2, 2)", "pairs"), 3, "y",
                 "Scan");
}

// The loop runs over features, forwards and backwards, with all frames in parallel.
TEST(PulseCases, LoopsAcrossAStream) {
  for (const int step : {1, -1}) {
    const std::string text =
        loop("1, S, 5", str_cat("('a', x, 2, ", step, ")"),
             "('h', tract_core_broadcast([[[0.1]]], shape = [1, S, 1]), 'h_t')",
             str_cat("('h_t', 'full', 2, ", step, ")"), "leaky");
    expect_streams(text, {{1, 4}, 1, 1, 0, "S"});
  }
  const std::string last = loop(
      "1, S, 5", "('a', z, 2, 1)",
      "('h', tract_core_broadcast([[[0.1]]], shape = [1, S - 2, 1]), 'h_t')",
      "('h_t', 'last', 2, 1)", "leaky", "  z = slice(x, axes = [1], begin = [2], end = [0]);\n");
  expect_streams(last, {{1, 4}, 1, 1, 2, "S-2"});
}

// An assertion bounds the length of a stream, not the frames of a pulse.
TEST(PulseCases, LoopsAcrossAStreamOfAnAssertedLength) {
  for (const char* const least : {"S >= 12", "S > 12", "2*S >= 25"}) {
    std::string text = loop("1, S, 5", "('a', x, 2, 1)",
                            "('h', tract_core_broadcast([[[0.1]]], shape = [1, S, 1]), 'h_t')",
                            "('h_t', 'full', 2, 1)", "leaky");
    text.insert(text.find("fragment pairs"), str_cat("extension tract_assert ", least, ";\n"));
    const Graph graph = loaded(text);
    for (const int64_t pulse : {1, 4}) {
      auto streamed = StreamedRun::make(graph, pulse);
      ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
      for (const int64_t length : {13, 22}) {
        auto whole = WholeRun::make(graph, length);
        ASSERT_TRUE(whole.ok()) << whole.error().to_string();
        const std::vector<Tensor> x = noise_inputs(graph, length, 1);
        const auto got = streamed->run(x, length);
        ASSERT_TRUE(got.ok()) << got.error().to_string();
        EXPECT_EQ(difference((*got)[0], whole->run(x)[0], 0), "") << least << ", S=" << length;
      }
    }
  }
}

TEST(PulseCases, LoopsBeginWithTheFirstFrame) {
  const std::string first = "  s = slice(x, axes = [2], begin = [0], end = [1]);\n";
  expect_streams(
      loop("1, 1, S", "('a', x, 2, 1)", "('h', s, 'h_t')", "('h_t', 'full', 2, 1)", "leaky", first),
      {{1, 4}, 1, 1, 0, "S"});
  const std::string padded = "  z = pad(x, padding = [(0, 0), (0, 0), (2, 1)], value = 0.5);\n";
  expect_streams(loop("1, 1, S", "('a', z, 2, 1)", "('h', [[[0.1]]], 'h_t')",
                      "('h_t', 'full', 2, 1)", "leaky", padded),
                 {{1, 4}, 1, 1, 0, "S+3"});
}

TEST(PulseCases, SimpleRecurrentUnits) {
  const std::string gates =
      "  u = matmul(x, [[[0.3, -0.2, 0.5, 0.1, 0.7, -0.4], [0.2, 0.9, -0.3, 0.4, -0.1, 0.6]]]);\n"
      "  xt = slice(u, axes = [2], begin = [0], end = [2]);\n"
      "  f = sigmoid(slice(u, axes = [2], begin = [2], end = [4]));\n"
      "  r = sigmoid(slice(u, axes = [2], begin = [4], end = [6]));\n";
  expect_streams(
      loop("1, S, 2", "('x', xt, 1, 1), ('f', f, 1, 1), ('r', r, 1, 1), ('skip', x, 1, 1)",
           "('c', [[[0.0, 0.0]]], 'c_t')", "('h_t', 'full', 1, 1)", "sru", gates),
      {{1, 4}, 1, 1, 0, "S"});
}

TEST(PulseCases, OperatorsOnAPlainBatchAxis66) {
  const std::string embedded =
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
      "graph network(x) -> (y)\n{\n  x = tract_core_external(shape = [S], datum_type = 'i64');\n"
      "  y = tract_core_gather([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]], x, axis = "
      "0);\n}\n";
  expect_streams(embedded, {{1, 4}, 1, 1, 0, "S"});
  expect_streams(
      document("S, 5", "  (y, i) = tract_core_topk(x, 2, axis = 1, largest = true);\n", "y, i"),
      {{4}, 1, 1, 0, "S"});
  expect_streams(document("S, 3", "  y = tile(x, repeats = [1, 2]);\n"), {{4}, 1, 1, 0, "S"});
}

TEST(PulseCases, TheLengthIsNoNumberOfAStream67To68) {
  expect_refused(document("S, 4",
                          "  n = tract_core_cast(slice(tract_core_shape_of(x), axes = [0], "
                          "begin = [0], end = [1]), to = 'f32');\n  y = x * unsqueeze(n, axes "
                          "= [1]);\n"),
                 4, "y", "value");
  const std::string two = document("S",
                                   "  w = tract_core_external(shape = [2 * S], datum_type = "
                                   "'f32');\n  y = x + slice(w, axes = [0], begin = [0], end = "
                                   "[S]);\n");
  std::string both = two;
  both.replace(both.find("network(x)"), 10, "network(x, w)");
  expect_refused(both, 4, "y", "Add");
}

// If one branch has one frame and the other several, a whole run broadcasts it. A stream cannot
// know that in time, so it refuses the end.
TEST(PulseCases, StreamsOfLengthsThatDoNotMeetEndWithAnError) {
  const std::string text =
      document("1, 1, S",
               "  a = slice(x, axes = [2], begin = [0], end = [S], stride = [2]);\n"
               "  b = slice(x, axes = [2], begin = [1], end = [S], stride = [2]);\n  y = a - b;\n");
  auto streamed = StreamedRun::make(loaded(text), 2);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  for (const int64_t frames : {2, 4, 10})
    EXPECT_TRUE(streamed->session().try_end(frames).ok()) << frames;
  for (const int64_t frames : {3, 5, 9})
    EXPECT_FALSE(streamed->session().try_end(frames).ok()) << frames;
}

TEST(PulseCases, AllReasonsAreReportedWithTheirLines) {
  const auto refused = StreamedRun::make(
      loaded(document("1, 1, S",
                      "  a = softmax(x, axes = [2]);\n  b = concat([x, x], axis = 2);\n"
                      "  y = a + tract_core_cumsum(x, axis = 2, reverse = true);\n",
                      "y, b")),
      4);
  ASSERT_FALSE(refused.ok());
  const std::string text = refused.error().to_string();
  for (const char* part : {"3 reasons", "graph.nnef:7", "graph.nnef:8", "graph.nnef:9", "Softmax",
                           "Concat", "CumSum", "axis 2"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(PulseCases, AModelStreamsAlongOneSymbol) {
  auto once = StreamedRun::make(loaded(y("relu(x)")), 4);
  ASSERT_TRUE(once.ok());
  const auto twice = StreamedRun::make(once->graph(), 4);
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().to_string().find("one symbol"), std::string::npos);
  expect_refused(document("S, S", "  y = relu(x);\n"), 4, "x", "two axes");
}

// The assertion ties symbol R to S, so the model streams.
TEST(PulseCases, SymbolsThatAreTiedByAnAssertion) {
  std::string text = document(
      "1, 1, S",
      "  h = tract_core_external(shape = [1, 1, R], datum_type = 'f32');\n"
      "  y = x + reshape(tile(unsqueeze(h, axes = [3]), repeats = [1, 1, 1, 4]), shape = [1, 1, "
      "-1]);\n");
  text.replace(text.find("network(x)"), 10, "network(x, h)");
  text.insert(text.find("graph network"),
              "extension tract_symbol R;\nextension tract_assert S == 4*R;\n");
  for (const int64_t pulse : {4, 12}) {
    auto streamed = StreamedRun::make(loaded(text), pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    EXPECT_EQ(streamed->output().delay, 0);
    EXPECT_EQ(streamed->output().pulse, pulse);
  }
}

// tract folds no list of 16 integers or more, and refuses properties that it cannot fold.
TEST(PulseCases, IntegerPropertiesAreShort) {
  std::string statements = "  w0 = x;\n";
  for (int i = 1; i <= 40; ++i) statements += str_cat("  w", i, " = sigmoid(w", i - 1, ");\n");
  auto streamed =
      StreamedRun::make(loaded(document("1, 1, S", statements + "  y = relu(w40);\n")), 4);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  int long_texts = 0;
  for (const auto& [key, value] : nnef::properties_of(streamed->graph())) {
    if (value.dtype() != DType::kString) {
      EXPECT_LT(value.volume(), 16) << key;
    } else if (value.volume() >= 40) {
      ++long_texts;
    }
  }
  EXPECT_EQ(long_texts, 1) << "wires and their delays, as texts";
}

}  // namespace
}  // namespace rill::test
