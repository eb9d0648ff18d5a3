#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr const char* kSample = "y = tract_core_grid_sample(x, g);";

// Image and grid are exported with different symbols for the same batch.
TEST(GridSample, OpenBatchesMayBeEqual) {
  const Graph open = graph_of({{"x", "S, 1, 3, 4"}, {"g", "B, 2, 3, B"}}, kSample);
  const Graph fixed = graph_of({{"x", "2, 1, 3, 4"}, {"g", "2, 2, 3, 2"}}, kSample);
  const std::vector<Tensor> inputs = {random_f32(1, {2, 1, 3, 4}), random_f32(2, {2, 2, 3, 2})};
  const auto want = run(fixed, inputs);
  const auto got = run(open, inputs);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  expect_same((*got)[0], (*want)[0]);

  const auto clash = run(open, {inputs[0], random_f32(2, {1, 2, 3, 2})});
  ASSERT_FALSE(clash.ok());
  EXPECT_NE(clash.error().to_string().find("the batches differ"), std::string::npos);
}

}  // namespace
}  // namespace rill::ops::test
