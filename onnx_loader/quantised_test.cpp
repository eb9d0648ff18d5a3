// Products of quantised wires with quantised matrices are sums of integers.

#include <gtest/gtest.h>

#include <vector>

#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "onnx_loader/load.h"
#include "onnx_loader/test_file.h"
#include "ops/math/test_support.h"
#include "ops/onnx_table.h"
#include "ops/op_table.h"

namespace rill::onnx {
namespace {

/// y = x W of [S, 3] and [3, 2], both of signed bytes; one scale per column, or one in all.
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

}  // namespace
}  // namespace rill::onnx
