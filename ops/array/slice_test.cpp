#include "ops/array/slice.h"

#include <algorithm>

#include "core/optim/optim.h"
#include "ops/math/test_support.h"
#include "pulse/pulse.h"

namespace rill::ops::test {
namespace {

std::string shape_of(std::string_view statements, std::string_view extensions = "") {
  const Graph graph = graph_of({{"x", "2, S"}}, statements, "y", extensions);
  return graph.nodes.empty() ? "" : graph.fact(graph.outputs[0]).to_string();
}

TEST(Slice, GivesTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 7, 4});
  expect_every_layout(make_op<Slice>(1, Dim(2), Dim(6)), {x});
  expect_every_layout(make_op<Slice>(2, Dim(4), Dim(4)), {x});
  expect_every_layout(make_op<Downsample>(1, 3, 1), {x});
  expect_every_layout(make_op<Downsample>(1, -2, 1), {x});
}

TEST(Slice, TakesSymbolicBounds) {
  EXPECT_EQ(shape_of("y = slice(x, axes = [1], begin = [1], end = [S]);"), "2,-1+S,F32");
  EXPECT_EQ(shape_of("y = slice(x, axes = [1], begin = [0], end = [S - 2]);"), "2,-2+S,F32");
  EXPECT_EQ(shape_of("y = slice(x, axes = [1], begin = [-3], end = [-1]);"), "2,2,F32");
  EXPECT_EQ(shape_of("y = slice(x, axes = [1], begin = [2], end = [0]);"), "2,-2+S,F32");
  EXPECT_EQ(shape_of("y = slice(x, axes = [1], begin = [0], end = [S + 5]);"), "2,S,F32");
  EXPECT_EQ(shape_of("y = slice(x, axes = [1], begin = [S - 2], end = [S]);"), "2,2,F32");
}

// Exporters write `h[-1]` with an end of -1 + 1. If a recurrent layer of PyTorch has a single
// layer, `h` has one element.
TEST(Slice, TakesTheLastElementOfOne) {
  const auto shape = [](const char* h, const char* bounds) {
    const Graph graph = graph_of({{"h", h}}, str_cat("y = slice(h, axes = [0], ", bounds, ");"));
    return graph.fact(graph.outputs[0]).to_string();
  };
  EXPECT_EQ(shape("1, S, 4", "begin = [0], end = [0]"), "1,S,4,F32");
  EXPECT_EQ(shape("2, S, 4", "begin = [1], end = [0]"), "1,S,4,F32");
  EXPECT_EQ(shape("3, S, 4", "begin = [0], end = [0]"), "0,S,4,F32");
}

TEST(Slice, FoldsTheBoundsOfTheExportersFragments) {
  // min(max(0, select(i >= 0, 0, n) + i), n) with i = -2, n = S.
  const char* bound =
      "s = tract_core_shape_of(x); d = slice(s, axes = [0], begin = [1], end = [2]);"
      " n = squeeze(d, axes = [0]); c = ge(-2, 0); o = select(c, 0, n);"
      " e = tract_core_cast(min(max(0, o + -2), n), to = \"tdim\");"
      " y = slice(x, axes = [1], begin = [0], end = [e], stride = [1]);";
  EXPECT_EQ(shape_of(bound, "extension tract_assert S >= 2;\n"), "2,-2+S,F32");
}

TEST(Slice, KeepsBoundsWithAnUndecidedComparison) {
  const Graph graph = graph_of({{"x", "S"}},
                               "c = ge(S - 4, 0); o = select(c, 4, S); e = "
                               "tract_core_cast(min(max(0, o), S), to = \"tdim\");"
                               " y = slice(x, axes = [0], begin = [0], end = [e]);");
  EXPECT_EQ(run(graph, {random_f32(1, {7})}).value()[0].extent(0), 4);
  EXPECT_EQ(run(graph, {random_f32(1, {3})}).value()[0].extent(0), 3);
}

// For a table, the index i = 5 - n counts from the start while it is in range.
TEST(Slice, AssumesThatIndicesOfATableLieWithinIt) {
  const char* statements =
      "t = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]];"
      " n = tract_core_cast(tract_core_cast(S, to = 'f32'), to = 'i64');"
      " i = n * -1.0 * 1.0 + 5; j = n + 4;"
      " b = tract_core_cast(min(max(0, select(i >= 0, 0, 9) + i), 9), to = 'tdim');"
      " e = tract_core_cast(min(max(0, select(j >= 0, 0, 9) + j), 9), to = 'tdim');"
      " y = slice(t, axes = [1], begin = [b], end = [e]);";
  EXPECT_EQ(shape_of(statements), "1,-1+2*S,F32");
  const Graph graph = graph_of({{"x", "2, S"}}, statements);
  EXPECT_EQ(run(graph, {random_f32(1, {2, 3})}).value()[0].extent(1), 5);
  EXPECT_FALSE(run(graph, {random_f32(1, {2, 6})}).ok());
}

