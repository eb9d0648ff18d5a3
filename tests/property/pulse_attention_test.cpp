// Worked cases of attention: queries and keys of one stream, with masks of many kinds. The whole
// run sums over all keys, and the stream over the visible keys plus some of weight 0. The order of
// the sums differs, and so may their last bits.

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "pulse/choice.h"
#include "pulse/least_delay.h"
#include "tests/property/pulse_cases.h"
#include "tests/support/sanitized.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 2e-6;

/// Self-attention of x [1, S, 4]: `mask` makes `m` from `scores` and positions `n`.
std::string attention(const std::string& mask, const std::string& x = "x") {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n"
                  "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
                  "  z = " +
                      x +
                      ";\n"
                      "  q = z * 0.7;\n  k = z * [[[0.3, -0.2, 0.5, 0.9]]];\n  v = z + 0.25;\n"
                      "  scores = matmul(q, k, transposeB = true);\n" +
                      mask + "  y = matmul(softmax(m, axes = [2]), v);\n");
}

/// A mask of chunks of `size` frames: each query sees its own chunk, `left` earlier and `right`
/// later ones.
std::string chunks(int size, int left, int right) {
  return str_cat("  apart = row / ", size, " - column / ", size, ";\n  m = select((apart <= ", left,
                 ") && (apart >= ", -right, "), scores, -infinity);\n");
}

std::string with_infinity(std::string text) {
  for (size_t at = text.find("-infinity"); at != std::string::npos; at = text.find("-infinity")) {
    text.replace(at, 9, "(0.0 - 1.0 / 0.0)");
  }
  return text;
}

void expect_attends(const std::string& text, const Expected& expected) {
  expect_streams(with_infinity(text), expected, kTolerance);
}

// A run of 9000 frames has 81 million scores. An output that waits for 9000 frames streams, but its
// least delay is unknown.
TEST(PulseCases, NothingIsProvenByRunsThatAreTooLarge) {
  std::string text = with_infinity(attention(chunks(2, 1, 0)));
  text.replace(text.find("  y = matmul"), 5, "  o =");
  text.insert(text.rfind('}'), "  y = slice(o, axes = [1], begin = [9000], end = [0]);\n");
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, 2);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  EXPECT_EQ(streamed->output().delay, 9000);
  pulse::Options options;
  options.pulse = Dim(2);
  const auto least = pulse::least_delays(graph, options, streamed->report(),
                                         std::numeric_limits<double>::infinity());
  ASSERT_TRUE(least.ok()) << least.error().to_string();
  EXPECT_EQ(least->outputs[0], std::nullopt);
}

// Triangular weights act as windows, as masks do.
TEST(PulseCases, TrianglesOfWeights) {
  const std::string scores = "matmul(x, x, transposeB = true)";
  const std::string lower = "tract_core_trilu(" + scores + ", k = 1, upper = false)";
  const auto weighed = [](const std::string& weights) {
    return document("1, S, 3", "  y = matmul(" + weights + ", x);\n");
  };
  expect_attends(weighed("tract_core_trilu(" + lower + ", k = -3, upper = true)"),
                 {{1, 4}, 1, 1, 1, "S"});
  expect_refused(weighed(lower), 4, "y", "all keys that went before");
}

TEST(PulseCases, AttentionWithinChunks58) {
  expect_attends(attention(chunks(2, 0, 0)), {{2, 4}, 1, 1, 0, "S"});
  expect_attends(attention(chunks(2, 1, 0)), {{2, 4}, 1, 1, 0, "S"});
  expect_attends(attention(chunks(2, 2, 1)), {{2, 4}, 1, 1, 2, "S"});
  expect_attends(attention(chunks(2, 0, 0)), {{1}, 1, 1, 1, "S"});
}

TEST(PulseCases, AttentionToChunksOfFour59) {
  expect_attends(attention(chunks(4, 1, 0)), {{1}, 1, 1, 3, "S"});
  expect_attends(attention(chunks(4, 1, 0)), {{2, 6}, 1, 1, 2, "S"});
  expect_attends(attention(chunks(4, 1, 0)), {{4, 8}, 1, 1, 0, "S"});
}

// No query waits. How far a query looks back depends on its position in the chunk, so a pulse of
// whole chunks keeps fewer keys, if it begins with a chunk.
TEST(PulseCases, AttentionToFormerChunksAndFrames) {
  const std::string text = with_infinity(
      attention("  apart = row / 4 - column / 4;\n"
                "  m = select((apart <= 1) && (column <= row), scores, -infinity);\n"));
  expect_streams(text, {{1, 2, 4, 8}, 1, 1, 0, "S"}, kTolerance);
  expect_journeys(text, {1, 2, 4, 6}, kTolerance);
}

