// Negative amounts of Pad, and the second output of MaxPool: places of maxima.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/written.h"
#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

/// Return a model that pads the first axis of x [S, 3] by these amounts of 7.
Message padded(int64_t before, int64_t after) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, 3})};
  parts.initializers = {tensor_of_integers("pads", {4}, {before, 0, after, 0}),
                        tensor_of_floats("v", {}, {7})};
  parts.nodes = {node_of("Pad", {"x", "pads", "v"}, {"y"})};
  return model_of(parts);
}

std::vector<float> rows(int64_t count, float value) {
  return std::vector<float>(static_cast<size_t>(3 * count), value);
}

// By onnxruntime: the 10 entries and 5 of padding lose the first 12, so 3 of the padding remain.
TEST(NegativePads, CutFramesAddedAtTheOtherEnd) {
  EXPECT_EQ(run_on(padded(-12, 5), rows(10, 1)), rows(3, 7));
  EXPECT_EQ(run_on(padded(5, -12), rows(10, 1)), rows(3, 7));
}

TEST(NegativePads, CutTheInputAlone) {
  std::vector<float> want = rows(2, 1);
  const std::vector<float> added = rows(5, 7);
  want.insert(want.end(), added.begin(), added.end());
  EXPECT_EQ(run_on(padded(-12, 5), rows(14, 1)), want);
  EXPECT_EQ(run_on(padded(-2, -3), rows(14, 1)), rows(9, 1));
}

TEST(NegativePads, AreRefusedBeyondTheAxis) {
  GraphParts parts;
  parts.inputs = {value_info("x", {10})};
  parts.outputs = {value_info("y", {-1})};
  parts.initializers = {tensor_of_integers("pads", {2}, {-12, 0})};
  parts.nodes = {node_of("Pad", {"x", "pads"}, {"y"})};
  EXPECT_NE(refused(model_of(parts)).find("cut more than the 10 entries of axis 0"),
            std::string::npos)
      << refused(model_of(parts));
}

/// Return x [S, 3] padded by as many rows of 7 as x[cut:] has.
Message padded_by_the_rest(int64_t cut, bool before) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, 3})};
  parts.initializers = {tensor_of_integers("cut", {1}, {cut}),
                        tensor_of_integers("far", {1}, {int64_t{1} << 60}),
                        tensor_of_integers("none", {1}, {0}), tensor_of_floats("v", {}, {7})};
  std::vector<std::string> amounts(4, "none");
  amounts[before ? 0 : 2] = "n";
  parts.nodes = {node_of("Slice", {"x", "cut", "far"}, {"rest"}),
                 node_of("Shape", {"rest"}, {"n"}, {integer_attribute("end", 1)}),
                 node_of("Concat", amounts, {"pads"}, {integer_attribute("axis", 0)}),
                 node_of("Pad", {"x", "pads", "v"}, {"y"})};
  return model_of(parts);
}

// onnxruntime adds no rows where x[cut:] is empty. A refusal there names the file's node.
TEST(OpenPads, ByTheLengthOfASliceAreRightOrNameTheNode) {
  for (const int64_t cut : {1, 3, 40}) {
    for (const bool before : {false, true}) {
      const auto graph = loaded(padded_by_the_rest(cut, before));
      ASSERT_TRUE(graph.ok()) << graph.error().to_string();
      for (const int64_t size : {1, 2, 3, 5, 39, 40, 60}) {
        const auto bound = graph->with_symbol("S", Dim(size));
        const std::vector<float> own = rows(size, 1);
        std::vector<float> want = rows(std::max<int64_t>(0, size - cut), 7);
        want.insert(before ? want.end() : want.begin(), own.begin(), own.end());
        if (bound.ok()) {
          EXPECT_EQ(run_on(padded_by_the_rest(cut, before), own), want) << cut << " " << size;
          continue;
        }
        EXPECT_LT(size, cut);
        EXPECT_EQ(bound.error().node, "y");
        EXPECT_NE(bound.error().hint.find("Give more of S"), std::string::npos)
            << bound.error().to_string();
      }
    }
  }
}

// Places count elements from the first plane on, so only those in later planes depend on the length
// of the stream.
TEST(MaxPool, ReadsNoLengthForThePlacesOfOnePlane) {
  for (const int64_t channels : {1, 2}) {
    GraphParts parts;
    parts.inputs = {value_info("x", {1, channels, -1}, {"", "", "S"})};
    parts.outputs = {value_info("y", {1, channels, -1}),
                     value_info("at", {1, channels, -1}, {}, 7)};
    parts.nodes = {node_of("MaxPool", {"x"}, {"y", "at"},
                           {integers_attribute("kernel_shape", {3})})};
    const auto graph = loaded(model_of(parts));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    bool reads = false;
    for (const Node& node : graph->nodes) reads |= reads_lengths(*graph, node, "S");
    EXPECT_EQ(reads, channels > 1);
  }
}

}  // namespace
}  // namespace rill::onnx