TEST(Slice, AssumesThatASizedWireHasAFrame) {
  const char* statements =
      "w = slice(x, axes = [1], begin = [2], end = [S]); i = -(S - 2);"
      " b = tract_core_cast(min(max(0, select(i >= 0, 0, S) + i), S), to = 'tdim');"
      " y = slice(x, axes = [1], begin = [b], end = [S]) + w;";
  EXPECT_EQ(shape_of(statements), "2,-2+S,F32");
}

TEST(Slice, RefusesBoundsThatDependOnData) {
  expect_load_error({{"x", "9"}, {"n", "", "i64"}},
                    "y = slice(x, axes = [0], begin = [0], end = [n]);", Code::kUnsupported, "");
}

TEST(Slice, IsCheckedOnceItsSymbolsAreNumbers) {
  const Graph graph = graph_of({{"x", "S"}}, "y = slice(x, axes = [0], begin = [2], end = [6]);");
  EXPECT_TRUE(run(graph, {random_f32(2, {6})}).ok());
  const auto shorter = run(graph, {random_f32(2, {5})});
  ASSERT_FALSE(shorter.ok());
  EXPECT_EQ(shorter.error().code, Code::kShape);
  EXPECT_NE(shorter.error().message.find("out of axis 0"), std::string::npos);
}

/// Return whether streams of a graph, in pulses of two frames, need at least `frames` frames.
bool wants_frames(const Graph& graph, int64_t frames) {
  const auto pulsed = pulse::pulsify(graph, {.pulse = 2});
  EXPECT_TRUE(pulsed.ok());
  if (!pulsed.ok()) return false;
  const std::vector<Dim>& asserted = pulsed->streaming->asserted;
  const auto suits = [&](int64_t length) {
    return std::all_of(asserted.begin(), asserted.end(),
                       [&](const Dim& each) { return each.eval("S", length).value_or(-1) >= 0; });
  };
  return suits(frames) && !suits(frames - 1) && !suits(1);
}

TEST(Slice, AssumesThatStreamsHaveTheLastFrames) {
  const char* last = "y = slice(x, axes = [1], begin = [max(S - 4, 0)], end = [S]);";
  EXPECT_TRUE(wants_frames(graph_of({{"x", "2, S"}}, last), 4));
  const Graph graph = graph_of({{"x", "2, S"}}, last, "y", "extension tract_assert S >= 4;\n");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "2,4,F32");
}

TEST(Slice, AssumesThatStreamsHaveTheFirstFramesWhereTheyAreUsedBefore) {
  const char* first = "a = slice(x, axes = [1], begin = [0], end = [min(5000, S)]);";
  // Frames that are only forwarded are correct for streams of any length.
  const Graph frames = graph_of({{"x", "2, S"}}, str_cat(first, " y = a * 2.0;"));
  EXPECT_FALSE(wants_frames(frames, 5000));
  const Graph mean = graph_of({{"x", "2, S"}}, str_cat(first, " m = mean_reduce(a, axes = [1]);"
                                                              " y = x - m;"));
  EXPECT_TRUE(wants_frames(mean, 5000));
}

// Slices of a constant by [0, S) and by [0, 3) are equal for S = 3. But the first must not be
// folded early: with equal attributes, the two would become one node.
TEST(Slice, OfBoundSymbolsDiffersFromASliceOfNumbers) {
  const Slice numbers(0, Dim(0), Dim(3));
  const Slice symbols(0, Dim(0), Dim::symbol("S"));
  const OpPtr bound = symbols.with_symbol("S", Dim(3));
  ASSERT_TRUE(bound);
  EXPECT_TRUE(numbers.foldable());
  EXPECT_FALSE(bound->foldable());
  EXPECT_NE(bound->attributes(), numbers.attributes());
}

TEST(Slice, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 5"}};
  expect_load_error(x, "y = slice(x, axes = [2], begin = [0], end = [1]);", Code::kShape,
                    "no axis 2");
  expect_load_error(x, "y = slice(x, axes = [0, 1], begin = [0], end = [1, 1]);", Code::kShape,
                    "have 2, 1, 2");
  expect_load_error(x, "y = slice(x, axes = [1], begin = [0], end = [4], stride = [0]);",
                    Code::kShape, "stride 0");
  expect_load_error(x, "y = tract_core_downsample(x, axis = 1, stride = 2, modulo = -1);",
                    Code::kShape, "modulo -1");
}