// If one finite number hides all keys of a query, softmax weighs these keys equally.
TEST(PulseCases, AttentionOfQueriesThatSeeNoKey) {
  const auto shown = [](const std::string& seen, const std::string& fill) {
    return attention("  apart = column - row;\n  m = select(" + seen + ", scores, " + fill +
                     ");\n");
  };
  const std::string before = "(apart <= -1) && (apart >= -3)";
  const std::string after = "(apart >= 1) && (apart <= 2)";
  for (const std::string& seen : {before, after}) {
    expect_refused(with_infinity(shown(seen, "-10000.0")), 4, "y", "Attention");
    expect_refused(with_infinity(shown(seen, "-3.4028235e38")), 4, "y", "Attention");
  }
  const std::string next = "  apart = column / 4 - row / 4;\n  m = select(apart == ";
  expect_refused(attention(next + "1, scores, -10000.0);\n"), 4, "y", "weighs them");
  expect_refused(attention(next + "-1, scores, -10000.0);\n"), 4, "y", "Attention");
  expect_refused(attention("  apart = column - row;\n  hidden = select(" + before +
                           ", 0.0, -1000000000.0);\n  m = scores + hidden;\n"),
                 4, "y", "Attention");
  // The model is accepted if a select after the softmax removes these weights.
  std::string zeroed = shown(before, "-10000.0");
  zeroed.replace(
      zeroed.find("softmax(m, axes = [2])"), 22,
      "select((column - row <= -1) && (column - row >= -3), softmax(m, axes = [2]), 0.0)");
  expect_attends(zeroed, {{1, 4}, 1, 1, 0, "S"});
  // A mask computed from frames may hide keys by a number, if minus infinity hides all keys outside
  // a window of positions.
  const std::string loud =
      "  loud = transpose(slice(z, axes = [2], begin = [0], end = [1]), axes = [0, 2, 1]) > 0.5;\n"
      "  apart = row - column;\n  near = (apart >= 0) && (apart <= 3);\n"
      "  m1 = select(loud, scores, -10000.0);\n  m = select(near, m1, ";
  expect_refused(attention(loud + "-10000.0);\n"), 4, "y", "Attention");
  expect_attends(attention(loud + "-infinity);\n"), {{1, 4}, 1, 1, 0, "S"});
}

// Minus infinity together with a bias per head.
TEST(PulseCases, AttentionWithABias) {
  const std::string text = attention(
      "  apart = row - column;\n"
      "  far = tract_core_cast(apart, to = 'f32') * [[[0.5]]];\n"
      "  hidden = select((apart >= 0) && (apart <= 3), 0.0, -infinity);\n"
      "  m = scores + (hidden + sin(far));\n");
  expect_attends(text, {{1, 4}, 1, 1, 0, "S"});
}

// The length of the stream is unknown before its end.
TEST(PulseCases, TheLengthOfTheStreamAmongItsFrames) {
  const std::string left = "tract_core_cast(S - tract_core_range(0, S, 1), to = 'f32')";
  expect_refused(document("1, 1, S", "  y = x + unsqueeze(" + left + ", axes = [0, 1]);\n"), 4, "y",
                 "length of the stream");
  const std::string last = "  m = select(column >= S - 1, scores, -infinity);\n";
  expect_refused(with_infinity(attention(last)), 4, "y", "");
}

TEST(PulseCases, AttentionToFormerFrames60) {
  const std::string band =
      "  apart = row - column;\n  m = select((apart >= 0) && (apart <= 3), scores, -infinity);\n";
  expect_attends(attention(band), {{1, 4}, 1, 1, 0, "S"});
  const std::string triangle =
      "  m = scores + tract_core_trilu(tract_core_broadcast([[[-infinity]]], shape = [1, S, S]), k "
      "= "
      "1, upper = true);\n";
  // All earlier keys, up to the asserted length of the stream.
  const std::string bounded = "extension tract_assert S <= 100;\n";
  std::string text = attention(triangle);
  text.insert(text.find("graph network"), bounded);
  expect_attends(text, {{1, 4}, 1, 1, 0, "S"});
  expect_refused(with_infinity(attention(triangle)), 4, "y", "Attention");
  expect_refused(with_infinity(attention("  m = scores;\n")), 4, "y", "Attention");
}

TEST(PulseCases, AttentionAfterAWindow61) {
  const std::string pooled =
      "transpose(max_pool(transpose(x, axes = [0, 2, 1]), size = [1, 1, 5], stride = [1, 1, 1], "
      "dilation = [1, 1, 1], padding = [(0, 0), (0, 0), (2, 2)], border = 'ignore'), axes = [0, 2, "
      "1])";
  expect_attends(attention(chunks(2, 0, 0), pooled), {{2, 4}, 1, 1, 2, "S"});
  // A slice drops frames at both ends.
  const std::string shorter = "slice(x, axes = [1], begin = [2], end = [-1])";
  std::string text = attention(chunks(3, 1, 0), shorter);
  text.replace(text.find("range(0, S, 1)"), 14, "range(0, S - 3, 1)");
  for (const int64_t pulse : {1, 2, 3, 5}) expect_frames(with_infinity(text), pulse, kTolerance);
}

