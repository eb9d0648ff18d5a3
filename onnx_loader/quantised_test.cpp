// Products of quantised wires with quantised matrices are sums of integers.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "onnx_loader/load.h"
#include "onnx_loader/test_file.h"
#include "onnx_loader/test_run.h"
#include "ops/math/test_support.h"
#include "ops/onnx_table.h"
#include "ops/op_table.h"

namespace rill::onnx {
namespace {

/// Return y = x W of [S, 3] and [3, 2], both of signed bytes; one scale per column, or one for all.
GraphParts product(bool per_column, bool gemm) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, 2})};
  parts.initializers = {
      tensor_of_floats("sx", {}, {0.5F}), tensor_of_floats("one", {}, {0.25F}),
      tensor_of_floats("two", {2}, {0.25F, 2.0F}), tensor_of_floats("bias", {2}, {100.0F, -100.0F}),
      tensor_of_integers("kept", {3, 2}, {3, -5, 7, 11, -128, 127}),
      tensor_of_integers("turned", {2, 3}, {3, 7, -128, -5, 11, 127}),
      tensor_of_integers("point", {}, {-3})};
  const auto to_bytes = [](const std::string& from, const std::string& to) {
    return node_of("Cast", {from}, {to}, {integer_attribute("to", 3)});
  };
  parts.nodes = {to_bytes(gemm ? "turned" : "kept", "w"), to_bytes("point", "zx"),
                 node_of("QuantizeLinear", {"x", "sx", "zx"}, {"q"}),
                 node_of("DequantizeLinear", {"q", "sx", "zx"}, {"a"}),
                 node_of("DequantizeLinear", {"w", per_column ? "two" : "one"}, {"b"},
                         {integer_attribute("axis", gemm ? 0 : 1)})};
  parts.nodes.push_back(gemm ? node_of("Gemm", {"a", "b", "bias"}, {"y"},
                                       {integer_attribute("transB", 1)})
                             : node_of("MatMul", {"a", "b"}, {"y"}));
  return parts;
}

TEST(Quantised, ProductsAreSumsOfIntegers) {
  // `q = np.clip(np.rint(x / 0.5) - 3, -128, 127)`, `((q + 3) * 0.5) @ (w * scale)`: exact in f32.
  const std::vector<float> x = {1, -2, 0.3F, 70, 0, -0.25F};
  const std::vector<float> rows = {1, -2, 0.5F, 65, 0, 0};
  const float w[3][2] = {{3, -5}, {7, 11}, {-128, 127}};
  for (const bool per_column : {false, true}) {
    for (const bool gemm : {false, true}) {
      const Message model = model_of(product(per_column, gemm), 13);
      const auto graph = load_memory(model.span(), {ops::op_table(), ops::onnx_table()});
      ASSERT_TRUE(graph.ok()) << graph.error().to_string();
      const auto out = ops::test::run(*graph, {ops::test::f32({2, 3}, x)});
      ASSERT_TRUE(out.ok()) << out.error().to_string();
      for (size_t i = 0; i < 2; ++i) {
        for (size_t n = 0; n < 2; ++n) {
          float want = 0;
          for (size_t k = 0; k < 3; ++k) want += rows[i * 3 + k] * w[k][n];
          want *= per_column && n == 1 ? 2.0F : 0.25F;
          if (gemm) want += n == 0 ? 100.0F : -100.0F;
          EXPECT_EQ(out->front().data<float>()[i * 2 + n], want) << i << ", " << n;
        }
      }
      const auto bound = graph->with_symbol("S", Dim(2));
      ASSERT_TRUE(bound.ok());
      const auto simple = declutter(*bound);
      ASSERT_TRUE(simple.ok());
      const auto plan = prepare(*simple);
      ASSERT_TRUE(plan.ok()) << plan.error().to_string();
      int products = 0;
      for (const auto& step : (*plan)->steps) {
        products += step.kind->name == std::string_view("byte_product") ? 1 : 0;
      }
      EXPECT_EQ(products, 1);
    }
  }
}

