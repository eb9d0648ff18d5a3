// Worked cases of attention to learned keys before the stream: prompts, memories, registers.
// They are known before the stream, so no frame waits for them. Masks are joined or padded to cover
// them. The whole run sums over all keys, and the stream over the visible keys plus some of weight
// 0. The order of the sums differs, and so may their last bits.

#include <gtest/gtest.h>

#include <string>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 2e-6;

/// Return a constant of `prompts` different keys [1, P, 4].
std::string prompts_of(int64_t prompts) {
  std::string out;
  for (int64_t i = 0; i < prompts; ++i) {
    if (i > 0) out += ", ";
    out += str_cat("[0.", (3 * i + 1) % 10, ", -0.", (7 * i + 4) % 10, ", 0.", (i + 5) % 10,
                   ", -0.", (9 * i + 2) % 10, "]");
  }
  return str_cat("[[", out, "]]");
}

/// Attention of x [1, S, 4] to `prompts` keys and to frames. `mask` makes `m` [1, S, S + P], true
/// for visible keys, of positions `row` of queries, and `column` and `apart` of frames.
std::string attention(int64_t prompts, const std::string& mask,
                      const std::string& used = "select(m, s, 0.0 - 1.0 / 0.0)") {
  return document(
      "1, S, 4",
      str_cat("  n = tract_core_range(0, S, 1);\n  row = unsqueeze(n, axes = [0, 2]);\n"
              "  column = unsqueeze(n, axes = [0, 1]);\n  apart = row - column;\n"
              "  keys = concat([", prompts_of(prompts), ", x], axis = 1);\n"
              "  q = x * 0.7;\n  k = keys * [[[0.3, -0.2, 0.5, 0.9]]];\n  v = keys + 0.25;\n"
              "  s = matmul(q, k, transposeB = true);\n",
              mask, "  y = matmul(softmax(", used, ", axes = [2]), v);\n"));
}

/// Join a mask of the prompts, which is the same for all queries, with a mask of frames.
std::string joined(int64_t prompts, const std::string& seen, bool all = true) {
  return str_cat("  front = tract_core_broadcast([[[", all ? "true" : "false",
                 "]]], shape = [1, S, ", prompts, "]);\n  m = concat([front, ", seen,
                 "], axis = 2);\n");
}

Expected streams(const std::vector<int64_t>& pulses, int64_t delay) {
  return {pulses, 1, 1, delay, "S"};
}

TEST(Prompts, CostNoDelay) {
  for (const int64_t prompts : {1, 2, 5, 19}) {
    for (const int64_t left : {0, 3, 8}) {
      const std::string seen = str_cat("(apart >= 0) && (apart <= ", left, ")");
      expect_streams(attention(prompts, joined(prompts, seen)), streams({1, 3, 4}, 0), kTolerance);
    }
  }
}

// A shorter stream ends among the prompts, so a query waits for the later ones that it sees.
TEST(Prompts, EndWithTheFramesOfTheStream) {
  for (const int64_t prompts : {1, 3, 9}) {
    for (const int64_t ahead : {0, 1, 2, 5}) {
      for (const bool normal : {true, false}) {
        const std::string keys = str_cat("slice(concat([", prompts_of(prompts),
                                         ", x], axis = 1), axes = [1], begin = [0], end = [S])");
        const std::string seen = str_cat("(apart >= -", ahead, ") && (apart <= 3)");
        const std::string used = normal ? "softmax(select(m, s, 0.0 - 1.0 / 0.0), axes = [2])"
                                        : "s * tract_core_cast(m, to = 'f32')";
        const std::string text = document(
            "1, S, 4", str_cat("  n = tract_core_range(0, S, 1);\n"
                               "  row = unsqueeze(n, axes = [0, 2]);\n"
                               "  apart = row - unsqueeze(n, axes = [0, 1]);\n"
                               "  keys = ", keys, ";\n  k = keys * [[[0.3, -0.2, 0.5, 0.9]]];\n",
                               "  s = matmul(keys, k, transposeB = true);\n  m = ", seen,
                               ";\n  y = matmul(", used, ", keys + 0.25);\n"));
        SCOPED_TRACE(text);
        for (const int64_t pulse : {1, 4}) expect_frames(text, pulse, kTolerance);
      }
    }
  }
}