// A query waits for the end of the last chunk that it sees, unless its pulse includes that end.
TEST(PulseCases, AttentionWaitsNoLongerThanItMust) {
  for (int size = 1; size <= 4; ++size) {
    for (const auto& [left, right] : {std::pair{0, 0}, {1, 1}, {0, 2}}) {
      for (const int64_t pulse : {1, 2, 6}) {
        SCOPED_TRACE(str_cat("chunks of ", size, ", ", left, " to the left, ", right,
                             " to the right, pulse ", pulse));
        const std::string text = with_infinity(attention(chunks(size, left, right)));
        const int64_t common = std::gcd(pulse, size);
        expect_shape(text, {{pulse}, 1, 1, (right + 1) * size - common, "S"});
        const Graph graph = loaded(text);
        auto streamed = StreamedRun::make(graph, pulse);
        ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
        for (const int64_t length : {1, 2, 5, 12, 19}) {
          EXPECT_EQ(stream_problem(graph, &*streamed, length, kTolerance), "") << length;
        }
      }
    }
  }
}

/// A stack of layers with chunked attention, downstream of a pool of stride `stride`.
std::string stacked(int size, int right, int layers, int stride) {
  std::string text = str_cat(
      "  z0 = transpose(max_pool(transpose(x, axes = [0, 2, 1]), size = [1, 1, ", stride,
      "], stride = [1, 1, ", stride, "], dilation = [1, 1, 1], padding = [(0, 0), (0, 0), (0, 0)], "
      "border = 'ignore'), axes = [0, 2, 1]);\n  n = tract_core_range(0, S / ", stride,
      ", 1);\n  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
      "  apart = row / ", size, " - column / ", size, ";\n  seen = (apart <= 2) && (apart >= ",
      -right, ");\n");
  for (int i = 0; i < layers; ++i) {
    text += str_cat("  s", i, " = matmul(z", i, " * 0.7, z", i, " * 0.3, transposeB = true);\n  z",
                    i + 1, " = matmul(softmax(select(seen, s", i,
                    ", 0.0 - 1.0 / 0.0), axes = [2]), z", i, ");\n");
  }
  return document("1, S, 4", text + str_cat("  y = copy(z", layers, ");\n"));
}

TEST(PulseCases, AutoFindsThePulseThatFillsChunks) {
  for (const auto& [size, layers, stride] :
       {std::tuple{14, 3, 8}, {5, 2, 1}, {14, 1, 1}, {7, 6, 4}, {9, 2, 6}, {25, 2, 2}}) {
    for (const int right : {0, 1}) {
      SCOPED_TRACE(str_cat("chunks of ", size, ", ", right, " to the right, ", layers,
                           " layers, stride ", stride));
      const Graph graph = loaded(stacked(size, right, layers, stride));
      const auto found = pulse::choices(graph, {}, {});
      ASSERT_TRUE(found.ok()) << found.error().to_string();
      const pulse::Choice& best = pulse::best(*found);
      EXPECT_EQ(best.pulse % (size * stride), 0) << best.pulse;
      EXPECT_EQ(best.delay, right * layers * size * stride);
      pulse::Bounds bounds;
      bounds.most = size * stride - 1;
      const auto below = pulse::choices(graph, {}, bounds);
      ASSERT_TRUE(below.ok()) << below.error().to_string();
      EXPECT_LT(below->back().pulse, size * stride);
    }
  }
}

TEST(PulseCases, AttentionToLargeChunks) {
  expect_shape(with_infinity(attention(chunks(64, 8, 0))), {{64, 128}, 1, 1, 0, "S"});
  expect_shape(with_infinity(attention(chunks(32, 4, 1))), {{32, 96}, 1, 1, 32, "S"});
}

std::string where(const std::string& seen, const std::string& before = "") {
  return with_infinity(attention(before + "  m = select(" + seen + ", scores, -infinity);\n"));
}

// Expect the frames of the whole run for streams that are longer than every number of the mask.
void expect_long_streams(const std::string& text, int64_t pulse, std::vector<int64_t> lengths) {
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, pulse);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << "\n" << text;
  for (const int64_t length : lengths) {
    EXPECT_EQ(stream_problem(graph, &*streamed, length, kTolerance), "") << length << "\n" << text;
  }
}

