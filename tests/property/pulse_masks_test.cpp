// Worked cases of attention under masks of many kinds: constants, rounding, tables, and forms that
// exporters write.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/property/attention_texts.h"
#include "tests/property/pulse_cases.h"
#include "tests/support/sanitized.h"

namespace rill::test {
namespace {

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
                 "queries see all earlier keys");
  const std::string added = root + "  m = scores + select(far >= 40.0, 0.0, -infinity) + "
                                   "select(apart <= 9.0, 0.0, -1000000000.0);\n";
  expect_refused(with_infinity(attention(added)), 4, "y", "may see no key");
  const std::string scaled = apart + "  far = apart * 0.1 * 0.1 * 0.1;\n";
  expect_refused(where("(row >= column) && ((apart < 5.0) || (far > 1.5))", scaled), 4, "y",
                 "all earlier keys");
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
  expect_refused(with_infinity(attention(returning)), 4, "y", "without limit");
  // Rows from about 100 see all earlier keys.
  const std::string late =
      "  m = select((tract_core_cast(row, to = 'f32') * 0.03 > 3.0 || row - column < 3) && "
      "(column <= row), scores, -infinity);\n";
  expect_refused(with_infinity(attention(late)), 4, "y", "without limit");
  // The same holds if the mask hides the first ten keys, or compares keys with twice the row.
  for (const std::string hidden : {"column >= 10", "row * 2 - column > 50 || row - column < 3"}) {
    const std::string mask =
        "  m = select((" + hidden + ") && (column <= row), scores, -infinity);\n";
    expect_refused(with_infinity(attention(mask)), 4, "y", "without limit");
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
  expect_refused(with_infinity(cut(causal, 0)), 4, "y", "without limit");
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

}  // namespace
}  // namespace rill::test
