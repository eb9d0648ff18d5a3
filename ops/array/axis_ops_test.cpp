#include "ops/array/axis_ops.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

int count_ops(const Graph& graph, std::string_view name) {
  int count = 0;
  for (const Node& node : graph.nodes) count += node.op->name() == name ? 1 : 0;
  return count;
}

TEST(AxisOps, GiveTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 3, 4});
  expect_every_layout(make_op<AddAxis>(1), {x});
  expect_every_layout(make_op<AddAxis>(3), {x});
  expect_every_layout(make_op<RmAxis>(1), {random_f32(2, {2, 1, 4})});
  expect_every_layout(make_op<Transpose>(std::vector<int64_t>{2, 0, 1}), {x});
}

TEST(AxisOps, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}};
  expect_load_error(x, "y = squeeze(x, axes = [1]);", Code::kShape, "expected 1");
  expect_load_error(x, "y = squeeze(x, axes = [2]);", Code::kShape, "no axis 2");
  expect_load_error(x, "y = unsqueeze(x, axes = [3, 3]);", Code::kShape, "leave out an axis");
  expect_load_error(x, "y = unsqueeze(x, axes = [4]);", Code::kShape, "no axis 4");
  expect_load_error(x, "y = transpose(x, axes = [0, 0]);", Code::kShape, "not an order");
  expect_load_error(x, "y = transpose(x, axes = [0, 1, 2]);", Code::kShape, "no axis 2");
  expect_load_error({{"x", "1, 1, 1, 1, 1, 1, 1, 1"}}, "y = unsqueeze(x, axes = [0]);",
                    Code::kShape, "at most 8");
}

TEST(AxisOps, AreAddedInSequence) {
  const Graph graph = graph_of({{"x", "2, 3"}},
                               "y = unsqueeze(x, axes = [0, 0]);"
                               " z = unsqueeze(x, axes = [3, 1]);",
                               "y, z");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "1,1,2,3,F32");
  EXPECT_EQ(graph.fact(graph.outputs[1]).to_string(), "2,1,3,1,F32");
}

TEST(AxisOps, UndoOneAnother) {
  const Graph graph = graph_of({{"x", "B, 3, S"}},
                               "a = unsqueeze(x, axes = [1]); b = squeeze(a, axes = [1]);"
                               " c = transpose(b, axes = [2, 0, 1]);"
                               " y = transpose(c, axes = [1, 2, 0]);");
  const Graph simple = declutter(graph).value();
  EXPECT_EQ(simple.nodes.size(), 1U);
  EXPECT_EQ(simple.outputs[0], simple.inputs[0]);
}

TEST(AxisOps, TwoTransposesBecomeOne) {
  const Graph graph = graph_of({{"x", "2, 3, 4"}},
                               "a = transpose(x, axes = [2, 0, 1]);"
                               " y = transpose(a, axes = [0, 2, 1]);");
  const Graph simple = declutter(graph).value();
  EXPECT_EQ(count_ops(simple, "MoveAxis"), 1);
  expect_same(run(graph, {random_f32(3, {2, 3, 4})}, false).value()[0],
              run(graph, {random_f32(3, {2, 3, 4})}, true).value()[0]);
}

TEST(AxisOps, FollowTheStreamingAxis) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = unsqueeze(x, axes = [0]);"
                               " b = transpose(a, axes = [2, 0, 1]);"
                               " y = squeeze(b, axes = [1]);");
  expect_streams(graph, 1, {1, 3, 8}, {1, 2, 9, 24}, {0, 0, 0});
}

TEST(AxisOps, RefuseToRemoveTheStreamingAxis) {
  expect_refused(graph_of({{"x", "2, S"}}, "y = squeeze(x, axes = [1]);"), 2,
                 "drops streaming axis 1");
}

TEST(AxisOps, AreWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "2, 3"}},
                               "a = unsqueeze(x, axes = [0]);"
                               " b = transpose(a, axes = [2, 0, 1]);"
                               " y = squeeze(b, axes = [1]);");
  expect_written_and_read(graph, {random_f32(4, {2, 3})});
}

}  // namespace
}  // namespace rill::ops::test
