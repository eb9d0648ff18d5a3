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

// As PyTorch writes a layer norm before opset 17. By hand: the deviation of 300, -300 and 0 is the
// root of 60000, whose squares are beyond f16.
TEST(InF32, NormsInSingleStepsMayBeOutOfRangeOfF16) {
  for (const int64_t type : {int64_t{10}, int64_t{16}}) {
    GraphParts parts;
    parts.inputs = {value_info("x", {-1, 3}, {"S"})};
    parts.outputs = {value_info("y", {-1, -1})};
    parts.initializers = {tensor_of_floats("two32", {}, {2.0F}),
                          tensor_of_floats("eps32", {}, {1e-3F})};
    const Message axes = integers_attribute("axes", {1});
    const auto cast = [&](const char* from, const char* to) {
      return node_of("Cast", {from}, {to}, {integer_attribute("to", type)});
    };
    parts.nodes = {cast("x", "narrow"),
                   cast("two32", "two"),
                   cast("eps32", "eps"),
                   node_of("ReduceMean", {"narrow"}, {"mean"}, {axes}),
                   node_of("Sub", {"narrow", "mean"}, {"apart"}),
                   node_of("Pow", {"apart", "two"}, {"squares"}),
                   node_of("ReduceMean", {"squares"}, {"variance"}, {axes}),
                   node_of("Add", {"variance", "eps"}, {"positive"}),
                   node_of("Sqrt", {"positive"}, {"deviation"}),
                   node_of("Div", {"apart", "deviation"}, {"made"}),
                   node_of("Cast", {"made"}, {"y"}, {integer_attribute("to", 1)})};
    const std::vector<float> y = run_on(model_of(parts), {300, -300, 0});
    ASSERT_EQ(y.size(), 3U);
    EXPECT_NEAR(y[0], 1.2247F, 4e-3F);
    EXPECT_NEAR(y[1], -1.2247F, 4e-3F);
    EXPECT_EQ(y[2], 0.0F);
  }
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
