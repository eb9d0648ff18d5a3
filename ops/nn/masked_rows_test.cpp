// Scaling, masking and softmax become one step of a plan, with the bits of the three steps.

#include <limits>

#include "core/exec/plan.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr const char* kFused = "ScaledMaskedSoftmax";

size_t count_of(const Graph& graph, std::string_view op) {
  const auto plan = prepare(graph);
  EXPECT_TRUE(plan.ok()) << plan.error().to_string();
  if (!plan.ok()) return 0;
  size_t count = 0;
  for (const PlanNode& node : (*plan)->nodes) count += node.op == op ? 1 : 0;
  return count;
}

void expect_fused(const std::vector<Input>& inputs, std::string_view statements,
                  const std::vector<Tensor>& values) {
  SCOPED_TRACE(statements);
  const Graph graph = graph_of(inputs, statements);
  const auto want = run(graph, values, false);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  const auto got = run(graph, values);
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  expect_same((*got)[0], (*want)[0]);
  EXPECT_EQ(count_of(graph, kFused), 1U);
  EXPECT_EQ(count_of(graph, "Softmax"), 0U);
}

TEST(MaskedRows, OfEveryShapeOfMask) {
  const Tensor x = random_f32(1, {2, 3, 4, 5});
  const std::vector<std::vector<int64_t>> masks = {{2, 3, 4, 5}, {1, 1, 4, 5}, {2, 1, 1, 5},
                                                   {1, 3, 4, 1}, {1, 1, 1, 1}, {1, 1, 1, 5}};
  for (const auto& shape : masks) {
    const std::string dims = str_cat(shape[0], ", ", shape[1], ", ", shape[2], ", ", shape[3]);
    for (const char* text : {"y = softmax(x * 0.125 + m, axes = [3]);",
                             "y = softmax(m + (-3.0) * x, axes = [3]);"}) {
      expect_fused({{"x", "2, 3, 4, 5"}, {"m", dims}}, text, {x, random_f32(2, shape)});
    }
  }
}

TEST(MaskedRows, OfEveryLayout) {
  const Tensor x = random_f32(3, {2, 3, 4});
  for (const char* order : {"0, 1, 2", "2, 1, 0", "1, 0, 2", "0, 2, 1"}) {
    const std::string text = str_cat("a = transpose(x, axes = [", order,
                                     "]); b = transpose(m, axes = [", order,
                                     "]); y = softmax(a * 0.5 + b, axes = [2]);");
    expect_fused({{"x", "2, 3, 4"}, {"m", "2, 3, 4"}}, text, {x, random_f32(4, {2, 3, 4})});
  }
}

TEST(MaskedRows, OfMoreRowsThanAreDoneTogether) {
  const char* text = "y = softmax(x * 0.25 + m, axes = [2]);";
  expect_fused({{"x", "2, 70, 130"}, {"m", "1, 70, 130"}}, text,
               {random_f32(5, {2, 70, 130}), random_f32(6, {1, 70, 130})});
  expect_fused({{"x", "9000"}, {"m", "9000"}}, "y = softmax(x * 0.25 + m, axes = [0]);",
               {random_f32(7, {9000}), random_f32(8, {9000})});
}

TEST(MaskedRows, OfMaskedElements) {
  const float inf = std::numeric_limits<float>::infinity();
  const Graph graph = graph_of({{"x", "2, 3"}, {"m", "2, 3"}},
                               "y = softmax(x * 0.5 + m, axes = [1]);");
  const auto got =
      run(graph, {f32({2, 3}, {2, 2, 5, 1, 7, 9}), f32({2, 3}, {0, 0, -inf, 0, -inf, -inf})});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  expect_near((*got)[0], f32({2, 3}, {0.5F, 0.5F, 0, 1, 0, 0}), 1e-7, 0);
}

TEST(MaskedRows, IsNotFusedWhereOthersReadTheScores) {
  const Graph graph = graph_of({{"x", "2, 3"}, {"m", "2, 3"}},
                               "s = x * 0.5 + m; y = softmax(s, axes = [1]);", "y, s");
  EXPECT_EQ(count_of(graph, kFused), 0U);
  const Graph other = graph_of({{"x", "2, 3"}, {"m", "2, 3"}},
                               "y = softmax(x * 0.5 + m, axes = [0]);");
  EXPECT_EQ(count_of(other, kFused), 0U);
}

TEST(MaskedRows, Streams) {
  const Graph graph =
      graph_of({{"x", "S, 12"}}, "y = softmax(x * 0.5 + x, axes = [1]);");
  expect_streams(graph, 0, {1, 3, 8}, {1, 9}, {0, 0, 0});
}

}  // namespace
}  // namespace rill::ops::test
