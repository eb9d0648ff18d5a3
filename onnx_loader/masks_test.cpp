// y[m] = value as exporters write it: the places where a mask is set depend on data.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

/// Return y = x, except where x is below 0: there y is 0.25, or 2 x - 0.25 if `by_value`.
/// `by_rows`: the mask selects rows.
GraphParts masked(bool by_value, bool by_rows = false) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, 3})};
  parts.initializers = {tensor_of_floats("zero", {}, {0.0F}), tensor_of_floats("two", {}, {2.0F}),
                        tensor_of_floats("fill", {}, {0.25F}),
                        tensor_of_integers("flat", {1}, {-1}),
                        tensor_of_integers("first", {1}, {0})};
  parts.nodes = {node_of("Less", {"x", "zero"}, {"every"})};
  if (by_rows) {
    parts.nodes.push_back(node_of("Gather", {"every", "first"}, {"one"},
                                  {integer_attribute("axis", 1)}));
    parts.nodes.push_back(node_of("Reshape", {"one", "flat"}, {"mask"}));
  } else {
    parts.nodes.push_back(node_of("Identity", {"every"}, {"mask"}));
  }
  const std::vector<Message> more = {
      node_of("NonZero", {"mask"}, {"found"}),
      node_of("Transpose", {"found"}, {"places"}, {integers_attribute("perm", {1, 0})}),
      node_of("GatherND", {"x", "places"}, {"there"}),
      node_of("Mul", {"there", "two"}, {"doubled"}),
      node_of("Sub", {"doubled", "fill"}, {"changed"}),
      node_of("Reshape", {"mask", "flat"}, {"list"}),
      node_of("Cast", {"list"}, {"ones"}, {integer_attribute("to", 7)}),
      node_of("ReduceSum", {"ones"}, {"count"}, {integer_attribute("keepdims", 1)}),
      node_of("Expand", {by_value ? "changed" : "fill", "count"}, {"long"}),
      node_of("Reshape", {"long", "flat"}, {"updates"}),
      node_of("ScatterND", {"x", "places", "updates"}, {"y"})};
  parts.nodes.insert(parts.nodes.end(), more.begin(), more.end());
  return parts;
}

std::vector<float> run_on(const GraphParts& parts, const std::vector<float>& x) {
  return onnx::run_on(model_of(parts, 18), x);
}

TEST(Masks, ValuesWrittenAtTheirPlacesAreSelected) {
  const std::vector<float> x = {1.0F, -2.0F, 0.0F, -0.5F, 3.0F, -1e30F};
  EXPECT_EQ(run_on(masked(false), x),
            (std::vector<float>{1.0F, 0.25F, 0.0F, 0.25F, 3.0F, 0.25F}));
  EXPECT_EQ(run_on(masked(true), x),
            (std::vector<float>{1.0F, -4.25F, 0.0F, -1.25F, 3.0F, -2e30F}));
  EXPECT_EQ(run_on(masked(true), {}), std::vector<float>());
}

TEST(Masks, OfRowsAreNoSelections) {
  const auto graph = loaded(model_of(masked(false, true), 18));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::kUnsupported);
  EXPECT_NE(graph.error().to_string().find("of its shape"), std::string::npos)
      << graph.error().to_string();
}

TEST(Masks, PlacesThatAreReadElsewhereAreRefused) {
  GraphParts parts = masked(false);
  parts.outputs.push_back(value_info("places", {-1, 2}, {}, 7));
  const auto graph = loaded(model_of(parts, 18));
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().to_string().find("NonZero"), std::string::npos);
}

}  // namespace
}  // namespace rill::onnx
