// Sums of exponentials under a logarithm, as exporters write them, with infinities. The expected
// numbers are those of PyTorch's logsumexp and logaddexp.

#include <cmath>
#include <limits>

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor rows() {
  return f32({8, 4}, {kInf, 1,     2,   3,     -kInf, -kInf, -kInf, -kInf, kInf, kInf, kInf,
                      kInf, -kInf, 1,   2,     3,     kInf,  -kInf, 0,     1,    kNan, 1,
                      kInf, 2,     300, 300.5, 299,   301,   -3e38, 3e38,  0,    1});
}
Tensor sums(std::vector<int64_t> shape) {
  return f32(std::move(shape), {kInf, -kInf, kInf, 3.4076059F, kInf, kNan, 301.74658F, 3e38F});
}

Tensor run_simplified(const Graph& graph, const std::vector<Tensor>& inputs) {
  return run(declutter(graph).value(), inputs).value()[0];
}

TEST(StableShift, KeepsInfinitiesOfALogarithmOfSums) {
  const Graph squeezed = graph_of({{"x", "8, 4"}},
                                  "m = max_reduce(x, axes = [1]);"
                                  "p = squeeze(sum_reduce(exp(x - m), axes = [1]), axes = [1]);"
                                  "y = squeeze(m, axes = [1]) + log(p);");
  expect_near(run_simplified(squeezed, {rows()}), sums({8}), 0, 3e-6);
  const Graph kept = graph_of({{"x", "8, 4"}},
                              "m = max_reduce(x, axes = [1]);"
                              "y = log(sum_reduce(exp(x - m), axes = [1])) + m;");
  expect_near(run_simplified(kept, {rows()}), sums({8, 1}), 0, 3e-6);
}

TEST(StableShift, KeepsInfinitiesOfOtherTypes) {
  for (const char* type : {"f16", "bf16", "f64"}) {
    const Graph graph = graph_of(
        {{"x", "8, 4"}}, str_cat("h = tract_core_cast(x, to = '", type,
                                 "'); m = max_reduce(h, axes = [1]); y = tract_core_cast("
                                 "log(sum_reduce(exp(h - m), axes = [1])) + m, to = 'f32');"));
    // 3e38 exceeds the range of f16.
    const Tensor got = run_simplified(graph, {rows()});
    for (int64_t i = 0; i < 5; ++i) {
      const float want = sums({8}).data<float>()[i];
      const float value = got.data<float>()[i];
      EXPECT_TRUE(value == want || std::abs(value - want) <= 0.02) << type << " row " << i;
    }
    EXPECT_TRUE(std::isnan(got.data<float>()[5])) << type;
  }
}

TEST(StableShift, KeepsInfinitiesOfAWeightedSum) {
  // One step of a running sum, with the previous maximum and sum.
  const Graph graph = graph_of({{"x", "5"}, {"most", "5"}, {"sum", "5"}},
                               "m = max(x, most);"
                               "y = m + log(sum * exp(most - m) + exp(x - m));");
  const Tensor x = f32({5}, {-kInf, kInf, 1, 2, -kInf});
  const Tensor most = f32({5}, {-kInf, 1, -kInf, kInf, 3});
  const Tensor sum = f32({5}, {0, 2, 0, 1, 2});
  expect_near(run_simplified(graph, {x, most, sum}), f32({5}, {-kInf, kInf, 1, kInf, 3.6931472F}),
              0, 3e-6);
}

TEST(StableShift, KeepsInfinitiesOfSumsOfManyTerms) {
  // The expected sum is computed in f64. For an infinity, torch.logsumexp returns an infinity.
  for (const int terms : {3, 40, 200}) {
    std::string text;
    for (int i = 0; i < terms; ++i) {
      text += str_cat("x", i, " = slice(x, axes = [0], begin = [", i, "], end = [", i + 1, "]);");
      text += i == 0 ? "m0 = x0;" : str_cat("m", i, " = max(m", i - 1, ", x", i, ");");
    }
    for (int i = 0; i < terms; ++i) {
      const std::string power = str_cat("exp(x", i, " - m", terms - 1, ")");
      text +=
          i == 0 ? str_cat("s0 = ", power, ";") : str_cat("s", i, " = s", i - 1, " + ", power, ";");
    }
    text += str_cat("y = m", terms - 1, " + log(s", terms - 1, ");");
    const Graph graph = graph_of({{"x", str_cat(terms)}}, text);
    std::vector<float> values(static_cast<size_t>(terms));
    double want = 0;
    for (int i = 0; i < terms; ++i) {
      values[static_cast<size_t>(i)] = 3.0F + static_cast<float>(i) / 10;
      want += std::exp(static_cast<double>(values[static_cast<size_t>(i)]));
    }
    EXPECT_NEAR(run_simplified(graph, {f32({terms}, values)}).data<float>()[0], std::log(want),
                1e-5);
    values[1] = kInf;
    EXPECT_EQ(run_simplified(graph, {f32({terms}, values)}).data<float>()[0], kInf) << terms;
    values.assign(static_cast<size_t>(terms), -kInf);
    EXPECT_EQ(run_simplified(graph, {f32({terms}, values)}).data<float>()[0], -kInf) << terms;
  }
}

TEST(StableShift, LeavesOtherGraphsAlone) {
  // Without the logarithm, exp(infinity - infinity) stays NaN.
  const Graph graph =
      graph_of({{"x", "8, 4"}}, "y = sum_reduce(exp(x - max_reduce(x, axes = [1])), axes = [1]);");
  const Tensor got = run_simplified(graph, {rows()});
  EXPECT_TRUE(std::isnan(got.data<float>()[0]));
  const Graph stream = graph_of({{"x", "4, S"}},
                                "m = max_reduce(x, axes = [0]);"
                                "y = log(sum_reduce(exp(x - m), axes = [0])) + m;");
  expect_streams(stream, 1, {1, 3}, {1, 2, 7});
}

}  // namespace
}  // namespace rill::ops::test
