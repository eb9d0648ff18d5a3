#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

// The cache has a symbolic length; the mask of the new queries begins after it.
TEST(Trilu, TheDiagonalMayBeAnExpressionOfSymbols) {
  const std::vector<Input> inputs = {{"x", "2, 3, T"}, {"cache", "P, 1"}};
  const Graph open =
      graph_of(inputs,
               "s = tract_core_shape_of(cache);"
               "p = squeeze(slice(s, axes = [0], begin = [0], end = [1]), axes = [0]);"
               "y = tract_core_trilu(x, upper = true, k = p + 1);");
  for (const int64_t held : {0, 1, 4}) {
    SCOPED_TRACE(held);
    const Graph fixed =
        graph_of(inputs, str_cat("y = tract_core_trilu(x, upper = true, k = ", held + 1, ");"));
    const std::vector<Tensor> given = {random_f32(1, {2, 3, 3 + held}), random_f32(2, {held, 1})};
    const auto want = run(fixed, given);
    const auto got = run(open, given);
    ASSERT_TRUE(want.ok()) << want.error().to_string();
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    expect_same((*got)[0], (*want)[0]);
  }
}

// The mask itself may be a constant with fixed extents, but is not folded before the diagonal is
// known.
TEST(Trilu, OfAConstantWaitsForItsDiagonal) {
  const std::vector<Input> inputs = {{"x", "3, P"}};
  const Graph open =
      graph_of(inputs,
               "s = tract_core_shape_of(x);"
               "p = squeeze(slice(s, axes = [0], begin = [1], end = [2]), axes = [0]);"
               "m = tract_core_trilu([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0],"
               " [7.0, 8.0, 9.0]], upper = false, k = p - 3);"
               "y = matmul(m, x);");
  const Graph fixed =
      graph_of(inputs, "y = matmul([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], x);");
  const std::vector<Tensor> given = {random_f32(1, {3, 4})};
  const auto want = run(fixed, given);
  const auto got = run(open, given);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  expect_same((*got)[0], (*want)[0]);
}

}  // namespace
}  // namespace rill::ops::test
