// Operators of f16 that would round, or overflow, in between are computed in f32.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/splitmix.h"
#include "core/tensor/tensor.h"
#include "onnx_loader/test_file.h"
#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

constexpr int64_t kF16 = 10;

/// Return an operator of that opset on x [S, 3], cast to a type and back.
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

double to_f16(double x) {
  const auto number = cast(Tensor::scalar(static_cast<float>(x)), DType::kF16);
  return *element_as_double(*number, 0);
}

/// A reduction or norm over three numbers, and its result for the first one.
struct Norm {
  const char* op;
  double most;  ///< the largest amplitude for which results are in the range of f16
  double (*expected)(const std::array<double, 3>& x);
};

double mean_of(const std::array<double, 3>& x) { return (x[0] + x[1] + x[2]) / 3; }
double length_of(const std::array<double, 3>& x) { return std::hypot(x[0], x[1], x[2]); }

const Norm kNorms[] = {
    {"ReduceMean", 6e4, mean_of},
    {"ReduceL2", 3e4, length_of},
    {"ReduceL1", 2e4,
     [](const std::array<double, 3>& x) {
       return std::abs(x[0]) + std::abs(x[1]) + std::abs(x[2]);
     }},
    {"ReduceSumSquare", 100,
     [](const std::array<double, 3>& x) { return length_of(x) * length_of(x); }},
    {"ReduceLogSumExp", 6e4,
     [](const std::array<double, 3>& x) {
       const double most = std::max({x[0], x[1], x[2]});
       return std::log(std::exp(x[0] - most) + std::exp(x[1] - most) + std::exp(x[2] - most)) +
              most;
     }},
    {"LpNormalization", 6e4,
     [](const std::array<double, 3>& x) { return x[0] / length_of(x); }},
    {"LayerNormalization", 6e4,
     [](const std::array<double, 3>& x) {
       const double m = mean_of(x);
       const double variance = mean_of({(x[0] - m) * (x[0] - m), (x[1] - m) * (x[1] - m),
                                        (x[2] - m) * (x[2] - m)});
       return (x[0] - m) / std::sqrt(variance + 1e-5);
     }},
};

// Inputs and outputs are rounded once: half a step of f16 at 1 is 2^-11.
TEST(InF32, ReductionsAndNormsAreThoseOfF64) {
  Splitmix64 random(1);
  for (int i = 0; i < 700; ++i) {
    const Norm& norm = kNorms[i % std::size(kNorms)];
    const double least = std::log10(1e-4);
    const double amplitude =
        std::pow(10.0, least + (std::log10(norm.most) - least) * random.unit());
    std::array<double, 3> x{};
    for (double& each : x) each = to_f16(amplitude * (2 * random.unit() - 1));
    const std::string_view op = norm.op;
    GraphParts parts;
    parts.inputs = {value_info("x", {-1, 3}, {"S"})};
    parts.outputs = {value_info("y", {-1, -1})};
    parts.initializers = {tensor_of_floats("one", {3}, {1, 1, 1})};
    std::vector<std::string> inputs = {"narrow"};
    if (op == "LayerNormalization") inputs.emplace_back("scale");
    std::vector<Message> attributes;
    if (op.starts_with("Reduce")) attributes = {integers_attribute("axes", {1})};
    parts.nodes = {node_of("Cast", {"x"}, {"narrow"}, {integer_attribute("to", kF16)}),
                   node_of("Cast", {"one"}, {"scale"}, {integer_attribute("to", kF16)}),
                   node_of(op, inputs, {"made"}, attributes),
                   node_of("Cast", {"made"}, {"y"}, {integer_attribute("to", 1)})};
    const std::vector<float> y =
        run_on(model_of(parts), {static_cast<float>(x[0]), static_cast<float>(x[1]),
                                 static_cast<float>(x[2])});
    ASSERT_FALSE(y.empty()) << op;
    const double want = norm.expected(x);
    // Where terms cancel, the largest of them counts. Norms are at most 2.
    const double scale = y.size() == 1 ? amplitude : 2;
    EXPECT_NEAR(y[0], want, 1e-3 * std::max(std::abs(want), 0.1 * scale) + 0x1p-24)
        << op << " of " << x[0] << ", " << x[1] << ", " << x[2];
  }
}

// f32 wires next to it stay f32.
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

// By the standard, the sampled input and the output have one type; the places may have another.
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
