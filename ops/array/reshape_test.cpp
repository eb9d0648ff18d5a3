#include "ops/array/reshape.h"

#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/array/groups.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Reshape, GivesTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 6, 4});
  for (const std::vector<Dim>& to :
       {std::vector<Dim>{12, 4}, {2, 24}, {48}, {2, 3, 2, 4}, {1, 2, 6, 1, 4}, {4, 2, 6}}) {
    expect_every_layout(make_op<Reshape>(0, 3, to), {x});
  }
}

TEST(Reshape, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}};
  expect_load_error(x, "y = reshape(x, shape = [4, 2]);", Code::kShape, "volumes are 6 and 8");
  expect_load_error(x, "y = reshape(x, shape = [-1, -1]);", Code::kShape, "at most one");
  expect_load_error(x, "y = reshape(x, shape = [4, -1]);", Code::kShape, "can not divide 6");
  expect_load_error(x, "y = reshape(x, shape = [2, 3, 0]);", Code::kShape, "no axis 2");
  expect_load_error(x, "y = reshape(x, shape = [2, 3], axis_start = 3);", Code::kShape,
                    "axis_start = 3");
  expect_load_error(x, "y = reshape(x, shape = [2, 3], axis_count = 7);", Code::kShape,
                    "axis_count = 7");
  expect_load_error(x, "y = reshape(x, shape = [2, -7]);", Code::kShape, "");
}

TEST(Reshape, DividesSymbolicExtents) {
  const Graph graph = graph_of({{"x", "B, S, 64"}},
                               "y = reshape(x, shape = [0, -1, 4, 16]);"
                               " z = reshape(x, shape = [B * S, -1]);",
                               "y, z");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "B,S,4,16,F32");
  EXPECT_EQ(graph.fact(graph.outputs[1]).to_string(), "B*S,64,F32");
}

TEST(Reshape, ChecksSymbolicVolumesOnceTheyAreNumbers) {
  const Graph graph = graph_of({{"x", "S, 4"}}, "y = reshape(x, shape = [S / 2, 8]);");
  EXPECT_TRUE(run(graph, {random_f32(2, {6, 4})}).ok());
  const auto odd = run(graph, {random_f32(2, {5, 4})});
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().code, Code::kShape);
}

TEST(Reshape, RefusesOpenVolumesThatNeverFit) {
  const std::vector<Input> x = {{"x", "S, 4, 5"}};
  expect_load_error(x, "y = reshape(x, shape = [30]);", Code::kShape, "volumes are 20*S and 30");
  expect_load_error({{"x", "6"}}, "y = reshape(x, shape = [S, 4]);", Code::kShape,
                    "volumes are 6 and 4*S");
  EXPECT_EQ(graph_of(x, "y = reshape(x, shape = [60]);").nodes.size(), 2U);
  EXPECT_EQ(graph_of({{"x", "S, 0, 5"}}, "y = reshape(x, shape = [0, 7]);").nodes.size(), 2U);
}

TEST(Reshape, ThatDropsASymbolicAxisIsWrittenAndReadBack) {
  Graph graph;
  const OutletId x = graph.add_source("x", Fact::of(DType::kF32, {Dim::symbol("S"), Dim(3)}));
  const OutletId y = graph.add("y", make_op<Reshape>(0, 1, std::vector<Dim>{}), {x}).value()[0];
  graph.add_output("y", y);
  expect_written_and_read(graph, {random_f32(3, {1, 3})});
}

TEST(Reshape, IsSimplified) {
  const Graph graph = graph_of({{"x", "B, 6, S"}},
                               "a = reshape(x, shape = [B, 2, 3, S]);"
                               " y = reshape(a, shape = [B, 6, S]);");
  EXPECT_EQ(declutter(graph).value().nodes.size(), 1U);
  const Graph kept = graph_of({{"x", "B, 6, S"}}, "y = reshape(x, shape = [B, 2, 3, S]);");
  const Graph simple = declutter(kept).value();
  const auto* op = simple.node(simple.outputs[0].node).op->as<Reshape>();
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->axis, 1);
  EXPECT_EQ(op->count, 1);
}

TEST(AxisGroups, SplitTwoShapesIntoTheSmallestGroups) {
  const Dim s = Dim::symbol("S");
  const std::vector<Dim> from = {2, s, 12, 5};
  const std::vector<Dim> to = {2, s, 3, 4, 5};
  const auto groups = axis_groups(from, to);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[2].from_end - groups[2].from_begin, 1);
  EXPECT_EQ(groups[2].to_end - groups[2].to_begin, 2);
}

