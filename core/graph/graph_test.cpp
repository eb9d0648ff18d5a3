#include "core/graph/graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/optim/optim.h"
#include "ops/array/slice.h"
#include "tests/property/streaming.h"

namespace rill {
namespace {

using test::document;

Graph loaded(const std::string& statements, const std::string& results = "y",
             const std::string& shape = "B, S") {
  auto graph = test::load_text(
      "version 1.0;\nextension tract_registry tract_core;\n"
      "extension tract_symbol S;\nextension tract_symbol B;\n"
      "graph network(x) -> (" +
      results + ")\n{\n  x = tract_core_external(shape = [" + shape + "], datum_type = 'f32');\n" +
      statements + "}\n");
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return graph.ok() ? std::move(graph).value() : Graph();
}

int64_t count(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::string_view(node.op->name()).substr(0, op.size()) == op;
  });
}

Graph decluttered(const Graph& graph) {
  auto simple = declutter(graph);
  EXPECT_TRUE(simple.ok());
  return simple.ok() ? std::move(simple).value() : Graph();
}

TEST(Graph, NamesAreUnique) {
  Graph graph;
  const OutletId a = graph.add_source("x", Fact::of(DType::kF32, {2}));
  const OutletId b = graph.add_source("x", Fact::of(DType::kF32, {2}));
  EXPECT_NE(graph.node(a.node).name, graph.node(b.node).name);
  EXPECT_NE(graph.unique_name("x"), "x");
  EXPECT_EQ(graph.unique_name("y"), "y");
}

TEST(Graph, ErrorsNameNodeAndOperator) {
  Graph graph;
  const OutletId x = graph.add_source("x", Fact::of(DType::kF32, {4}));
  const auto added = graph.add("cut", make_op<ops::Slice>(3, Dim(0), Dim(1)), {x}, 12);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().node, "cut");
  EXPECT_EQ(added.error().op, "Slice");
  EXPECT_EQ(added.error().line, 12);
}

TEST(Graph, BindingASymbolInfersAllFactsAgain) {
  const Graph graph = loaded("  y = slice(x, axes = [1], begin = [1], end = [-1]) + 1.0;\n");
  const auto bound = graph.with_symbol("S", Dim(6));
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->fact(bound->outputs[0]).shape, (std::vector<Dim>{Dim::symbol("B"), 4}));
  EXPECT_EQ(graph.fact(graph.outputs[0]).dim(1), Dim::symbol("S") - Dim(2));
  EXPECT_EQ(bound->output_names, graph.output_names);
  const auto renamed = graph.with_symbol("S", Dim(2) * Dim::symbol("H"));
  ASSERT_TRUE(renamed.ok());
  EXPECT_EQ(renamed->fact(renamed->outputs[0]).dim(1), Dim(2) * Dim::symbol("H") - Dim(2));
}

TEST(Graph, BindingASymbolSoThatShapesNoLongerFitIsAnError) {
  const Graph graph = loaded("  y = slice(x, axes = [1], begin = [-3], end = [-1]) + 1.0;\n");
  const auto bound = graph.with_symbol("S", Dim(2));
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code, Code::kShape);
}

TEST(Graph, ShapesUsedAsValuesAreBoundToo) {
  const Graph graph = loaded(
      "  n = tract_core_shape_of(x);\n"
      "  y = tract_core_broadcast(0.5, shape = n);\n");
  const auto bound = graph.with_symbol("S", Dim(3));
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->fact(bound->outputs[0]).dim(1), Dim(3));
}

TEST(Graph, CompactingKeepsInputsAndDropsUnusedNodes) {
  Graph graph;
  const OutletId x = graph.add_source("x", Fact::of(DType::kF32, {4}));
  graph.add_source("unused", Fact::of(DType::kF32, {4}));
  ASSERT_TRUE(graph.add("dead", make_op<ops::Slice>(0, Dim(0), Dim(1)), {x}).ok());
  const auto kept = graph.add("kept", make_op<ops::Slice>(0, Dim(1), Dim(3)), {x});
  ASSERT_TRUE(kept.ok());
  graph.add_output("y", (*kept)[0]);
  const Graph small = graph.compacted();
  EXPECT_EQ(small.inputs.size(), 2U);
  EXPECT_EQ(small.nodes.size(), 3U);
  EXPECT_EQ(small.node(small.outputs[0].node).name, "kept");
}

TEST(Rewriting, ConstantsFold) {
  const Graph simple = decluttered(loaded("  a = exp([[0.0]]) * 3.0;\n  y = x + a;\n"));
  EXPECT_EQ(count(simple, "Exp"), 0);
  const Node& sum = simple.node(simple.outputs[0].node);
  bool found = false;
  for (const OutletId& input : sum.inputs) {
    const TensorPtr& value = simple.fact(input).konst;
    if (value) found = value->data<float>()[0] == 3.0F;
  }
  EXPECT_TRUE(found);
}

/// Return how many nodes remain after `times` transpositions of a constant.
int64_t transpositions_left(int times, std::vector<int64_t> shape) {
  Graph graph = loaded("  y = transpose(x, axes = [1, 0]);\n");
  const OpPtr transpose = graph.node(graph.outputs[0].node).op;
  auto value = Tensor::zeros(DType::kF32, std::move(shape));
  EXPECT_TRUE(value.ok());
  if (!value.ok()) return -1;
  OutletId wire = graph.add_const("w", std::make_shared<const Tensor>(std::move(*value)));
  const auto before = static_cast<int64_t>(graph.nodes.size());
  for (int i = 0; i < times; ++i) {
    auto next = graph.add_folded("t", transpose, {wire});
    EXPECT_TRUE(next.ok());
    if (!next.ok()) return -1;
    wire = next->front();
  }
  return std::count_if(graph.nodes.begin() + before, graph.nodes.end(),
                       [](const Node& node) { return node.op->name() != "Const"; });
}