TEST(PulseCases, AttentionWithConstantsInTheHundreds) {
#if !defined(RILL_SANITIZED)
  // Address checks would take a minute for scores of 3200 frames.
  expect_shape(with_infinity(attention(chunks(400, 1, 0))), {{400}, 1, 1, 0, "S"});
#endif
  expect_long_streams(with_infinity(attention(chunks(400, 1, 0))), 400, {399, 1203});
  expect_long_streams(where("(row - column <= 700) && (row - column >= 0)"), 64, {701, 1500});
  expect_long_streams(where("(column >= max(row - 700, 0)) && (column <= row)"), 64, {701, 1500});
  expect_long_streams(where("(column >= max(row / 64 * 64 - 200, 0)) && (column / 64 <= row / 64)"),
                      64, {130, 1100});
  expect_long_streams(where("(row >= column) && (row - column <= 900) && "
                            "((column - column / 300 * 300 == 0) || (row - column <= 10))"),
                      32, {950, 1900});
  expect_long_streams(with_infinity(attention(
                          "  m = select((row / 250 == column / 250), scores, -1000000.0);\n")),
                      50, {249, 760});
}

// Floats round products and quotients; the rounded distance decides whether a key is visible.
TEST(PulseCases, AttentionToDistancesThatFloatsRound) {
  const std::string apart = "  apart = tract_core_cast(row - column, to = 'f32')";
  expect_long_streams(where("(row >= column) && (apart <= 30.0)", apart + " * 0.1;\n"), 16, {700});
  expect_long_streams(where("(row >= column) && (apart <= 0.7)", apart + " / 10.0;\n"), 4, {60});
  // The rounding of a time in seconds differs from query to query.
  const std::string seconds =
      "  t = tract_core_cast(n, to = 'f32') * 0.01;\n"
      "  apart = unsqueeze(t, axes = [0, 2]) - unsqueeze(t, axes = [0, 1]);\n";
  expect_refused(where("(row >= column) && (apart <= 0.3)", seconds), 4, "y",
                 "not a known function of positions");
}

// Keys beyond a gap are visible, although no small distance shows it.
TEST(PulseCases, AttentionToKeysFarBeforeAGap) {
  const std::string apart = "  apart = tract_core_cast(row - column, to = 'f32');\n";
  const std::string root = apart + "  far = sqrt(max(apart, 0.0));\n";
  expect_refused(where("(row >= column) && ((apart < 5.0) || (far > 40.0))", root), 4, "y",
                 "queries see all keys that went before");
  const std::string added = root + "  m = scores + select(far >= 40.0, 0.0, -infinity) + "
                                   "select(apart <= 9.0, 0.0, -1000000000.0);\n";
  expect_refused(with_infinity(attention(added)), 4, "y", "may see no key");
  const std::string scaled = apart + "  far = apart * 0.1 * 0.1 * 0.1;\n";
  expect_refused(where("(row >= column) && ((apart < 5.0) || (far > 1.5))", scaled), 4, "y",
                 "all keys that went before");
}

// A select by one position that changes late: the analysis covers all constants of the mask, or
// refuses.
TEST(PulseCases, AttentionThatWidensLate) {
  const auto widened = [](const std::string& late) {
    return where("(row >= column) && (row - column <= 5 + wide)",
                 "  wide = select(" + late + ", 7, 0);\n");
  };
  expect_long_streams(widened("row >= 1400"), 8, {1380, 1900});
  expect_long_streams(widened("row / 100 >= 14"), 8, {1380, 1900});
  expect_refused(widened("row / 1000000 >= 1100000"), 4, "y", "not a known function of positions");
}

TEST(PulseCases, AttentionUnderMasksOfOtherKinds) {
  // Keys hidden by a large number, and hidden again after the softmax.
  const std::string large =
      "  apart = row - column;\n  seen = tract_core_cast((apart >= 0) && (apart < 4), to = "
      "'f32');\n"
      "  m = scores + (1.0 - seen) * -1000000000.0;\n";
  expect_attends(attention(large), {{1, 4}, 1, 1, 0, "S"});
  const std::string hidden = "  m = select(column <= row, scores, -infinity);\n";
  std::string hidden_again = attention(hidden);
  hidden_again.replace(hidden_again.find("softmax(m, axes = [2])"), 22,
                       "select(row - column < 3, softmax(m, axes = [2]), 0.0)");
  // The softmax sums over all earlier keys.
  expect_refused(with_infinity(hidden_again), 4, "y", "Attention");
  // A mask computed from frames, combined with one of positions.
  const std::string both =
      "  loud = transpose(slice(z, axes = [2], begin = [0], end = [1]), axes = [0, 2, 1]) > -1.0;\n"
      "  apart = row - column;\n"
      "  m = select((loud || (apart == 0)) && (apart >= 0) && (apart <= 3), scores, -infinity);\n";
  expect_attends(attention(both), {{1, 4}, 1, 1, 0, "S"});
  // If one number hides all keys, the whole run averages over all keys.
  std::string mean = both;
  mean.replace(mean.find("-infinity"), 9, "-1000000.0");
  expect_refused(attention(mean), 4, "y", "Attention");
  // The model is accepted if these queries get no weight.
  std::string none = attention(
      "  loud = transpose(slice(z, axes = [2], begin = [0], end = [1]), axes = [0, 2, 1]) > 0.5;\n"
      "  apart = row - column;\n  seen = loud && (apart >= 0) && (apart <= 3);\n"
      "  m = select(seen, scores, -10000.0);\n");
  none.replace(none.find("softmax(m, axes = [2])"), 22,
               "select(seen, softmax(m, axes = [2]), 0.0)");
  expect_attends(none, {{1, 4}, 1, 1, 0, "S"});
}

