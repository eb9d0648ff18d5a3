// Random numbers have no known answers, but their moments are known.

#include <algorithm>
#include <cmath>

#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr int64_t kCount = 40000;

Tensor drawn(std::string_view dist, std::string_view parameters, std::string_view more,
             std::string_view dtype = "f32") {
  const Graph graph = graph_of(
      {{"x", "1"}}, str_cat("y = tract_onnx_random(datum_type = '", dtype, "', shape = [", kCount,
                            "], dist = '", dist, "', parameters = [", parameters, "]", more, ");"));
  const auto out = run(graph, {f32({1}, {0.0F})});
  EXPECT_TRUE(out.ok()) << out.error().to_string();
  return (*out)[0];
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(const Tensor& values) {
  Moments m;
  for (int64_t i = 0; i < values.volume(); ++i) m.mean += element_as_double(values, i).value();
  m.mean /= static_cast<double>(values.volume());
  for (int64_t i = 0; i < values.volume(); ++i) {
    m.variance += std::pow(element_as_double(values, i).value() - m.mean, 2);
  }
  m.variance /= static_cast<double>(values.volume() - 1);
  return m;
}

// Standard errors: of a mean, sigma / sqrt(n); of a variance, sigma^2 sqrt((kurtosis - 1) / n). The
// bound is five standard errors: wrong once in a million generators, and these are seeded.

TEST(Random, UniformNumbersFillTheirInterval) {
  const Tensor values = drawn("uniform", "-1.0, 3.0", ", seed = 5");
  const auto [least, most] =
      std::minmax_element(values.data<float>(), values.data<float>() + values.volume());
  EXPECT_GE(*least, -1.0F);
  EXPECT_LT(*most, 3.0F);
  const double variance = 16.0 / 12.0;
  const Moments m = moments(values);
  EXPECT_NEAR(m.mean, 1.0, 5 * std::sqrt(variance / kCount));
  EXPECT_NEAR(m.variance, variance, 5 * variance * std::sqrt((1.8 - 1) / kCount));
}

TEST(Random, NormalNumbersHaveTheirDeviation) {
  for (const char* dtype : {"f32", "f16", "f64"}) {
    const Moments m = moments(drawn("normal", "2.0, 0.5", ", seed = 9", dtype));
    EXPECT_NEAR(m.mean, 2.0, 5 * 0.5 / std::sqrt(kCount)) << dtype;
    EXPECT_NEAR(m.variance, 0.25, 5 * 0.25 * std::sqrt(2.0 / kCount)) << dtype;
  }
}

TEST(Random, EqualSeedsGiveEqualNumbers) {
  expect_same(drawn("uniform", "0.0, 1.0", ", seed = 5"),
              drawn("uniform", "0.0, 1.0", ", seed = 5"));
  const Tensor other = drawn("uniform", "0.0, 1.0", ", seed = 6");
  EXPECT_FALSE(drawn("uniform", "0.0, 1.0", ", seed = 5").same_bits(other));
  EXPECT_FALSE(drawn("uniform", "0.0, 1.0", "").same_bits(drawn("uniform", "0.0, 1.0", "")));
}

TEST(Random, NodesWithoutASeedDrawDifferentNumbers) {
  const std::string call =
      "tract_onnx_random(datum_type = 'f32', shape = [64], dist = 'normal',"
      " parameters = [0.0, 1.0]";
  const std::string classes = "tract_onnx_multinomial(x, sample_size = 64";
  const std::vector<std::pair<std::string, std::string>> calls = {{call, ", seed = 3)"},
                                                                  {classes, ", seed = 3.0)"}};
  for (const auto& [own, seed] : calls) {
    for (const bool seeded : {false, true}) {
      const std::string drawn = own + (seeded ? seed : ")");
      const Graph graph = graph_of({{"x", "1, 9"}}, str_cat("a = ", drawn, ";\n  b = ", drawn, ";"),
                                   "a, b");
      const auto out = run(graph, {f32({1, 9}, std::vector<float>(9, 0.0F))});
      ASSERT_TRUE(out.ok()) << out.error().to_string();
      EXPECT_EQ((*out)[0].same_bits((*out)[1]), seeded) << drawn;
    }
  }
}

TEST(Random, ClassesAreDrawnByTheirProbabilities) {
  const Graph graph =
      graph_of({{"x", "1, 3"}},
               str_cat("y = tract_onnx_multinomial(x, sample_size = ", kCount, ", seed = 2.0);"));
  const float weights[] = {1.0F, 3.0F, 4.0F};
  const auto out = run(graph, {f32({1, 3}, {0.0F, std::log(3.0F), std::log(4.0F)})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  double counts[3] = {};
  for (const int32_t drawn_class : (*out)[0].values<int32_t>()) {
    ASSERT_TRUE(drawn_class >= 0 && drawn_class < 3);
    ++counts[drawn_class];
  }
  for (int i = 0; i < 3; ++i) {
    const double p = weights[i] / 8.0;
    EXPECT_NEAR(counts[i] / kCount, p, 5 * std::sqrt(p * (1 - p) / kCount));
  }
}

TEST(Random, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}, {"i", "2, 3", "i64"}};
  expect_load_error(x,
                    "y = tract_onnx_random(datum_type = 'i32', shape = [2], dist = 'uniform',"
                    " parameters = [0.0, 1.0]);",
                    Code::kDType, "I32");
  expect_load_error(x,
                    "y = tract_onnx_random(datum_type = 'f32', shape = [2], dist = 'cauchy',"
                    " parameters = [0.0, 1.0]);",
                    Code::kArg, "cauchy");
  expect_load_error(x,
                    "y = tract_onnx_random(datum_type = 'f32', shape = [2], dist = 'uniform',"
                    " parameters = [1.0, 1.0]);",
                    Code::kShape, "parameters 1 and 1");
  expect_load_error(x, "y = tract_onnx_multinomial(i);", Code::kDType, "floats");
  expect_load_error(x, "y = tract_onnx_multinomial(x, dtype = 1);", Code::kShape, "dtype 1");
}

}  // namespace
}  // namespace rill::ops::test