TEST(Prompts, LeaveTheDelayOfLaterFrames) {
  for (const int64_t prompts : {1, 4}) {
    const std::string ahead = "(apart >= -2) && (apart <= 3)";
    expect_streams(attention(prompts, joined(prompts, ahead)), streams({1, 3}, 2), kTolerance);
    const std::string chunks = "(row / 4 - column / 4 <= 1) && (row / 4 >= column / 4)";
    expect_streams(attention(prompts, joined(prompts, chunks)), streams({4, 8}, 0), kTolerance);
    expect_streams(attention(prompts, joined(prompts, chunks)), streams({1}, 3), kTolerance);
  }
}

TEST(Prompts, AreSeenOrHiddenOneByOne) {
  const std::string seen = "(apart >= 0) && (apart < 4)";
  expect_streams(attention(3, joined(3, seen, false)), streams({1, 4}, 0), kTolerance);
  // The second of three prompts is hidden.
  const std::string mask = str_cat(
      "  front = tract_core_broadcast([[[true, false, true]]], shape = [1, S, 3]);\n"
      "  m = concat([front, ", seen, "], axis = 2);\n");
  expect_streams(attention(3, mask), streams({1, 4}, 0), kTolerance);
  // Queries see prompts from their third frame on.
  const std::string late = str_cat(
      "  front = tract_core_broadcast(row >= 2, shape = [1, S, 3]);\n  m = concat([front, ", seen,
      "], axis = 2);\n");
  expect_streams(attention(3, late), streams({1, 4}, 0), kTolerance);
}

TEST(Prompts, OfRangesThatBeginInFront) {
  for (const int64_t prompts : {1, 3}) {
    const std::string counted = str_cat(
        "  all = unsqueeze(tract_core_range(0, S + ", prompts, ", 1), axes = [0, 1]);\n"
        "  m = (all < ", prompts, ") || ((row + ", prompts, " >= all) && (row + ", prompts,
        " - all < 4));\n");
    expect_streams(attention(prompts, counted), streams({1, 4}, 0), kTolerance);
    // A window over prompts and frames alike: prompts leave it, as padding before the stream does.
    const std::string passing = str_cat(
        "  all = unsqueeze(tract_core_range(0, S + ", prompts, ", 1), axes = [0, 1]);\n"
        "  m = (row + ", prompts, " >= all) && (row + ", prompts, " - all < 6);\n");
    for (const int64_t pulse : {1, 4}) {
      expect_frames(attention(prompts, passing), pulse, kTolerance);
    }
  }
}

TEST(Prompts, OfPaddedMasks) {
  const std::string added = "s + m";
  const std::string hidden = "select((apart >= 0) && (apart < 4), 0.0, 0.0 - 1.0 / 0.0)";
  for (const int64_t prompts : {1, 3}) {
    const std::string padded = str_cat("  m = pad(", hidden, ", padding = [(0, 0), (0, 0), (",
                                       prompts, ", 0)], border = 'constant', value = 0.0);\n");
    expect_streams(attention(prompts, padded, added), streams({1, 4}, 0), kTolerance);
    const std::string biased = str_cat(
        "  front = tract_core_broadcast([[[0.125]]], shape = [1, S, ", prompts,
        "]);\n  m = concat([front, ", hidden, "], axis = 2);\n");
    expect_streams(attention(prompts, biased, added), streams({1, 4}, 0), kTolerance);
  }
}

