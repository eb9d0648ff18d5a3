#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/array/cast.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr const char* kCausal = "y = tract_transformers_sdpa(q, k, v, is_causal = true);";

// In one graph the lengths of queries and keys are symbolic, in the other they are numbers.
TEST(Sdpa, CausalLimitsOfOpenLengthsAreThoseOfNumbers) {
  const Graph open =
      graph_of({{"q", "1, 4, S, 8"}, {"k", "1, 2, B, 8"}, {"v", "1, 2, B, 8"}}, kCausal);
  for (const auto& [queries, keys] : {std::pair{1, 1}, {1, 6}, {3, 3}, {3, 7}}) {
    SCOPED_TRACE(str_cat(queries, " queries, ", keys, " keys"));
    const std::string k = str_cat("1, 2, ", keys, ", 8");
    const Graph fixed =
        graph_of({{"q", str_cat("1, 4, ", queries, ", 8")}, {"k", k}, {"v", k}}, kCausal);
    const std::vector<Tensor> inputs = {random_f32(1, {1, 4, queries, 8}),
                                        random_f32(2, {1, 2, keys, 8}),
                                        random_f32(3, {1, 2, keys, 8})};
    const auto want = run(fixed, inputs);
    const auto got = run(open, inputs);
    ASSERT_TRUE(want.ok()) << want.error().to_string();
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    expect_same((*got)[0], (*want)[0]);
  }
}

// The symbolic width of queries equals that of the keys.
TEST(Sdpa, TheScaleIsThatOfTheKeysWidth) {
  constexpr const char* kPlain = "y = tract_transformers_sdpa(q, k, v);";
  const Graph open =
      graph_of({{"q", "1, 2, 3, S"}, {"k", "1, 2, 4, 8"}, {"v", "1, 2, 4, 5"}}, kPlain);
  const Graph fixed =
      graph_of({{"q", "1, 2, 3, 8"}, {"k", "1, 2, 4, 8"}, {"v", "1, 2, 4, 5"}}, kPlain);
  const std::vector<Tensor> inputs = {random_f32(1, {1, 2, 3, 8}), random_f32(2, {1, 2, 4, 8}),
                                      random_f32(3, {1, 2, 4, 5})};
  const auto want = run(fixed, inputs);
  const auto got = run(open, inputs);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  expect_same((*got)[0], (*want)[0]);
}

// Scores of f16 numbers exceed the range of f16, but the weights computed from them do not.
TEST(Sdpa, ScoresOfHalfNumbersMayLeaveTheirRange) {
  constexpr int64_t kFrames = 6, kWidth = 64;
  const char* const texts[] = {
      "y = tract_transformers_sdpa(q, k, v, datum_type = 'f16', acc_datum_type = 'f16');",
      "y = matmul(softmax(matmul(q, k, transposeB = true) * 0.125, axes = [2]), v);"};
  for (const double amplitude : {30.0, 330.0, 1000.0}) {
    std::vector<Tensor> inputs;
    std::vector<std::vector<double>> x;
    for (const uint64_t seed : {1U, 2U, 3U}) {
      const Tensor noise = random_f32(seed, {1, kFrames, kWidth});
      std::vector<double>& numbers = x.emplace_back();
      for (const float each : noise.values<float>()) {
        numbers.push_back(std::round(static_cast<double>(each) * amplitude / 4) * 4);
      }
      const auto wide = Tensor::of<double>(DType::kF64, noise.shape(), numbers);
      inputs.push_back(cast(*wide, DType::kF16).value());
      // The reference reads the numbers after rounding them to f16.
      const Tensor read = cast(inputs.back(), DType::kF64).value();
      numbers.assign(read.values<double>().begin(), read.values<double>().end());
    }
    for (const char* text : texts) {
      SCOPED_TRACE(str_cat(text, " at ", static_cast<float>(amplitude)));
      const auto got = run(graph_of({{"q", "1, 6, 64", "f16"}, {"k", "1, 6, 64", "f16"},
                                     {"v", "1, 6, 64", "f16"}}, text), inputs);
      ASSERT_TRUE(got.ok()) << got.error().to_string();
      const Tensor numbers = cast((*got)[0], DType::kF64).value();
      for (int64_t i = 0; i < kFrames; ++i) {
        std::vector<double> scores(kFrames);
        for (int64_t j = 0; j < kFrames; ++j) {
          for (int64_t c = 0; c < kWidth; ++c) {
            scores[static_cast<size_t>(j)] += x[0][static_cast<size_t>(i * kWidth + c)] *
                                              x[1][static_cast<size_t>(j * kWidth + c)] / 8;
          }
        }
        const double most = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& score : scores) sum += score = std::exp(score - most);
        for (int64_t c = 0; c < kWidth; ++c) {
          double want = 0;
          for (int64_t j = 0; j < kFrames; ++j) {
            want += scores[static_cast<size_t>(j)] / sum *
                    x[2][static_cast<size_t>(j * kWidth + c)];
          }
          // Half a unit of f16 at the largest value, and the error of exponentials in f32.
          EXPECT_NEAR(numbers.values<double>()[static_cast<size_t>(i * kWidth + c)], want,
                      amplitude * 4 / 1024);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rill::ops::test
