#include "transforms/scan_state.h"

#include <algorithm>

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::transforms {
namespace {

using ops::test::f32;
using ops::test::run;

/// Return a leaky sum s' = s / 2 + x, which starts at 1.
Graph leaky(std::string_view frames, int skip) {
  const auto loaded = ops::test::load_text(
      str_cat("version 1.0; extension tract_registry tract_core;\n"
              "fragment step(x: tensor<scalar>, s: tensor<scalar>)"
              " -> (y: tensor<scalar>) { y = s * 0.5 + x; }\n"
              "graph g(x) -> (y) { x = external(shape = [1, ",
              frames,
              "]); one = [[1.0]];\n"
              "y = tract_core_scan(body = \"step\", scan = [(\"x\", x, 1, 1)], full = [],"
              " state = [(\"s\", one, \"y\")], output = [(\"y\", \"full\", 1, 1)], skip = ",
              skip, "); }"));
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return loaded.ok() ? *loaded : Graph();
}

int64_t loops(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [](const Node& node) { return node.op->name() == "Scan"; });
}

Graph exported(const Graph& graph) {
  const auto out = export_scan_state(graph);
  EXPECT_TRUE(out.ok()) << out.error().to_string();
  const auto simple = declutter(*out);
  EXPECT_TRUE(simple.ok()) << simple.error().to_string();
  return *simple;
}

TEST(ScanState, OfALoopThatRunsOnceIsAnInputAndAnOutput) {
  const Graph graph = exported(leaky("1", 0));
  EXPECT_EQ(loops(graph), 0);
  ASSERT_EQ(graph.inputs.size(), 2U);
  ASSERT_EQ(graph.outputs.size(), 2U);
  EXPECT_TRUE(graph.input_name(1).ends_with(".state_in")) << graph.input_name(1);
  EXPECT_TRUE(graph.output_names[1].ends_with(".state_out")) << graph.output_names[1];
  // 3 * 0.5 + 2, and that is the state too.
  const auto out = run(graph, {f32({1, 1}, {2}), f32({1, 1}, {3})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], f32({1, 1}, {3.5}));
  ops::test::expect_same((*out)[1], f32({1, 1}, {3.5}));
}

TEST(ScanState, FedBackGivesTheResultOfTheLoop) {
  const std::vector<float> x{1, -2, 3, 0.25};
  const auto whole = run(leaky("4", 0), {f32({1, 4}, x)});
  ASSERT_TRUE(whole.ok());
  const Graph graph = exported(leaky("1", 0));
  Tensor state = f32({1, 1}, {1});
  for (size_t t = 0; t < x.size(); ++t) {
    const auto out = run(graph, {f32({1, 1}, {x[t]}), state});
    ASSERT_TRUE(out.ok());
    EXPECT_EQ((*out)[0].data<float>()[0], (*whole)[0].data<float>()[t]);
    state = (*out)[1];
  }
}

TEST(ScanState, OfLongerLoopsOrLoopsThatSkipStaysInside) {
  for (const Graph& graph :
       {exported(leaky("4", 0)), exported(leaky("1", 1)), exported(leaky("S", 0))}) {
    EXPECT_EQ(loops(graph), 1);
    EXPECT_EQ(graph.inputs.size(), 1U);
    EXPECT_EQ(graph.outputs.size(), 1U);
  }
}

TEST(ScanState, KeptInsideKeepsTheLoop) {
  const auto simple = declutter(leaky("1", 0));
  ASSERT_TRUE(simple.ok());
  EXPECT_EQ(loops(*simple), 1);
  const auto outside = force_external_state(*simple);
  ASSERT_TRUE(outside.ok());
  const auto dissolved = declutter(*outside);
  ASSERT_TRUE(dissolved.ok());
  EXPECT_EQ(loops(*dissolved), 0);
}

}  // namespace
}  // namespace rill::transforms