TEST(Prompts, BesideDistancesAndTriangles) {
  const std::string far =
      "select((apart >= 0) && (apart < 5), tract_core_cast(apart, to = 'f32') * -0.25, "
      "0.0 - 1.0 / 0.0)";
  const std::string biased =
      str_cat("  front = tract_core_broadcast([[[0.0]]], shape = [1, S, 2]);\n"
              "  m = concat([front, ", far, "], axis = 2);\n");
  expect_streams(attention(2, biased, "s + m"), streams({1, 4}, 0), kTolerance);
  const std::string triangle =
      "  all = tract_core_broadcast([[[1.0]]], shape = [1, S, S]);\n"
      "  past = tract_core_trilu(all, k = 0, upper = false);\n"
      "  band = tract_core_trilu(past, k = -3, upper = true);\n"
      "  front = tract_core_broadcast([[[1.0]]], shape = [1, S, 2]);\n"
      "  m = concat([front, band], axis = 2) != 0.0;\n";
  expect_streams(attention(2, triangle), streams({1, 4}, 0), kTolerance);
}

TEST(Prompts, BeforeFramesThatStayInSight) {
  const std::string seen = "(apart >= 0) && ((apart < 3) || (column < 4))";
  for (const int64_t prompts : {1, 3}) {
    expect_streams(attention(prompts, joined(prompts, seen)), streams({1, 4}, 0), kTolerance);
  }
  const std::string first = "((apart >= 0) && (apart < 3)) || (column < 4)";
  expect_streams(attention(2, joined(2, first)), streams({1}, 3), kTolerance);
  expect_streams(attention(2, joined(2, first)), streams({4}, 0), kTolerance);
}

TEST(Prompts, MayBeHiddenByNumbers) {
  const std::string seen = "(apart >= 0) && (apart < 4)";
  expect_streams(attention(3, joined(3, seen), "select(m, s, -10000.0)"), streams({1, 4}, 0),
                 kTolerance);
}

/// Attention whose softmax also sums over `sinks`, scores of no key, with the weights of frames cut
/// out.
std::string attention_with_sinks(const std::string& seen, const std::string& sinks, int64_t count,
                                 bool first, bool stable) {
  const std::string all = first ? "[t, m]" : "[m, t]";
  const std::string cut = first ? str_cat("begin = [", count, "], end = [S + ", count, "]")
                                : std::string("begin = [0], end = [S]");
  return document(
      "1, S, 4",
      str_cat("  n = tract_core_range(0, S, 1);\n  row = unsqueeze(n, axes = [0, 2]);\n"
              "  column = unsqueeze(n, axes = [0, 1]);\n  apart = row - column;\n"
              "  s = matmul(x * 0.7, x * [[[0.3, -0.2, 0.5, 0.9]]], transposeB = true);\n"
              "  m = select(", seen, ", s, 0.0 - 1.0 / 0.0);\n"
              "  t = tract_core_broadcast(", sinks, ", shape = [1, S, ", count, "]);\n"
              "  all = concat(", all, ", axis = 2);\n",
              stable ? "  u = all - max_reduce(all, axes = [2]);\n" : "  u = all;\n",
              "  w = slice(softmax(u, axes = [2]), axes = [2], ", cut,
              ");\n  y = matmul(w, x + 0.25);\n"));
}

// A learned sink takes weight and gives no value: a logit next to the scores of the keys.
TEST(SinkLogits, CostNoDelay) {
  for (const bool first : {false, true}) {
    for (const bool stable : {false, true}) {
      const std::string seen = "(apart >= 0) && (apart < 5)";
      expect_streams(attention_with_sinks(seen, "[[[0.75]]]", 1, first, stable),
                     streams({1, 4}, 0), kTolerance);
      expect_streams(attention_with_sinks(seen, "[[[0.75, -1.5, 0.25]]]", 3, first, stable),
                     streams({1, 4}, 0), kTolerance);
      const std::string ahead = "(apart >= -2) && (apart < 3)";
      expect_streams(attention_with_sinks(ahead, "[[[0.75]]]", 1, first, stable),
                     streams({1, 3}, 2), kTolerance);
    }
  }
}

TEST(Prompts, MoveWithTheStatesOfAStream) {
  const std::string seen = "(apart >= 0) && ((apart < 3) || (column < 4))";
  expect_journeys(attention(3, joined(3, seen)), {1, 2, 5}, kTolerance);
}

}  // namespace
}  // namespace rill::test
