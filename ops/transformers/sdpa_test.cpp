#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr const char* kCausal = "y = tract_transformers_sdpa(q, k, v, is_causal = true);";

// The lengths of queries and of keys are open in one graph and numbers in the other.
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

// Queries of open width are as wide as the keys.
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

}  // namespace
}  // namespace rill::ops::test
