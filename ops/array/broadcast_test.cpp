#include "ops/array/broadcast.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Broadcast, GivesTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 1, 4});
  expect_every_layout(make_op<Broadcast>(std::vector<Dim>{3, 2, 5, 4}), {x});
  expect_every_layout(make_op<Broadcast>(std::vector<Dim>{2, 5, 1}), {x});
}

TEST(Tile, GivesTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 3, 4});
  expect_every_layout(make_op<Tile>(std::vector<Dim>{1, 2, 3}), {x});
  expect_every_layout(make_op<Tile>(std::vector<Dim>{2, 0, 3}), {x});
  expect_every_layout(make_op<Tile>(std::vector<Dim>{1, 2, 3}), {random_f32(1, {2, 0, 4})});
}

TEST(Tile, RepeatsManyAxes) {
  const Tensor x = random_f32(1, {1, 2, 1, 2, 1, 2});
  const Tile op({2, 1, 2, 2, 2, 2});
  const Tensor y = eval(op, {x}).value()[0];
  EXPECT_EQ(y.shape(), (std::vector<int64_t>{2, 2, 2, 4, 2, 4}));
}

TEST(Broadcast, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}};
  expect_load_error(x, "y = tract_core_broadcast(x, shape = [3]);", Code::kShape,
                    "can not broadcast");
  expect_load_error(x, "y = tract_core_broadcast(x, shape = [2, 4]);", Code::kShape,
                    "can not broadcast");
  expect_load_error(x, "y = tile(x, repeats = [2]);", Code::kShape, "expected 2");
  expect_load_error(x, "y = tile(x, repeats = [2, -1]);", Code::kShape, "0 or more");
}

TEST(Tile, OfUnitAxesBecomesABroadcast) {
  const Graph graph = graph_of({{"x", "1, 4"}}, "y = tile(x, repeats = [B, 1]);");
  const Graph simple = declutter(graph).value();
  EXPECT_EQ(simple.nodes.back().op->name(), "MultiBroadcastTo");
  EXPECT_EQ(simple.fact(simple.outputs[0]).to_string(), "B,4,F32");
}

TEST(Tile, TakesRepeatsFromAShape) {
  const Graph graph = graph_of({{"x", "B, 4"}, {"h", "1, 1"}},
                               "s = tract_core_shape_of(x); y = tile(h, repeats = s);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "B,4,F32");
}

TEST(Broadcast, RefusesFramesThatAreRepeatedByTheLengthOfTheStream) {
  const Graph graph =
      graph_of({{"x", "2, S, 1"}}, "y = tract_core_broadcast(x, shape = [2, S, S]);");
  expect_refused(graph, 4, "axis 2");
}

// Positions after P earlier ones, as with a key cache; the first position is P.
TEST(Tile, TakesRepeatsFromANumberOfAnOpenRange) {
  const std::string text =
      "s = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [1], end = [2]), axes = [0]);"
      " p = squeeze(slice(tract_core_shape_of(k), axes = [0], begin = [0], end = [1]), axes = [0]);"
      " all = tract_core_range(p, p + s + 1, step = 1);"
      " first = squeeze(slice(all, axes = [0], begin = [0], end = [1]), axes = [0]);"
      " y = tile(h, repeats = [s, first + s + 1]);";
  const Graph graph = graph_of({{"x", "2, S"}, {"k", "P, 3"}, {"h", "1, 1"}}, text);
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "S,1+P+S,F32");
}

TEST(Broadcast, KeepsTheStreamingAxis) {
  const Graph graph = graph_of({{"x", "1, S"}}, "y = tract_core_broadcast(x, shape = [3, 2, S]);");
  expect_streams(graph, 1, {1, 4}, {1, 9}, {0, 0});
}

TEST(Broadcast, KeepsTheDelayAndTheVirtualPrefix) {
  const Graph delayed = graph_of({{"x", "1, S"}},
                                 "a = slice(x, axes = [1], begin = [2], end = [S]);"
                                 " y = tract_core_broadcast(a, shape = [3, S - 2]);");
  expect_streams(delayed, 1, {1, 4}, {3, 9}, {2, 2});
  const Graph padded = graph_of({{"x", "1, S"}},
                                "a = pad(x, padding = [(0, 0), (2, 0)], value = 2.0);"
                                " b = tract_core_broadcast(a, shape = [3, S + 2]); y = neg(b);");
  expect_streams(padded, 1, {1, 4}, {1, 9});
}

TEST(Broadcast, RepeatsFramesByAReshape) {
  const Graph graph = graph_of({{"x", "S, 1"}},
                               "a = tract_core_broadcast(x, shape = [S, 3]);"
                               " y = reshape(a, shape = [S * 3]);");
  expect_streams(graph, 0, {1, 4}, {1, 9}, {0, 0});
}

TEST(Broadcast, StreamsAStaticValue) {
  const Graph graph = graph_of({{"x", "1, S"}},
                               "t = [[1.0]]; a = tract_core_broadcast(t, shape = [1, S]);"
                               " y = concat([x, a], axis = 0);");
  expect_streams(graph, 1, {1, 2}, {1, 5, 8}, {0, 0});
  // The wire has one frame, or none in an empty stream.
  const Graph shifted =
      graph_of({{"x", "1, S"}},
               "a = tract_core_broadcast([[0.5]], shape = [1, min(S, 1)]);"
               " y = slice(concat([a, x], axis = 1), axes = [1], begin = [0], end = [S]) + x;");
  expect_streams(shifted, 1, {1, 2}, {1, 5, 8}, {0, 0});
  const Graph square = graph_of({{"x", "1, S"}},
                                "t = [[1.0]]; a = tract_core_broadcast(t, shape = [S, S]);"
                                " y = add(x, a);");
  expect_refused(square, 2, "does not stream");
  expect_refused(graph_of({{"x", "1, S"}}, "y = tile(x, repeats = [1, 2]);"), 2, "axis 1");
}

TEST(Broadcast, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "2, 1"}},
                               "a = tract_core_broadcast(x, shape = [3, 2, 4]);"
                               " y = tile(a, repeats = [1, 2, 1]);");
  expect_written_and_read(graph, {random_f32(1, {2, 1})});
}

}  // namespace
}  // namespace rill::ops::test