// Chunk numbers as exporters compute them, in floats truncated towards zero and broadcast over both
// axes, and any elementwise operator: the analysis evaluates masks with the operators themselves.
TEST(PulseCases, AttentionUnderMasksOfAnyElementwiseOperator) {
  const std::string squashed =
      "  f = tract_core_cast(row - column, to = 'f32');\n"
      "  t = tanh(min(max(f, -40.0), 40.0) * 0.1);\n";
  // tanh(0.8) is 0.664 and tanh(0.9) is 0.716; the same holds for later keys.
  expect_attends(attention(squashed + "  m = select((t >= 0.0) && (t <= 0.7), scores, "
                                      "-infinity);\n"),
                 {{1, 4}, 1, 1, 0, "S"});
  expect_attends(attention(squashed + "  m = select((t >= -0.25) && (t <= 0.7), scores, "
                                      "-infinity);\n"),
                 {{1, 3}, 1, 1, 2, "S"});
}

TEST(PulseCases, AttentionUnderMasksAsExportersWriteThem) {
  const std::string truncated =
      "  f = tract_core_cast(n, to = 'f32') / 3.0;\n"
      "  c = tract_core_cast(select(f < 0.0, ceil(f), floor(f)), to = 'i64');\n"
      "  apart = unsqueeze(c, axes = [0, 2]) - unsqueeze(c, axes = [0, 1]);\n"
      "  m = select(and(le(apart, 1), ge(apart, 0)), scores, -infinity);\n";
  expect_attends(attention(truncated), {{3, 6}, 1, 1, 0, "S"});
  const std::string spread =
      "  a = tile(reshape(n, shape = [-1, 1]), repeats = [1, S]) / 2;\n"
      "  b = tile(reshape(n, shape = [1, -1]), repeats = [S, 1]) / 2;\n"
      "  m = select(unsqueeze(not((b > a) || (b < a - 1)), axes = [0]), scores, -infinity);\n";
  expect_attends(attention(spread), {{2, 4}, 1, 1, 0, "S"});
  // Conditions on the first rows do not affect later queries.
  const std::string early =
      "  m = select((row < 5 || row - column < 3) && column <= row, scores, -infinity);\n";
  expect_attends(attention(early), {{1, 4}, 1, 1, 0, "S"});
  // A select clips the chunk before the stream begins.
  const std::string chosen =
      "  from = (row / 4 - 1) * 4;\n  first = select(from < 0, 0, from);\n"
      "  m = select((column < (row / 4 + 1) * 4) && (column >= first), scores, -infinity);\n";
  expect_attends(attention(chosen), {{4, 8}, 1, 1, 0, "S"});
  // A select that alternates by row never settles.
  const std::string returning =
      "  first = select(row - row / 2 * 2 < 1, 0, row);\n"
      "  m = select((column <= row) && (column >= first), scores, -infinity);\n";
  expect_refused(with_infinity(attention(returning)), 4, "y", "without end");
  // Rows from about 100 see all earlier keys.
  const std::string late =
      "  m = select((tract_core_cast(row, to = 'f32') * 0.03 > 3.0 || row - column < 3) && "
      "(column <= row), scores, -infinity);\n";
  expect_refused(with_infinity(attention(late)), 4, "y", "without end");
  // The same holds if the mask hides the first ten keys, or compares keys with twice the row.
  for (const std::string hidden : {"column >= 10", "row * 2 - column > 50 || row - column < 3"}) {
    const std::string mask =
        "  m = select((" + hidden + ") && (column <= row), scores, -infinity);\n";
    expect_refused(with_infinity(attention(mask)), 4, "y", "without end");
  }
  // Minus infinity of the first mask remains in effect under the second mask.
  const std::string twice =
      "  m1 = select(column < row, scores, -infinity);\n"
      "  m = select((row - column < 4) && (row - column > -2), m1, -infinity);\n";
  expect_attends(attention(twice), {{1, 4}, 1, 1, 0, "S"});
  std::string weighed = attention(
      "  apart = tract_core_cast(row - column, to = 'f32');\n"
      "  m = scores * select((apart >= 0.0) && (apart < 4.0), pow(0.9, apart), 0.0);\n");
  weighed.replace(weighed.find("softmax(m, axes = [2])"), 22, "m");
  expect_attends(weighed, {{1, 4}, 1, 1, 0, "S"});
}

