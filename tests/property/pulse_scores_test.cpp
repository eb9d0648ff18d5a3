// Operators between the scores of attention and their use with the values.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "pulse/attention/skew.h"
#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

/// Self-attention of x [1, S, 4] to each frame and the two before it, with scores times `factor`.
std::string scaled(const std::string& factor) {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n"
                  "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
                  "  near = (row >= column) && (row - column <= 2);\n"
                  "  f = tract_core_cast(column, to = 'f32');\n"
                  "  w = select(near, 0.5, 0.1);\n"
                  "  t = [[[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]]];\n"
                  "  scores = matmul(x * 0.7, x, transposeB = true);\n"
                  "  m = select(near, scores * (" +
                      factor +
                      "), 0.0 - 1.0 / 0.0);\n"
                      "  y = matmul(softmax(m, axes = [2]), x);\n");
}

// The whole run knows all positions; a stream knows them at its end only.
TEST(Scores, TimesNumbersFromAllPositionsAreRefused) {
  for (const char* factor :
       {"sum_reduce(f, axes = [2])", "f / (max_reduce(f, axes = [2]) + 1.0)",
        "w / sum_reduce(w, axes = [2])", "matmul(w, w)",
        "slice(f, axes = [2], begin = [0], end = [1])",
        "slice(f, axes = [2], begin = [S - 1], end = [S])",
        "slice(t, axes = [2], begin = [S - 1], end = [S])"}) {
    SCOPED_TRACE(factor);
    expect_refused(scaled(factor), 4, "node", "between scores and values");
  }
  expect_streams(scaled("f * w"), {{1, 4}, 1, 1, 0, "S"}, 2e-6);
}

/// Causal self-attention of x [1, S, 4] to three frames, whose scores are gathered from products
/// with sines of `distances`, at `places` of `row` and `column`.
std::string gathered(const std::string& distances, const std::string& places) {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n"
                  "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
                  "  d = tract_core_cast(unsqueeze(" +
                      distances +
                      ", axes = [0, 2]), to = 'f32');\n"
                      "  p = sin(d * [[[0.1, 0.4, 0.9, 1.6]]] + [[[0.0, 0.5, 1.0, 1.5]]]);\n"
                      "  s = matmul(x * 0.7, p, transposeB = true);\n"
                      "  scores = tract_core_gather_elements(s, " +
                      places +
                      ", axis = 2);\n"
                      "  near = (row >= column) && (row - column <= 2);\n"
                      "  m = select(near, scores, 0.0 - 1.0 / 0.0);\n"
                      "  y = matmul(softmax(m, axes = [2]), x);\n");
}

TEST(Scores, GatheredAtDifferencesOfPositionsStream) {
  const std::string both = "tract_core_range(1 - S, S, 1)";
  const std::string past = "tract_core_range(0, S, 1)";
  const std::pair<std::string, std::string> shifts[] = {
      {both, "column - row + (S - 1)"},
      {both, "max(S - 1 + row - column, 0)"},
      {"tract_core_range(-3 - S, S, 1)", "(S + 3) - (row - column)"},
      {past, "max(row - column, 0)"},
      {past, "row - column"},
      {"tract_core_range(0, 6, 1)", "max(min(row - column + 3, 5), 0)"}};
  for (const auto& [distances, places] : shifts) {
    SCOPED_TRACE(places);
    expect_streams(gathered(distances, places), {{1, 4}, 1, 1, 0, "S"}, 2e-6);
  }
}

// Exporters merge heads and frames: the places of the queries are repeated for each head.
TEST(Scores, GatheredWithHeadsAndFramesAsOneAxisStream) {
  const auto merged = [](const std::string& rows) {
    return document(
        "1, S, 4",
        "  n = tract_core_range(0, S, 1);\n  row = unsqueeze(n, axes = [0, 1, 3]);\n"
        "  column = unsqueeze(n, axes = [0, 1, 2]);\n  d = tract_core_cast(unsqueeze("
        "tract_core_range(1 - S, S, 1), axes = [0, 1, 3]), to = 'f32');\n"
        "  p = reshape(sin(d * [[[[0.1, 0.4]]], [[[0.9, 1.6]]]]), shape = [1, 2, 2 * S - 1, 2]);\n"
        "  h = transpose(reshape(x, shape = [1, S, 2, 2]), axes = [0, 2, 1, 3]);\n"
        "  s = reshape(matmul(h, p, transposeB = true), shape = [2 * S, 2 * S - 1]);\n"
        "  rows = tile(tract_core_range(S - 1, -1, -1), repeats = [2]);\n"
        "  places = " + rows + " + unsqueeze(n, axes = [0]);\n"
        "  g = tract_core_gather_elements(s, places, axis = 1);\n"
        "  near = (row >= column) && (row - column <= 2);\n"
        "  m = select(near, reshape(g, shape = [1, 2, S, S]), 0.0 - 1.0 / 0.0);\n"
        "  z = matmul(softmax(m, axes = [3]), h);\n"
        "  y = reshape(transpose(z, axes = [0, 2, 1, 3]), shape = [1, S, 4]);\n");
  };
  expect_streams(merged("unsqueeze(rows, axes = [1])"), {{1, 4}, 1, 1, 0, "S"}, 2e-6);
  // The rows of the second head continue those of the first.
  expect_refused(merged("unsqueeze(tract_core_range(2 * S - 1, -1, -1) / 2, axes = [1])"), 4,
                 "node", "between scores and values");
}

TEST(Scores, GatheredAtOtherPlacesAreRefused) {
  const std::string both = "tract_core_range(1 - S, S, 1)";
  for (const char* places : {"column + row", "(row - row) + column", "(column - row) * 2 + S"}) {
    SCOPED_TRACE(places);
    expect_refused(gathered(both, places), 4, "node", "between scores and values");
  }
}

// NumPy: pad by one leading element, reshape, drop the first row, as in Transformer-XL; `tril`
// where keys that follow a query have no scores.
TEST(Scores, ShiftedByPaddingAndReshapes) {
  const auto shifted = [](std::vector<int64_t> shape, bool past_only, int64_t nearest = 2,
                          int64_t step = 1) {
    auto op = draft_op<pulse::RelativeShift>();
    op->nearest = Dim(nearest);
    op->step = step;
    op->past_only = past_only;
    Tensor x = Tensor::zeros(DType::kF32, std::move(shape)).value();
    std::iota(x.mutable_data<float>(), x.mutable_data<float>() + x.volume(), 1.0F);
    Tensor y = Tensor::zeros(DType::kF32, {1, 3, 3}).value();
    const View in[] = {x.view()};
    const View out[] = {y.view()};
    EvalCtx ctx;
    ctx.in = in;
    ctx.out = out;
    EXPECT_TRUE(op->eval(ctx).ok());
    return std::vector<float>(y.data<float>(), y.data<float>() + y.volume());
  };
  EXPECT_EQ(shifted({1, 3, 5}, false), (std::vector<float>{3, 4, 5, 7, 8, 9, 11, 12, 13}));
  EXPECT_EQ(shifted({1, 3, 3}, true), (std::vector<float>{3, 0, 0, 5, 6, 0, 7, 8, 9}));
  // torch.gather at 3 + i - j, and at (i - j).clamp(min=0) under `tril`.
  EXPECT_EQ(shifted({1, 3, 6}, false, 3, -1), (std::vector<float>{4, 3, 2, 11, 10, 9, 18, 17, 16}));
  EXPECT_EQ(shifted({1, 3, 3}, true, 0, -1), (std::vector<float>{1, 0, 0, 5, 4, 0, 9, 8, 7}));
}

}  // namespace
}  // namespace rill::test
