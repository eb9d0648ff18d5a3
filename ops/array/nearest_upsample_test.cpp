#include "ops/array/nearest_upsample.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

const NearestUpsample* only_op(const Graph& graph) {
  const NearestUpsample* found = nullptr;
  for (const Node& node : graph.nodes) {
    if (const auto* op = node.op->as<NearestUpsample>()) found = op;
    if (!node.op->as<NearestUpsample>() && node.op->name() != "Source") return nullptr;
  }
  return found;
}

/// Repeat axis 1 of [B, H, W] by 2, then axis 2 by 3.
constexpr const char* kTwoAxes =
    "a = reshape(tract_core_broadcast(unsqueeze(x, axes = [2]), shape = [2, 3, 2, 5]),"
    " shape = [2, 6, 5]);"
    " y = reshape(tract_core_broadcast(unsqueeze(a, axes = [3]), shape = [2, 6, 5, 3]),"
    " shape = [2, 6, 15]);";

TEST(NearestUpsample, ReplacesAddedRepeatedAndMergedAxes) {
  const Graph graph = graph_of({{"x", "2, 3, 5"}}, kTwoAxes);
  const Graph fused = fuse(declutter(graph).value()).value();
  const NearestUpsample* op = only_op(fused);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->scales, (std::vector<int64_t>{1, 2, 3}));
  const std::vector<Tensor> x = {random_f32(1, {2, 3, 5})};
  const auto plain = run(graph, x, false);
  const auto fast = run(graph, x, true);
  ASSERT_TRUE(plain.ok() && fast.ok());
  expect_same((*fast)[0], (*plain)[0]);
  EXPECT_EQ((*fast)[0].values<float>()[(1 * 6 + 5) * 15 + 14],
            x[0].values<float>()[(1 * 3 + 2) * 5 + 4]);
}

TEST(NearestUpsample, ReadsEveryLayout) {
  auto op = draft_op<NearestUpsample>();
  op->scales = {2, 1, 3};
  expect_every_layout(op, {random_f32(2, {2, 3, 4})});
}

TEST(NearestUpsample, DoesNotReplaceRepeatsOnTheFirstAxis) {
  const Graph tiled =
      graph_of({{"x", "2, 3"}},
               "y = reshape(tract_core_broadcast(unsqueeze(x, axes = [1]), shape = [2, 4, 3]),"
               " shape = [2, 12]);");
  EXPECT_EQ(only_op(fuse(declutter(tiled).value()).value()), nullptr);
}

}  // namespace
}  // namespace rill::ops::test