/// Format a matrix with `number(i, j)` as elements.
template <typename Number>
std::string square_table(int size, const Number& number) {
  std::string out = "[[";
  for (int i = 0; i < size; ++i) {
    out += i == 0 ? "[" : ", [";
    for (int j = 0; j < size; ++j) out += str_cat(j == 0 ? "" : ", ", number(i, j));
    out += "]";
  }
  return out + "]]";
}

TEST(PulseCases, AttentionUnderAMaskThatWasMadeBeforehand) {
  const auto cut = [](const std::string& table, int from) {
    return attention(
        str_cat("  all = ", table, ";\n  some = slice(all, axes = [1], begin = [", from,
                "], end = [S + ", from, "]);\n  hides = slice(some, axes = [2], begin = [", from,
                "], end = [S + ", from, "]);\n  m = select(hides != 0.0, scores, -infinity);\n"));
  };
  const std::string band =
      square_table(48, [](int i, int j) { return i >= j && i - j <= 3 ? "1.0" : "0.0"; });
  expect_attends(cut(band, 0), {{1, 4}, 1, 1, 0, "S"});
  const std::string chunked = square_table(
      48, [](int i, int j) { return i / 4 == j / 4 || i / 4 == j / 4 + 1 ? "1.0" : "0.0"; });
  expect_attends(cut(chunked, 0), {{4, 8}, 1, 1, 0, "S"});
  expect_attends(cut(chunked, 0), {{2}, 1, 1, 2, "S"});
  expect_attends(cut(chunked, 1), {{4}, 1, 1, 1, "S"});
  // A causal table needs a bound on S: the stream then keeps as many keys as the table has rows.
  const std::string causal = square_table(48, [](int i, int j) { return i >= j ? "1.0" : "0.0"; });
  expect_refused(with_infinity(cut(causal, 0)), 4, "y", "without end");
  std::string bounded = cut(causal, 0);
  bounded.insert(bounded.find("graph network"), "extension tract_assert S <= 48;\n");
  expect_attends(bounded, {{1, 4}, 1, 1, 0, "S"});
  const std::string irregular =
      square_table(48, [](int i, int j) { return i >= j && i * j % 7 != 3 ? "1.0" : "0.0"; });
  expect_refused(with_infinity(cut(irregular, 0)), 4, "y", "Attention");
}

