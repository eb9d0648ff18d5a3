// Worked cases of attention whose keys are not a window of the query frames: the first keys of a
// stream, which all queries see; fewer keys than queries; keys of another rate; distances. The
// whole run sums over all keys, and the stream over the visible keys plus some of weight 0. The
// order of the sums differs, and so may their last bits.

#include <gtest/gtest.h>

#include <string>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 2e-6;

/// A graph of x [1, S, 4] with `statements` over positions, scores and values.
std::string of_positions(const std::string& statements) {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n"
                  "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
                  "  apart = row - column;\n"
                  "  s = matmul(x * 0.7, x * [[[0.3, -0.2, 0.5, 0.9]]], transposeB = true);\n" +
                      statements);
}

/// Attention under a mask, with `fill` for hidden scores.
std::string attention(const std::string& seen, const std::string& fill = "(0.0 - 1.0 / 0.0)") {
  return of_positions(str_cat("  w = softmax(select(", seen, ", s, ", fill,
                              "), axes = [2]);\n  y = matmul(w, x + 0.25);\n"));
}

// Frameworks detect packed sequences: a new sequence begins where a position does not follow the
// previous one, and queries see only the keys of their sequence.
TEST(Keys, OfTheSameSequenceOfPositions) {
  const std::string text = of_positions(
      "  all = concat([slice(n, axes = [0], begin = [0], end = [1]) - 1, n], axis = 0);\n"
      "  step = slice(all, axes = [0], begin = [1], end = [0]) - slice(all, axes = [0], begin ="
      " [0], end = [S]);\n  begins = tract_core_cast(ne(step, 1), to = 'i64');\n"
      "  part = tract_core_cumsum(begins, axis = 0, exclusive = false, reverse = false);\n"
      "  same = unsqueeze(part, axes = [0, 2]) == unsqueeze(part, axes = [0, 1]);\n"
      "  w = softmax(select(apart >= 0 && apart <= 3 && same, s, 0.0 - 1.0 / 0.0), axes = [2]);\n"
      "  y = matmul(w, x + 0.25);\n");
  expect_streams(text, {{1, 4}, 1, 1, 0, "S"}, kTolerance);
}

TEST(Sinks, StayInSight) {
  const auto expect = [](const std::string& seen, int64_t delay) {
    expect_streams(attention(seen), {{1, 3, 4, 16}, 1, 1, delay, "S"}, kTolerance);
  };
  expect("(apart >= 0) && (apart < 4 || column < 4)", 0);
  expect("apart >= 0 && apart < 2 || column < 1", 0);
  expect("abs(apart) < 4 || column < 4", 3);
  expect("apart >= 0 && (apart < 3 || column < 40)", 0);
  // Every third of the first keys, chunks of frames, and a window that excludes the query itself.
  expect("apart >= 0 && (apart < 3 || (column < 9 && column - column / 3 * 3 == 0))", 0);
  expect("apart >= 0 && (apart > 2 && apart < 6 || column < 2)", 0);
  expect_streams(attention("row / 4 == column / 4 || column < 4"), {{4, 8}, 1, 1, 0, "S"},
                 kTolerance);
  expect_streams(attention("row / 4 == column / 4 || column < 4"), {{1}, 1, 1, 3, "S"},
                 kTolerance);
}

// The first query waits for the last of the first keys, and all later queries wait as long.
TEST(Sinks, AreWaitedForWhereTheFirstQuerySeesThem) {
  const std::string text = attention("(apart >= 0 && apart < 2) || column < 6");
  expect_streams(text, {{1}, 1, 1, 5, "S"}, kTolerance);
  // The pulse of the first query includes two more keys.
  expect_streams(text, {{4}, 1, 1, 4, "S"}, kTolerance);
  expect_streams(text, {{6, 8}, 1, 1, 0, "S"}, kTolerance);
}

