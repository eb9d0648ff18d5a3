// Worked cases of attention: queries and keys of one stream, chunks, sums without a softmax, and
// relative positions.

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "pulse/choice.h"
#include "pulse/least_delay.h"
#include "tests/property/attention_texts.h"
#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

// A run of 9000 frames has 81 million scores. An output that waits for 9000 frames streams, but its
// least delay is unknown.
TEST(PulseCases, NothingIsProvenByRunsThatAreTooLarge) {
  std::string text = with_infinity(attention(chunks(2, 1, 0)));
  text.replace(text.find("  y = matmul"), 5, "  o =");
  text.insert(text.rfind('}'), "  y = slice(o, axes = [1], begin = [200], end = [0]);\n");
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, 2);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  EXPECT_EQ(streamed->output().delay, 200);
  pulse::Options options;
  options.pulse = Dim(2);
  const double seconds = std::numeric_limits<double>::infinity();
  for (const bool fits : {false, true}) {
    const int64_t length = fits ? 300 : 150;
    const auto least = pulse::least_delays(graph, options, streamed->report(),
                                           {seconds, length * length});
    ASSERT_TRUE(least.ok()) << least.error().to_string();
    EXPECT_EQ(least->outputs[0], fits ? std::optional<int64_t>(200) : std::nullopt);
  }
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
  expect_refused(weighed(lower), 4, "y", "all earlier keys");
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
  expect_refused(attention(next + "1, scores, -10000.0);\n"), 4, "y", "count alike");
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

// Distances count from the end of the stream; rill does not gather a flat shift of scores.
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
