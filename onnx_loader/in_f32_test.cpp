// Operators of f16 that would round, or overflow, in between are computed in f32.

#include <gtest/gtest.h>

#include <vector>

#include "onnx_loader/test_file.h"
#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

constexpr int64_t kF16 = 10;

/// An operator of that opset on x [S, 3], cast to a type and back.
Message cast_around(int64_t type, std::string_view op, const std::vector<Message>& attributes,
                    int64_t opset = 17) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, -1})};
  parts.nodes = {node_of("Cast", {"x"}, {"narrow"}, {integer_attribute("to", type)}),
                 node_of(op, {"narrow"}, {"made"}, attributes),
                 node_of("Cast", {"made"}, {"y"}, {integer_attribute("to", 1)})};
  return model_of(parts, opset);
}

// By hand: 60000 + 60000 is beyond 65504, and so are the squares of 300, 400 and 0.
TEST(InF32, SumsAndSquaresMayBeOutOfRangeOfF16) {
  const Message axes = integers_attribute("axes", {1});
  EXPECT_EQ(run_on(cast_around(kF16, "ReduceMean", {axes}), {60000, 60000, 60000}),
            std::vector<float>({60000}));
  EXPECT_EQ(run_on(cast_around(kF16, "ReduceL2", {axes}), {300, 400, 0}),
            std::vector<float>({500}));
  const std::vector<float> unit = run_on(cast_around(kF16, "LpNormalization", {}), {300, 400, 0});
  ASSERT_EQ(unit.size(), 3U);
  EXPECT_NEAR(unit[0], 0.6F, 2e-4F);
  EXPECT_NEAR(unit[1], 0.8F, 2e-4F);
}

// By hand: 778 / 3 lies between 258 and 260, nearer to this; but 778 is rounded to 776, whose third
// is nearer to 258.
TEST(InF32, ResultsOfBf16AreRoundedOnce) {
  constexpr int64_t kBF16 = 16;
  const Message axes = integers_attribute("axes", {1});
  EXPECT_EQ(run_on(cast_around(kBF16, "ReduceMean", {axes}), {256, 256, 266}),
            std::vector<float>({260}));
}

// What is f32 beside it stays f32.
TEST(InF32, TypesOfResultsStay) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, -1})};
  parts.nodes = {node_of("Cast", {"x"}, {"narrow"}, {integer_attribute("to", kF16)}),
                 node_of("HardSwish", {"narrow"}, {"y"})};
  const auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(graph->fact(graph->outputs[0]).dtype, DType::kF16);
  EXPECT_EQ(graph->output_names[0], "y");
}

// By the standard, what is sampled and what comes out have one type, places may have another.
TEST(InF32, ResultsHaveTheTypeOfTheFirstArgument) {
  for (const bool narrow_places : {false, true}) {
    GraphParts parts;
    parts.inputs = {value_info("x", {1, 1, 2, 2}), value_info("places", {1, 3, 3, 2})};
    parts.outputs = {value_info("y", {1, 1, 3, 3})};
    const std::string cast = narrow_places ? "places" : "x";
    parts.nodes = {node_of("Cast", {cast}, {"narrow"}, {integer_attribute("to", kF16)}),
                   narrow_places ? node_of("GridSample", {"x", "narrow"}, {"y"})
                                 : node_of("GridSample", {"narrow", "places"}, {"y"})};
    const auto graph = loaded(model_of(parts));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    EXPECT_EQ(graph->fact(graph->outputs[0]).dtype, narrow_places ? DType::kF32 : DType::kF16);
  }
}

}  // namespace
}  // namespace rill::onnx