// A constant table may differ between heads: decaying biases and bands.
TEST(PulseCases, AttentionUnderATableOfEachHead) {
  constexpr int kRows = 40;
  const auto under = [](const std::string& first, const std::string& second, const char* bound) {
    std::string text = with_infinity(document(
        "1, 2, S, 4",
        str_cat("  all = [[", first.substr(1, first.size() - 2), ", ",
                second.substr(1, second.size() - 2), "]];\n",
                "  some = slice(all, axes = [2], begin = [0], end = [S]);\n"
                "  table = slice(some, axes = [3], begin = [0], end = [S]);\n"
                "  m = matmul(x, x * 0.7, transposeB = true) + "
                "select(table < -100.0, -infinity, table);\n"
                "  y = matmul(softmax(m, axes = [3]), x);\n")));
    text.insert(text.find("graph network"), bound);
    return text;
  };
  const auto fading = [](double slope) {
    return square_table(kRows, [slope](int i, int j) {
      return j > i ? std::string("-1000.0") : str_cat(slope * (j - i));
    });
  };
  const auto band = [](int before, int after) {
    return square_table(kRows, [before, after](int i, int j) {
      return i - j > before || j - i > after ? "-1000.0" : "0.0";
    });
  };
  const char* const bound = "extension tract_assert S <= 40;\n";
  expect_streams(under(fading(0.5), fading(0.25), bound), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(under(fading(0.5), band(3, 0), bound), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(under(band(1, 0), band(5, 0), ""), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  // The head that sees farthest decides.
  expect_streams(under(band(1, 2), band(4, 0), ""), {{1, 4}, 1, 1, 2, "S"}, kTolerance);
  expect_streams(under(band(4, 0), band(0, 3), ""), {{1, 4}, 1, 1, 3, "S"}, kTolerance);
  expect_refused(under(band(2, 0), band(2, 40), ""), 4, "y", "Attention");
}

// The sum with rows of a table limits the stream to the table's length, which the file does not
// assert.
TEST(PulseCases, AttentionToAllAfterATableNamesTheAttention) {
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += str_cat(i == 0 ? "" : ", ", "[0.5, 0.25, ", i, ".0, 1.0]");
  const std::string table = str_cat("  t = slice([[", rows,
                                    "]], axes = [1], begin = [0], end = [min(S, 40)]);\n"
                                    "  z = x + t;\n  m = matmul(z, z, transposeB = true);\n"
                                    "  y = matmul(softmax(m, axes = [2]), z);\n");
  expect_refused(document("1, S, 4", table), 4, "y", "no upstream mask hides any");
}

// The bias of visible scores differs between heads; the mask does not.
TEST(PulseCases, AttentionWithABiasOfEachHead) {
  expect_attends(
      document("1, 2, S, 4",
               "  n = tract_core_range(0, S, 1);\n"
               "  apart = unsqueeze(n, axes = [0, 1, 3]) - unsqueeze(n, axes = [0, 1, 2]);\n"
               "  slope = tract_core_cast(apart, to = 'f32') * [[[[-0.5]], [[-0.25]]]];\n"
               "  bias = select((apart < 0) || (apart > 5), -infinity, slope);\n"
               "  m = matmul(x, x * 0.7, transposeB = true) + bias;\n"
               "  y = matmul(softmax(m, axes = [3]), x);\n"),
      {{1, 4}, 1, 1, 0, "S"});
}

// Values that depend on both positions, such as relative positions.
TEST(PulseCases, AttentionToValuesOfDistances) {
  std::string text = attention(
      "  apart = row - column;\n  m = select((apart >= 0) && (apart <= 3), scores, -infinity);\n");
  const std::string product = "  y = matmul(softmax(m, axes = [2]), v);\n";
  text.replace(
      text.find(product), product.size(),
      "  w = softmax(m, axes = [2]);\n"
      "  near = tract_core_cast(min(max(apart, -2), 2), to = 'f32');\n"
      "  r = unsqueeze(squeeze(near, axes = [0]), axes = [2]) * [[[0.3, -0.2, 0.5, 0.1]]];\n"
      "  y = matmul(w, v) + tract_core_einsum([w, r], expr = 'bij,ijd->bid', acc = 'f32', "
      "output = '');\n");
  expect_attends(text, {{1, 4}, 1, 1, 0, "S"});
}

// Without a softmax, no normalisation removes the contribution of missing keys.
TEST(PulseCases, SumsOverABandOfFrames62) {
  const auto banded = [](const std::string& condition, int axis) {
    return document("S, 4",
                    "  scores = matmul(x, x * 0.5, transposeB = true);\n"
                    "  n = tract_core_range(0, S, 1);\n  c = n / 2;\n"
                    "  apart = unsqueeze(c, axes = [1]) - unsqueeze(c, axes = [0]);\n"
                    "  w = scores * tract_core_cast(" +
                        condition +
                        str_cat(", to = 'f32');\n  y = squeeze(sum_reduce(w, axes = [", axis,
                                "]), axes = [", axis, "]);\n"));
  };
  const std::string before = "and(ge(apart, 0), le(apart, 1))";
  // Sums over queries (axis 0) reach the next chunk; sums over keys (axis 1) reach the previous
  // one.
  expect_streams(banded(before, 0), {{2, 4}, 1, 1, 2, "S"}, kTolerance);
  expect_streams(banded(before, 1), {{2, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(banded(before, 1), {{1}, 1, 1, 1, "S"}, kTolerance);
  expect_refused(banded("ge(apart, 0)", 0), 2, "y", "Attention");
}

TEST(PulseCases, WeightsWithoutASoftmax) {
  const std::string band =
      "  apart = row - column;\n"
      "  m = scores * tract_core_cast(and(ge(apart, -1), le(apart, 2)), to = 'f32');\n";
  std::string text = attention(band);
  text.replace(text.find("softmax(m, axes = [2])"), 22, "m");
  expect_attends(text, {{1, 4}, 1, 1, 1, "S"});
}

TEST(PulseCases, CausalAttentionNamesTheAssertionThatItNeeds) {
  std::string text = document(
      "1, 2, S, 4",
      "  y = tract_transformers_sdpa(x, x * 0.5, x * 0.25, datum_type = 'f32', acc_datum_type = "
      "'f32', is_causal = true);\n");
  text.insert(text.find("graph network"), "extension tract_registry tract_transformers;\n");
  expect_refused(text, 4, "y", "--assert 'S <= 2000'");
  text.insert(text.find("graph network"), "extension tract_assert S <= 60;\n");
  expect_attends(text, {{1, 4}, 1, 1, 0, "S"});
}

/// Self-attention of x [1, S, 4] with relative positions: `table` makes `t`, a row of 4 numbers for
/// each distance from 1 - S to S - 1.
std::string relative(const std::string& table, const std::string& seen,
                     const std::string& padded = "pad(far, padding = [(0, 0), (0, 0), (1, 0)])") {
  return document(
      "1, S, 4", table +
                     "  p = matmul(t, [[[0.1, -0.2, 0.3, 0.25], [0.4, 0.1, -0.3, 0.2], [-0.1, 0.2, "
                     "0.15, 0.3], [0.3, -0.3, 0.1, 0.05]]]);\n"
                     "  q = x * 0.7;\n  content = matmul(q, x, transposeB = true);\n"
                     "  far = matmul(q + 0.1, p, transposeB = true);\n"
                     "  padded = " +
                     padded +
                     ";\n"
                     "  viewed = reshape(padded, shape = [1, 2 * S, S]);\n"
                     "  cut = slice(viewed, axes = [1], begin = [1], end = [2 * S]);\n"
                     "  back = reshape(cut, shape = [1, S, 2 * S - 1]);\n"
                     "  near = slice(back, axes = [2], begin = [0], end = [S]);\n"
                     "  scores = (content + near) * 0.5;\n"
                     "  n = tract_core_range(0, S, 1);\n" +
                     seen +
                     "  m = select(seen, scores, scores * 0.0 + -inf);\n"
                     "  y = matmul(softmax(m, axes = [2]), x);\n");
}

const char kWithinChunks[] =
    "  c = n / 3;\n  apart = unsqueeze(c, axes = [0, 2]) - unsqueeze(c, axes = [0, 1]);\n"
    "  seen = and(ge(apart, 0), le(apart, 1));\n";
const char kBand[] =
    "  apart = unsqueeze(n, axes = [0, 2]) - unsqueeze(n, axes = [0, 1]);\n"
    "  seen = and(ge(apart, -2), le(apart, 3));\n";

TEST(PulseCases, RelativePositionsThatAreCounted) {
  const std::string counted =
      "  r = tract_core_cast(tract_core_range(S - 1, 0 - S, -1), to = 'f32');\n"
      "  t = sin(unsqueeze(r, axes = [0, 2]) * [[[0.01, 0.4, -0.03, 0.15]]]);\n";
  expect_attends(relative(counted, kWithinChunks), {{3, 6}, 1, 1, 0, "S"});
  expect_attends(relative(counted, kWithinChunks), {{1}, 1, 1, 2, "S"});
  expect_attends(relative(counted, kBand), {{1, 4}, 1, 1, 2, "S"});
  expect_attends(
      relative(counted, kBand, "concat([tile([[[0.5]]], repeats = [1, S, 1]), far], axis = 2)"),
      {{1, 4}, 1, 1, 2, "S"});
}

TEST(PulseCases, RelativePositionsFromATable) {
  std::string rows;
  for (int i = 0; i < 4 * 201; ++i) {
    rows += str_cat(i % 4 == 0 ? (i == 0 ? "[" : "], [") : ", ", 0.001 * (i * 37 % 501) - 0.2);
  }
  const std::string table = "  all = [[" + rows + "]]];\n  t = slice(all, axes = [1], begin = [";
  expect_attends(relative(table + "101 - S], end = [100 + S]);\n", kBand), {{1, 4}, 1, 1, 2, "S"});
  // The row of distance 0 depends on the length of the stream.
  expect_refused(relative(table + "0], end = [2 * S - 1]);\n", kBand), 4, "\"t\" (Slice)",
                 "distance 0");
}

// Distances count from the end of the stream; a flat shift of scores is none that rill gathers.
TEST(PulseCases, ShiftsOfFlatScoresAreRefused) {
  const std::string text = document(
      "S, 4",
      "  r = tract_core_cast(tract_core_range(S - 1, 0 - S, -1), to = 'f32');\n"
      "  t = sin(unsqueeze(r, axes = [1]) * [[0.01, 0.4, -0.03, 0.15]]);\n"
      "  far = matmul(x + 0.1, t, transposeB = true);\n"
      "  padded = pad(far, padding = [(0, 0), (1, 0)]);\n"
      "  viewed = reshape(padded, shape = [2 * S * S]);\n"
      "  cut = slice(viewed, axes = [0], begin = [1], end = [2 * S * S - S + 1]);\n"
      "  back = reshape(cut, shape = [S, 2 * S - 1]);\n"
      "  near = slice(back, axes = [1], begin = [0], end = [S]);\n"
      "  y = matmul(softmax(near, axes = [1]), x);\n");
  expect_refused(text, 4, "r_tract_core_range", "Range");
}

}  // namespace
}  // namespace rill::test
