#include "ops/array/pad.h"

#include <cmath>

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TensorPtr value(float number) { return std::make_shared<const Tensor>(Tensor::scalar(number)); }

TEST(Pad, GivesTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 3, 4});
  const Pads pads = {{1, 0}, {2, 2}, {0, 3}};
  expect_every_layout(make_op<Pad>(pads, "constant", value(7.5F)), {x});
  expect_every_layout(make_op<Pad>(pads, "replicated", value(0)), {x});
  expect_every_layout(make_op<Pad>(Pads{{1, 0}, {2, 2}, {0, 3}}, "reflect", value(0)), {x});
  expect_every_layout(make_op<Pad>(pads, "constant", value(1)), {random_f32(1, {2, 0, 4})});
}

TEST(Pad, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}};
  expect_load_error(x, "y = pad(x, padding = [(1, 1)]);", Code::kShape, "expected 2 pairs");
  expect_load_error(x, "y = pad(x, padding = [(0, 0), (-1, 1)]);", Code::kShape, "0 or more");
  expect_load_error(x, "y = pad(x, padding = [(0, 0), (1, 1)], border = 'wrap');",
                    Code::kUnsupported, "wrap");
  expect_load_error(x, "y = pad(x, padding = [(0, 0), (3, 0)], border = 'reflect');", Code::kShape,
                    "needs an extent of 4");
  expect_load_error({{"x", "0"}}, "y = pad(x, padding = [(1, 0)], border = 'edge');", Code::kShape,
                    "needs an extent of 1");
}

TEST(Pad, IsSimplified) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = pad(x, padding = [(0, 0), (0, 0)]);"
                               " b = pad(a, padding = [(0, 0), (1, 0)]);"
                               " y = pad(b, padding = [(0, 0), (1, 2)]);");
  const Graph simple = declutter(graph).value();
  ASSERT_EQ(simple.nodes.size(), 2U);
  EXPECT_EQ(simple.nodes[1].op->as<Pad>()->pads, (Pads{{0, 0}, {2, 2}}));
}

TEST(Pad, BeforeAStreamHasNoDelay) {
  const Graph graph =
      graph_of({{"x", "2, S"}}, "a = pad(x, padding = [(0, 0), (3, 0)], value = 1.5); y = exp(a);");
  expect_streams(graph, 1, {1, 2, 5}, {1, 4, 11});
}

TEST(Pad, BeforeAStreamReducesTheDelay) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = slice(x, axes = [1], begin = [3], end = [S]);"
                               " y = pad(a, padding = [(0, 0), (2, 0)], value = -4.0);");
  expect_streams(graph, 1, {1, 2, 5}, {4, 5, 11}, {1, 1, 1});
}

TEST(Pad, AfterAStreamFollowsItsEnd) {
  const Graph graph =
      graph_of({{"x", "2, S"}}, "y = pad(x, padding = [(0, 0), (0, 3)], value = 9.0);");
  expect_streams(graph, 1, {1, 2, 5}, {1, 4, 5, 11}, {0, 0, 0});
}

/// A graph that pads x by `before`, and at the end to whole windows of 3 frames. As exported models
/// do, it computes the second amount in floats.
Graph filled_windows(const std::string& border) {
  return graph_of({{"x", "2, S"}},
                  "sizes = tract_core_shape_of(x);"
                  " n = squeeze(slice(sizes, axes = [0], begin = [1], end = [2]), axes = [0]);"
                  " windows = tract_core_cast(ceil(tract_core_cast(n, to = 'f32') / 3.0),"
                  " to = 'i64');"
                  " missing = windows * 3 - n;"
                  " a = pad(x, padding = [(0, 0), (1, missing)], border = '" +
                      border + "', value = 0.5); y = exp(a);");
}

TEST(Pad, ByFloatSizesFillsWindows) {
  const Graph graph = filled_windows("constant");
  const Dim& length = graph.fact(graph.outputs[0]).dim(1);
  const int64_t expected[] = {4, 4, 4, 7, 7, 7, 10};
  for (int64_t n = 1; n <= 7; ++n) EXPECT_EQ(length.eval("S", n), expected[n - 1]) << n;
  const Tensor x = random_f32(1, {2, 4});
  const auto y = run(graph, {x});
  ASSERT_TRUE(y.ok()) << y.error().to_string();
  const auto values = (*y)[0].values<float>();
  for (int64_t i = 0; i < 14; ++i) {
    const int64_t frame = i % 7 - 1;
    const bool inside = frame >= 0 && frame < 4;
    const float number = inside ? x.values<float>()[static_cast<size_t>(i / 7 * 4 + frame)] : 0.5F;
    EXPECT_NEAR(values[static_cast<size_t>(i)], std::exp(number), 1e-6F) << i;
  }
}

TEST(Pad, BySizesStreams) {
  expect_streams(filled_windows("constant"), 1, {1, 2, 5}, {1, 4, 6, 11});
  expect_streams(filled_windows("replicated"), 1, {1, 2, 5}, {1, 4, 6, 11});
}

TEST(Pad, OfOtherAxesPadsEachPulse) {
  const Graph graph =
      graph_of({{"x", "2, S"}}, "y = pad(x, padding = [(1, 2), (0, 0)], value = 3.0);");
  expect_streams(graph, 1, {1, 4}, {1, 9}, {0, 0});
}

TEST(Pad, OfAllAxesAtOnceStreams) {
  const Graph graph =
      graph_of({{"x", "2, S"}}, "a = pad(x, padding = [(1, 0), (2, 1)], value = 3.0); y = neg(a);");
  expect_streams(graph, 1, {1, 4}, {1, 9});
}

TEST(Pad, OfAnotherValueMaterialisesTheFirstPrefix) {
  const Graph graph =
      graph_of({{"x", "2, S"}},
               "a = pad(x, padding = [(0, 0), (2, 0)], value = 3.0);"
               " b = pad(a, padding = [(0, 0), (1, 0)], value = -1.0); y = neg(b);");
  expect_streams(graph, 1, {1, 2, 4}, {1, 9});
}

TEST(Pad, RepeatsFramesOfAStream) {
  for (const char* border : {"replicated", "reflect"}) {
    const Graph graph =
        graph_of({{"x", "2, S"}},
                 str_cat("y = pad(x, padding = [(0, 1), (1, 2)], border = '", border, "');"));
    expect_streams(graph, 1, {4}, {3, 4, 9}, {0});
  }
}

TEST(Pad, IsWrittenAndReadBack) {
  for (const char* border : {"constant", "replicated", "reflect"}) {
    const Graph graph = graph_of(
        {{"x", "2, 4"}},
        str_cat("y = pad(x, padding = [(0, 1), (2, 3)], border = '", border, "', value = 0.25);"));
    expect_written_and_read(graph, {random_f32(5, {2, 4})});
  }
}

}  // namespace
}  // namespace rill::ops::test