TEST(AxisGroups, GiveTrailingUnitAxesToTheLastGroup) {
  const std::vector<Dim> from = {4, 1, 1};
  const std::vector<Dim> to = {4};
  const auto groups = axis_groups(from, to);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].from_end, 3);
  EXPECT_TRUE(axis_groups({}, {}).empty());
}

// Between the reshapes, a permutation uses axes that the upstream shape does not have.
TEST(Reshape, IsUndoneAroundElementwiseOperatorsOnly) {
  const Graph graph = graph_of({{"x", "1, 2, 2*S"}},
                               "v0 = reshape(x, shape = [-1, 2], axis_start = 2, axis_count = 1);"
                               " v1 = transpose(v0, axes = [0, 1, 3, 2]);"
                               " v2 = reshape(v1, shape = [4], axis_start = 1, axis_count = 2);"
                               " v3 = reshape(v2, shape = [2, 2], axis_start = 1, axis_count = 1);"
                               " v4 = transpose(v3, axes = [0, 1, 3, 2]);"
                               " v5 = reshape(v4, shape = [-1], axis_start = 2, axis_count = 2);"
                               " y = v5 + reshape(v2, shape = [1, 2, 2 * S]);");
  const auto simple = declutter(graph);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  const Tensor x = random_f32(1, {1, 2, 6});
  expect_same(run(*simple, {x}).value()[0], run(graph, {x}).value()[0]);
}

TEST(Reshape, KeepsTheStreamOnAnAxisThatItDoesNotTouch) {
  const Graph graph = graph_of({{"x", "2, S, 6"}}, "y = reshape(x, shape = [2, S, 3, 2]);");
  expect_streams(graph, 1, {1, 4}, {1, 4, 7}, {0, 0});
}

TEST(Reshape, MergesAxesAfterTheStreamingOne) {
  const Graph graph = graph_of({{"x", "1, S, 3"}}, "y = reshape(x, shape = [1, S * 3]);");
  expect_streams(graph, 1, {1, 4}, {1, 4, 7}, {0, 0});
}

TEST(Reshape, SplitsTheStreamingAxis) {
  const Graph graph = graph_of({{"x", "1, S"}}, "y = reshape(x, shape = [1, S / 4, 4]);");
  expect_streams(graph, 1, {4, 12}, {4, 8, 28}, {0, 0});
}

TEST(Reshape, DelaysTheStreamToAWholeGroup) {
  // The slice drops one frame, so a group begins at a position of 1 modulo 2.
  const Graph graph = graph_of({{"x", "1, S"}},
                               "a = slice(x, axes = [1], begin = [1], end = [S]);"
                               " y = reshape(a, shape = [1, (S - 1) / 2, 2]);");
  expect_streams(graph, 1, {2, 6}, {3, 7, 9, 25}, {1, 1});
}

TEST(Reshape, KeepsAVirtualPrefixOfZeros) {
  const Graph graph = graph_of({{"x", "1, S, 2"}},
                               "a = pad(x, padding = [(0, 0), (2, 0), (0, 0)]);"
                               " b = reshape(a, shape = [1, (S + 2) * 2]); y = neg(b);");
  expect_streams(graph, 1, {1, 3}, {1, 4, 7});
}

TEST(Reshape, RefusesToMergeAnAxisBeforeTheStream) {
  expect_refused(graph_of({{"x", "2, S"}}, "y = reshape(x, shape = [2 * S]);"), 4, "merged with");
}

TEST(Reshape, RefusesAPulseThatDoesNotFillAGroup) {
  expect_refused(graph_of({{"x", "1, S"}}, "y = reshape(x, shape = [1, S / 4, 4]);"), 6,
                 "does not fill");
}

TEST(Reshape, IsWrittenWithoutAnEmptyShape) {
  const Graph graph = graph_of({{"x", "2, 1, 1, 12"}},
                               "y = reshape(x, shape = [], axis_start = 1, axis_count = 2);");
  const std::string text = rill::nnef::graph_text(graph).value();
  EXPECT_NE(text.find("squeeze(x, axes = [1, 2])"), std::string::npos) << text;
  expect_written_and_read(graph, {random_f32(5, {2, 1, 1, 12})});
}

TEST(Reshape, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "2, 12"}}, "y = reshape(x, shape = [2, 3, 4]);");
  expect_written_and_read(graph, {random_f32(5, {2, 12})});
}

}  // namespace
}  // namespace rill::ops::test