// Source: the exporter's x[2:-1], by NumPy: if x is short, its end is before its begin.
TEST(Slice, IsEmptyIfItEndsBeforeItBegins) {
  const Graph graph =
      graph_of({{"x", "S"}},
               "y = slice(x, axes = [0], begin = [min(2, S)], end = [max(S - 1, 0)]);");
  for (const int64_t frames : {0, 1, 2, 3, 4, 9}) {
    const auto out = run(graph, {random_f32(1, {frames})});
    ASSERT_TRUE(out.ok()) << out.error().to_string();
    EXPECT_EQ((*out)[0].extent(0), std::max<int64_t>(0, frames - 3)) << frames;
  }
  const Tensor x = random_f32(1, {4});
  expect_every_layout(make_op<Slice>(0, Dim(7), Dim(2)), {x});
}

TEST(Slice, RefusesBoundsThatNoSymbolCanMakeFit) {
  const Fact x = Fact::of(DType::kF32, {Dim(4)});
  for (const auto& [begin, end] : {std::pair{-1, 2}, {-3, -2}, {0, 5}}) {
    const auto out = Slice(0, Dim(begin), Dim(end)).infer({&x, 1});
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code, Code::kShape);
  }
  EXPECT_FALSE(Slice(1, Dim(0), Dim(1)).infer({&x, 1}).ok());
  EXPECT_FALSE(Slice(-1, Dim(0), Dim(1)).infer({&x, 1}).ok());
  EXPECT_FALSE(Downsample(0, INT64_MIN, 0).infer({&x, 1}).ok());
}

TEST(Slice, IsSimplified) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = slice(x, axes = [1], begin = [2], end = [S]);"
                               " b = slice(a, axes = [1], begin = [1], end = [S - 3]);"
                               " y = slice(b, axes = [0], begin = [0], end = [2]);");
  const Graph simple = declutter(graph).value();
  ASSERT_EQ(simple.nodes.size(), 2U);
  EXPECT_EQ(simple.nodes[1].op->as<Slice>()->begin, Dim(3));
}

/// Return the output shapes of every node with this op in the fused graph.
std::vector<std::string> shapes_made(const Graph& graph, std::string_view op) {
  std::vector<std::string> shapes;
  const Graph fused = fuse(declutter(graph).value()).value();
  for (const Node& node : fused.nodes) {
    if (node.op->name() == op) shapes.push_back(node.outputs[0].to_string());
  }
  return shapes;
}

void expect_same_unfused(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto plain = run(graph, inputs, false);
  const auto fused = run(graph, inputs, true);
  ASSERT_TRUE(plain.ok() && fused.ok());
  expect_same((*fused)[0], (*plain)[0]);
}

// A layer whose rows are independent, except for a sum over all of them; only one row is kept.
constexpr const char* kOneRow =
    "w = matmul(x, x, transposeB = true); p = softmax(w, axes = [2]); a = matmul(p, x);"
    " t = transpose(a, axes = [1, 0, 2]); f = reshape(t, shape = [12, 10]);"
    " g = reshape(f, shape = [12, 2, 5]); r = g * g + t; m = max_reduce(r, axes = [2]);"
    " n = exp(r - m) + 1.0; y = slice(n, axes = [0], begin = [3], end = [4]);";

TEST(Slice, DoesNotComputeDroppedElements) {
  const Graph graph = graph_of({{"x", "2, 12, 5"}}, kOneRow);
  EXPECT_EQ(shapes_made(graph, "EinSum"), (std::vector<std::string>{"2,1,12,F32", "2,1,5,F32"}));
  EXPECT_EQ(shapes_made(graph, "Softmax"), (std::vector<std::string>{"2,1,12,F32"}));
  expect_same_unfused(graph, {random_f32(5, {2, 12, 5})});
}

TEST(Slice, DoesNotSwapWithAnotherWithoutEnd) {
  const Graph graph = graph_of({{"x", "8, 12"}},
                               "a = x + 1.0; b = slice(a, axes = [1], begin = [0], end = [6]);"
                               " y = slice(b, axes = [0], begin = [4], end = [8]);");
  const Graph few = fuse(graph, 10).value();
  const Graph more = fuse(graph, 11).value();
  ASSERT_EQ(few.nodes.size(), more.nodes.size());
  for (size_t i = 0; i < few.nodes.size(); ++i) EXPECT_EQ(few.nodes[i].name, more.nodes[i].name);
  EXPECT_EQ(shapes_made(graph, "Add"), (std::vector<std::string>{"4,6,F32"}));
  expect_same_unfused(graph, {random_f32(5, {8, 12})});
}

