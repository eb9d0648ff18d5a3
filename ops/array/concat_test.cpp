#include "ops/array/concat.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Concat, GivesTheSameInEveryLayout) {
  const auto op = make_op<Concat>(1);
  expect_every_layout(
      op, {random_f32(1, {2, 3, 4}), random_f32(2, {2, 0, 4}), random_f32(3, {2, 5, 4})});
}

TEST(Concat, RefusalsNameTheCause) {
  const std::vector<Input> ab = {{"a", "2, 3"}, {"b", "3, 3"}};
  expect_load_error(ab, "y = concat([a, b], axis = 1);", Code::kShape, "axis 0 differ");
  expect_load_error(ab, "y = concat([a, b], axis = 2);", Code::kShape, "no axis 2");
  expect_load_error(ab, "y = concat([], axis = 0);", Code::kShape, "found none");
  expect_load_error({{"a", "2, 3"}, {"b", "3"}}, "y = concat([a, b], axis = 0);", Code::kShape,
                    "one rank");
}

TEST(Unstack, RefusalsNameTheCause) {
  expect_load_error({{"x", "S"}}, "[y] = unstack(x, axis = 0);", Code::kSymbol, "S");
  expect_load_error({{"x", "5000, 1"}}, "[y] = unstack(x, axis = 0);", Code::kShape, "4096");
}

TEST(Concat, OfOneIsItsInput) {
  EXPECT_EQ(declutter(graph_of({{"x", "2, S"}}, "y = concat([x], axis = 1);")).value().nodes.size(),
            1U);
}

TEST(Concat, AddsSymbolicExtents) {
  const Graph graph = graph_of({{"a", "B, S"}, {"b", "B, 3"}}, "y = concat([a, b, a], axis = 1);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "B,3+2*S,F32");
}

TEST(Concat, JoinsOtherAxesInEachPulse) {
  const Graph graph = graph_of({{"x", "2, S"}}, "a = neg(x); y = concat([x, a], axis = 0);");
  expect_streams(graph, 1, {1, 4}, {1, 9}, {0, 0});
}

TEST(Concat, BringsBranchesToOneDelay) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = slice(x, axes = [1], begin = [2], end = [S]);"
                               " b = slice(x, axes = [1], begin = [0], end = [S - 2]);"
                               " y = concat([a, b], axis = 0);");
  expect_streams(graph, 1, {1, 4}, {3, 9}, {2, 2});
}

TEST(Concat, PutsConstantFramesBeforeAStream) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "z = [[0.5, 0.5], [-1.0, -1.0]];"
                               " a = concat([z, x], axis = 1); y = neg(a);");
  expect_streams(graph, 1, {1, 2, 3}, {1, 2, 9});
}

TEST(Concat, PutsConstantFramesAfterAStream) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "z = [[0.5, 0.5], [0.5, 0.5]]; o = [[1.0], [1.0]];"
                               " a = slice(x, axes = [1], begin = [3], end = [S]);"
                               " y = concat([o, a, z], axis = 1);");
  expect_streams(graph, 1, {1, 2, 5}, {4, 5, 11}, {2, 2, 2});
}

TEST(Concat, JoinsDistinctFramesButNotTwoStreams) {
  expect_streams(graph_of({{"x", "1, S"}}, "z = [[1.0, 2.0]]; y = concat([z, x], axis = 1);"), 1,
                 {1, 2}, {1, 5, 8}, {0, 0});
  expect_refused(graph_of({{"x", "1, S"}}, "a = neg(x); y = concat([a, x], axis = 1);"), 2,
                 "both stream");
}

TEST(Concat, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"a", "2, 3"}, {"b", "2, 1"}},
                               "c = concat([a, b], axis = 1); y = stack([c, c], axis = 0);");
  expect_written_and_read(graph, {random_f32(1, {2, 3}), random_f32(2, {2, 1})});
}

}  // namespace
}  // namespace rill::ops::test