TEST(Sinks, MayBeHiddenByNumbersAndAfterTheSoftmax) {
  const std::string seen = "apart >= 0 && (apart < 3 || column < 5)";
  expect_streams(attention(seen, "-10000.0"), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(of_positions(str_cat("  m = ", seen,
                                      ";\n  w = softmax(select(m, s, (0.0 - 1.0 / 0.0)), "
                                      "axes = [2]);\n  y = matmul(select(m, w, 0.0), x);\n")),
                 {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(of_positions(str_cat("  w = select(", seen, ", s, 0.0);\n  y = matmul(w, x);\n")),
                 {{1, 4}, 1, 1, 0, "S"}, kTolerance);
}

TEST(Sinks, MoveWithTheStateOfAStream) {
  expect_journeys(attention("apart >= 0 && (apart < 3 || column < 5)"), {1, 2, 5}, kTolerance);
  expect_journeys(attention("abs(apart) < 9 || column < 7"), {1, 4, 6}, kTolerance);
  // At both pulses the delay is six frames, which relies on pulses that are aligned with the
  // beginning of the stream: [6, 8) and [6, 9) contain the first query and key 7, but [4, 7) does
  // not.
  expect_journeys(attention("(apart >= 0 && apart < 2) || column < 8"), {2, 3}, kTolerance);
}

// Other keys that all queries see are still refused.
TEST(Sinks, DoNotRevealAllKeys) {
  expect_refused(attention("column < 4 || apart >= 0"), 4, "y", "all earlier keys");
  expect_refused(attention("column >= 4 && apart >= 0"), 4, "y", "all earlier keys");
  expect_refused(attention("row < 4 || abs(apart) < 3"), 4, "y", "all later keys");
}

/// `text` with an assertion that S <= `most`.
Graph bounded(std::string text, int64_t most) {
  text.insert(text.find("graph network"), str_cat("extension tract_assert S <= ", most, ";\n"));
  return loaded(text);
}

// The last query sees the first key at a distance larger than the number of keys.
TEST(Keys, MayBeFewerThanTheQueriesThatSeeThemAll) {
  for (const int64_t fewer : {1, 5, 19}) {
    const Graph graph = bounded(
        of_positions(str_cat("  k = slice(x, axes = [1], begin = [0], end = [", -fewer,
                             "]);\n  c = unsqueeze(tract_core_range(0, S - ", fewer,
                             ", 1), axes = [0, 1]);\n  t = matmul(x, k, transposeB = true);\n"
                             "  w = softmax(select(row >= c, t, (0.0 - 1.0 / 0.0)), axes = [2]);\n"
                             "  y = matmul(w, k);\n")),
        40);
    for (const int64_t pulse : {1, 3, 8}) {
      auto streamed = StreamedRun::make(graph, pulse);
      ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
      for (const int64_t length : {20, 23, 33, 39, 40}) {
        EXPECT_EQ(stream_problem(graph, &*streamed, length, kTolerance), "")
            << fewer << " fewer, pulse " << pulse << ", length " << length;
      }
    }
  }
}

/// Attention of every `query`-th frame to every `key`-th, with frame numbers as times.
std::string at_rates(int64_t query, int64_t key, const std::string& seen) {
  const auto every = [](const std::string& name, int64_t step) {
    const std::string frames = str_cat("(S + ", step - 1, ") / ", step);
    return str_cat("  ", name, " = slice(x, axes = [1], begin = [0], end = [S], stride = [", step,
                   "]);\n  t", name, " = tract_core_range(0, ", frames, ", 1) * ", step, ";\n");
  };
  return document("1, S, 4",
                  every("q", query) + every("k", key) +
                      "  row = unsqueeze(tq, axes = [0, 2]);\n"
                      "  column = unsqueeze(tk, axes = [0, 1]);\n  apart = row - column;\n"
                      "  s = matmul(q * 0.7, k, transposeB = true);\n  w = softmax(select(" +
                      seen + ", s, (0.0 - 1.0 / 0.0)), axes = [2]);\n  y = matmul(w, k + 0.25);\n");
}

TEST(Keys, RunAtDifferentRates) {
  const auto expect = [](const std::string& text, int64_t pulse, int64_t query, int64_t delay) {
    const std::string length = str_cat("(S + ", query - 1, ") / ", query);
    expect_streams(text, {{pulse, 3 * pulse}, 1, query, delay, length}, kTolerance);
  };
  expect(at_rates(1, 2, "apart >= 0 && apart < 6"), 2, 1, 0);
  expect(at_rates(2, 1, "apart >= 0 && apart < 6"), 2, 2, 0);
  // A frame waits for a key two frames ahead, as far as its pulse does not include that key.
  expect(at_rates(1, 2, "apart >= -2 && apart < 6"), 2, 1, 2);
  expect(at_rates(2, 1, "abs(apart) < 4"), 2, 2, 1);
  expect(at_rates(3, 2, "apart >= 0 && apart < 9"), 6, 3, 0);
  expect(at_rates(1, 4, "row / 8 == column / 8"), 8, 1, 0);
  expect(at_rates(1, 2, "apart >= 0 && (apart < 4 || column < 6)"), 2, 1, 0);
  expect_journeys(at_rates(1, 2, "apart >= 0 && apart < 9"), {2, 4, 6}, kTolerance);
  expect_journeys(at_rates(3, 2, "apart >= 0 && apart < 12"), {6, 12}, kTolerance);
}

// Replace minus infinity by a number, with which the last queries would weigh all keys equally.
std::string with_numbers(std::string text) {
  text.replace(text.find("(0.0 - 1.0 / 0.0)"), 17, "-10000.0");
  return text;
}

TEST(Keys, MayEndBeforeQueriesWhereMinusInfinityHidesThem) {
  const auto fewer = [](int64_t less, const std::string& seen, const std::string& fill) {
    return of_positions(str_cat(
        "  k = slice(x, axes = [1], begin = [0], end = [", -less,
        "]);\n  c = unsqueeze(tract_core_range(0, S - ", less,
        ", 1), axes = [0, 1]);\n  t = matmul(x, k, transposeB = true);\n  d = row - c;\n"
        "  w = softmax(select(", seen, ", t, ", fill, "), axes = [2]);\n  y = matmul(w, k);\n"));
  };
  const std::string window = "d >= 0 && d < 3";
  EXPECT_TRUE(StreamedRun::make(loaded(fewer(2, window, "-10000.0")), 4).ok());
  expect_refused(fewer(3, window, "-10000.0"), 4, "y", "may see no key");
  EXPECT_TRUE(StreamedRun::make(loaded(fewer(3, window, "(0.0 - 1.0 / 0.0)")), 4).ok());
  std::string rates = at_rates(1, 3, "apart >= 0 && apart < 3");
  EXPECT_TRUE(StreamedRun::make(loaded(with_numbers(rates)), 3).ok());
  rates = at_rates(1, 3, "apart >= 1 && apart < 3");
  expect_refused(with_numbers(rates), 3, "y", "may see no key");
}

// Numbers of frames at different rates that are not converted to times drift apart without bound.
TEST(Keys, OfAnotherRateAreComparedByTimes) {
  std::string drifts = at_rates(1, 2, "apart >= 0 && apart < 6");
  drifts.erase(drifts.rfind(" * 2;"), 4);
  expect_refused(drifts, 4, "y", "see all ");
  std::string triangle = at_rates(1, 2, "apart >= 0 && apart < 6");
  triangle.replace(triangle.find("apart >= 0 &&"), 13,
                "tract_core_trilu(apart, k = 0, upper = false) == apart &&");
  expect_refused(triangle, 4, "y", "does not distinguish");
}

/// Scores of queries against n distances, the last of which is 0, skewed to queries against keys.
std::string shifted(const std::string& seen) {
  return of_positions(str_cat(
      "  far = tract_core_cast(tract_core_range(S - 1, -1, -1), to = 'f32') * 0.01;\n"
      "  r = unsqueeze(far, axes = [0, 1]) * [[[0.5], [-0.25], [0.125], [1.0]]];\n"
      "  d = matmul(x, r);\n"
      "  e = pad(d, padding = [(0, 0), (0, 0), (1, 0)], border = 'constant', value = 0.0);\n"
      "  f = slice(reshape(e, shape = [1, S + 1, S]), axes = [1], begin = [1], end = [S + 1]);\n"
      "  w = softmax(select(", seen, ", s + f, (0.0 - 1.0 / 0.0)), axes = [2]);\n"
      "  y = matmul(w, x);\n"));
}

TEST(Keys, LieAtDistancesBeforeTheirQuery) {
  expect_streams(shifted("apart >= 0 && apart < 4"), {{1, 3, 8}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(shifted("apart > 1 && apart < 9"), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  // The score of a later key belongs to another query.
  expect_refused(shifted("abs(apart) < 4"), 4, "y", "n distances leaves scores of later keys");
  expect_refused(shifted("apart >= -1 && apart < 4"), 4, "y", "scores of later keys");
}

/// Return the delay of attention at a pulse of one frame; -1 if it is refused.
int64_t delay_of(const std::string& seen) {
  const auto streamed = StreamedRun::make(loaded(attention(seen)), 1);
  return streamed.ok() ? streamed->output().delay : -1;
}

// The extent of a mask of any reach and period is proven for all queries, or the mask is refused.
TEST(Keys, AreFoundAtAnyDistance) {
  EXPECT_EQ(delay_of("row / 65536 == column / 65536"), 65535);
  EXPECT_EQ(delay_of("row / 65537 == column / 65537"), -1);
  EXPECT_EQ(delay_of("apart >= 0 && apart < 70001"), 0);
  EXPECT_EQ(delay_of("abs(apart) < 70001"), 70000);
  EXPECT_EQ(delay_of("abs(apart) < 1200001"), -1);
  EXPECT_EQ(delay_of("apart >= 0 && (apart < 3 || column < 70001)"), 0);
  EXPECT_EQ(delay_of("apart >= 0 && (apart < 3 || column < 1200001)"), -1);
}

}  // namespace
}  // namespace rill::test