/// Return a padded convolution of bytes, [1, 4, S] by [4, 4 / groups, 3], with scales of 1.
GraphParts convolution(int64_t groups, const std::vector<int64_t>& filter) {
  const int64_t channels = 4 / groups;
  GraphParts parts;
  parts.inputs = {value_info("x", {1, 4, -1}, {"", "", "S"})};
  parts.outputs = {value_info("y", {1, 4, -1}, {"", "", "S"})};
  parts.initializers = {tensor_of_floats("one", {}, {1}),
                        tensor_of_integers("kept", {4, channels, 3}, filter),
                        tensor_of_integers("point", {}, {-3}), tensor_of_integers("none", {}, {0}),
                        tensor_of_integers("start", {4}, {5, -6, 7, -8})};
  const auto cast = [](const std::string& from, const std::string& to, int64_t type) {
    return node_of("Cast", {from}, {to}, {integer_attribute("to", type)});
  };
  constexpr int64_t kI8 = 3, kI32 = 6;
  parts.nodes = {cast("kept", "w", kI8), cast("point", "zx", kI8), cast("none", "zero", kI8),
                 cast("start", "bias", kI32),
                 node_of("QuantizeLinear", {"x", "one", "zx"}, {"q"}),
                 node_of("QLinearConv",
                         {"q", "one", "zx", "w", "one", "zero", "one", "zero", "bias"}, {"r"},
                         {integer_attribute("group", groups), integers_attribute("pads", {2, 0})}),
                 node_of("DequantizeLinear", {"r", "one", "zero"}, {"y"})};
  return parts;
}

// As in onnxruntime, silence does not divide by 0.
TEST(Quantised, ZerosHaveAScaleOfOne) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("s", {})};
  parts.nodes = {node_of("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"})};
  EXPECT_EQ(run_on(model_of(parts), {0, 0, 0}), std::vector<float>{1});
  EXPECT_EQ(run_on(model_of(parts), {0, 0, 510}), std::vector<float>{2});
}

TEST(Quantised, ConvolutionsAreSumsOfIntegers) {
  const std::vector<float> x = {1, -2, 3, 70, 0, -9, 4, 4, 11, 2, -50, 6, 1, 1, -1, 8};
  for (const int64_t groups : {1, 2, 4}) {
    const auto channels = static_cast<size_t>(4 / groups);
    std::vector<int64_t> filter(4 * channels * 3);
    for (size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<int64_t>(i * 7 % 11) - 5;
    const Message model = model_of(convolution(groups, filter), 13);
    const auto graph = load_memory(model.span(), {ops::op_table(), ops::onnx_table()});
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    std::vector<float> want;
    for (size_t o = 0; o < 4; ++o) {
      for (size_t t = 0; t < 4; ++t) {
        float sum = std::vector<float>{5, -6, 7, -8}[o];
        for (size_t c = 0; c < channels; ++c) {
          for (size_t k = 0; k < 3; ++k) {
            const size_t channel = o / channels * channels + c;
            const auto weight = static_cast<float>(filter[(o * channels + c) * 3 + k]);
            if (t + k >= 2) sum += x[channel * 4 + t + k - 2] * weight;
          }
        }
        want.push_back(std::clamp(sum, -128.0F, 127.0F));
      }
    }
    const auto bound = graph->with_symbol("S", Dim(4));
    ASSERT_TRUE(bound.ok());
    const auto simple = declutter(*bound);
    ASSERT_TRUE(simple.ok());
    ops::test::expect_written_and_read(*simple, {ops::test::f32({1, 4, 4}, x)});
    const auto out = ops::test::run(*graph, {ops::test::f32({1, 4, 4}, x)});
    ASSERT_TRUE(out.ok()) << out.error().to_string();
    ops::test::expect_same(out->front(), ops::test::f32({1, 4, 4}, want));
    ops::test::expect_streams(*graph, 2, {1, 3, 8}, {1, 4, 19}, {0, 0, 0});
    // Sums are not computed in f64, which has no fast kernel.
    for (const Node& node : simple->nodes) {
      for (const Fact& fact : node.outputs) EXPECT_NE(fact.dtype, DType::kF64) << node.name;
    }
  }
}

}  // namespace
}  // namespace rill::onnx