TEST(Rewriting, LargeConstantsFoldOnlyAFewTimes) {
  EXPECT_EQ(transpositions_left(100, {3, 5}), 0);
  EXPECT_EQ(transpositions_left(3, {2048, 2049}), 0);
  // Each fold would take as many bytes as the constant of the file.
  EXPECT_EQ(transpositions_left(100, {2048, 2049}), 96);
}

TEST(Rewriting, SmallConstantsDoNotGrowLarge) {
  const Graph simple = decluttered(
      loaded("  a = tile([[1.0, 2.0]], repeats = [2048, 1025]);\n  y = x + a;\n", "y", "1, 1"));
  EXPECT_EQ(count(simple, "Tile") + count(simple, "Broadcast"), 1);
}

TEST(Rewriting, EqualNodesMerge) {
  const Graph simple = decluttered(
      loaded("  a = tanh(x);\n  b = tanh(x);\n  y = a * b;\n  z = exp(a) - exp(b);\n", "y, z"));
  EXPECT_EQ(count(simple, "Tanh"), 1);
  EXPECT_LE(count(simple, "Exp"), 1);
}

TEST(Rewriting, NodesThatDifferInAnAttributeStaySeparate) {
  const Graph simple =
      decluttered(loaded("  a = slice(x, axes = [1], begin = [0], end = [-1]);\n"
                         "  b = slice(x, axes = [1], begin = [1], end = [0]);\n"
                         "  y = a * b;\n"));
  EXPECT_EQ(count(simple, "Slice"), 2);
}

/// Return how many loops remain of two loops with the same body over the frames of `x`.
int64_t loops_left(const std::string& body, const std::string& first, const std::string& second) {
  const auto loop = [](const std::string& attributes) {
    return "tract_core_scan(body = \"step\", scan = [(\"frame\", x, 2, 1)], full = [], state = "
           "[(\"sum\", h, \"next\")], output = [(\"next\", " +
           attributes + ")], skip = 0, reset_every_turn = false);\n";
  };
  std::string text = document(
      "1, 1, S",
      "  h = [[[0.25]]];\n  a = " + loop(first) + "  b = " + loop(second) + "  y = exp(a) - b;\n",
      "y",
      "fragment step(frame: tensor<scalar>, sum: tensor<scalar>) -> (next: tensor<scalar>)\n{\n" +
          body + "}\n");
  text.insert(text.find("extension"), "extension tract_registry tract_onnx;\n");
  const auto graph = test::load_text(text);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return graph.ok() ? count(decluttered(*graph), "Scan") : 0;
}

TEST(Rewriting, LoopsWithEqualBodiesMerge) {
  const std::string body = "  next = tanh(frame * 0.5 + sum);\n";
  EXPECT_EQ(loops_left(body, "\"full\", 2, 1", "\"full\", 2, 1"), 1);
  EXPECT_EQ(loops_left(body, "\"full\", 2, 1", "\"last\", 2, 1"), 2);
}

TEST(Rewriting, LoopsThatDrawNumbersStaySeparate) {
  const std::string draw =
      "  drawn = tract_onnx_random(datum_type = 'f32', shape = [1, 1, 1], dist = 'uniform', "
      "parameters = [0.0, 1.0]";
  const std::string body = ";\n  next = tanh(frame * 0.5 + sum) + drawn;\n";
  EXPECT_EQ(loops_left(draw + ")" + body, "\"full\", 2, 1", "\"full\", 2, 1"), 2);
  EXPECT_EQ(loops_left(draw + ", seed = 4)" + body, "\"full\", 2, 1", "\"full\", 2, 1"), 1);
}

TEST(Rewriting, DropsDeadNodesAndKeepsInputs) {
  const Graph simple = decluttered(loaded("  dead = exp(x);\n  y = x * 2.0;\n"));
  EXPECT_EQ(count(simple, "Exp"), 0);
  EXPECT_EQ(simple.inputs.size(), 1U);
}

TEST(Rewriting, OutputsKeepNamesOrderAndFacts) {
  const Graph graph = loaded(
      "  a = copy(x);\n  b = transpose(transpose(x, axes = [1, 0]),"
      " axes = [1, 0]);\n  c = x + 1.0;\n",
      "a, b, c");
  const Graph simple = decluttered(graph);
  EXPECT_EQ(simple.output_names, graph.output_names);
  ASSERT_EQ(simple.outputs.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(simple.fact(simple.outputs[i]).same_type(graph.fact(graph.outputs[i])));
  }
  EXPECT_EQ(count(simple, "Transpose"), 0);
}

TEST(Rewriting, ASecondRoundChangesNothing) {
  const Graph once = decluttered(
      loaded("  a = conv(unsqueeze(x, axes = [1]), [[[0.5, 0.25]]], 0.0, padding = [(1, 0)]);\n"
             "  b = relu(a * 2.0 + 1.0);\n  y = squeeze(b, axes = [1]);\n"));
  const Graph twice = decluttered(once);
  ASSERT_EQ(once.nodes.size(), twice.nodes.size());
  for (size_t i = 0; i < once.nodes.size(); ++i) {
    EXPECT_EQ(once.nodes[i].op->name(), twice.nodes[i].op->name());
    EXPECT_EQ(once.nodes[i].op->attributes(), twice.nodes[i].op->attributes());
  }
}

}  // namespace
}  // namespace rill