TEST(Slice, DoesNotMoveIfTheRestIsNeeded) {
  const Graph graph = graph_of({{"x", "2, 12, 5"}},
                               "a = matmul(x, x, transposeB = true);"
                               " b = slice(a, axes = [1], begin = [3], end = [4]); y = a * b;");
  EXPECT_EQ(shapes_made(graph, "EinSum"), (std::vector<std::string>{"2,12,12,F32"}));
  const Graph most = graph_of({{"x", "2, 12, 5"}},
                              "a = matmul(x, x, transposeB = true);"
                              " y = slice(a, axes = [1], begin = [3], end = [10]);");
  EXPECT_EQ(shapes_made(most, "EinSum"), (std::vector<std::string>{"2,12,12,F32"}));
}

TEST(Slice, SlicesBiasAndResidualToo) {
  const char* layer =
      "w = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]; b = [[0.5, 1.5, 2.5, 3.5]];"
      " p = matmul(x, w) + b; q = p + z;";
  const std::vector<Input> in = {{"x", "3, 2"}, {"z", "3, 4"}};
  const std::vector<Tensor> values = {random_f32(6, {3, 2}), random_f32(7, {3, 4})};
  const Tensor whole = run(graph_of(in, layer, "q"), values).value()[0];
  for (const int axis : {0, 1}) {
    const Graph graph =
        graph_of(in, str_cat(layer, "y = slice(q, axes = [", axis, "], begin = [1], end = [2]);"));
    EXPECT_EQ(shapes_made(graph, "EinSum"),
              (std::vector<std::string>{axis == 0 ? "1,4,F32" : "3,1,F32"}));
    const Tensor kept = eval(Slice(axis, Dim(1), Dim(2)), {whole}).value()[0];
    expect_same(run(graph, values).value()[0], kept);
  }
}

TEST(Slice, DropsTheFirstFramesOfAStream) {
  const Graph graph =
      graph_of({{"x", "2, S"}}, "y = slice(x, axes = [1], begin = [3], end = [S]);");
  expect_streams(graph, 1, {1, 2, 5}, {4, 5, 11}, {3, 3, 3});
}

TEST(Slice, DropsTheLastFramesOfAStream) {
  const Graph graph =
      graph_of({{"x", "2, S"}}, "y = slice(x, axes = [1], begin = [1], end = [S - 2]);");
  expect_streams(graph, 1, {1, 4}, {4, 9}, {1, 1});
}

TEST(Slice, CutsOtherAxesInEachPulse) {
  const Graph graph =
      graph_of({{"x", "5, S"}}, "y = slice(x, axes = [0], begin = [1], end = [3]);");
  expect_streams(graph, 1, {1, 4}, {1, 9}, {0, 0});
}

TEST(Slice, DropsVirtualPrefixFramesForFree) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = pad(x, padding = [(0, 0), (4, 0)]);"
                               " y = slice(a, axes = [1], begin = [4], end = [S + 4]);");
  expect_streams(graph, 1, {1, 3}, {1, 8}, {0, 0});
}

TEST(Downsample, KeepsEveryOtherFrameOfAStream) {
  const Graph graph =
      graph_of({{"x", "2, S"}}, "y = tract_core_downsample(x, axis = 1, stride = 2, modulo = 0);");
  expect_streams(graph, 1, {2, 6}, {1, 2, 7, 12}, {0, 0});
}

TEST(Downsample, CountsItsPhaseFromTheFirstFrame) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = slice(x, axes = [1], begin = [2], end = [S]);"
                               " y = tract_core_downsample(a, axis = 1, stride = 3, modulo = 2);");
  expect_streams(graph, 1, {3, 6}, {5, 8, 17}, {1, 1});
}

TEST(Slice, RefusesBoundsUnknownToAStream) {
  const auto refused = [](const char* statements, std::string_view words) {
    expect_refused(graph_of({{"x", "2, S"}}, statements), 6, words);
  };
  refused("y = slice(x, axes = [1], begin = [S / 2], end = [S]);", "known only at the end");
  refused("y = slice(x, axes = [1], begin = [S / 2], end = [S / 2 + 1]);", "known only at the end");
  refused("y = slice(x, axes = [1], begin = [0], end = [S], stride = [-1]);", "backwards");
  refused("y = slice(x, axes = [1], begin = [0], end = [S], stride = [4]);", "not a multiple");
}

TEST(Slice, IsWrittenAndReadBack) {
  const Graph graph =
      graph_of({{"x", "2, 9"}}, "y = slice(x, axes = [1], begin = [1], end = [8], stride = [2]);");
  expect_written_and_read(graph, {random_f32(3, {2, 9})});
  const Graph symbolic =
      graph_of({{"x", "2, S"}}, "y = slice(x, axes = [1], begin = [1], end = [S - 1]);");
  expect_written_and_read(symbolic, {random_f32(3, {2, 9})});
}

}  // namespace
}  // namespace rill::ops::test
