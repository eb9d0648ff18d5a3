// Products of bytes in plans: the integers that the graph gives node by node, on every tier.

#include "core/exec/plan.h"
#include "kernels/cpu.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

using kernels::Tier;

Tensor bytes(uint32_t seed, DType type, std::vector<int64_t> shape) {
  Tensor noise = random_f32(seed, shape);
  std::vector<double> values;
  const double middle = type == DType::kU8 ? 127.5 : -0.5;
  for (const float value : noise.values<float>()) values.push_back(64.0 * value + middle);
  return typed(type, std::move(shape), values);
}

/// Expect that the graph prepared with faster forms gives the bits that it gives without them, with
/// that many nodes at most.
void expect_fused(const std::vector<Input>& inputs, std::string_view statements, const Tensor& x,
                  size_t nodes) {
  const Graph graph = graph_of(inputs, statements);
  const auto want = run(graph, {x}, false);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  for (const Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    expect_same(run(graph, {x}).value()[0], (*want)[0]);
  }
  kernels::clear_tier_limit();
  size_t computing = 0;
  const auto plan = prepare(graph_of(inputs, statements));
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  for (const PlanNode& node : (*plan)->nodes) {
    computing += node.op.view() != "Source" && node.op.view() != "Const" ? 1 : 0;
  }
  EXPECT_LE(computing, nodes);
}

TEST(ByteProduct, OfScaledIntegersIsOneNode) {
  for (const char* type : {"i8", "u8"}) {
    const DType dtype = *dtype_from_name(type);
    for (const char* output : {"i8", "u8"}) {
      const std::string text = str_cat(
          "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 127], [1, 2, 3, 4]], to = 'i8');"
          " y = tract_core_einsum_q([x, w], expr = 'mk,kn,,,,,,,->mn', acc = 'i32', output = '",
          output, "', bias = 5, a0 = 11, a_scale = 0.01, b0 = -2, b_scale = 0.25, c0 = 3,",
          " c_scale = 0.07);");
      expect_fused({{"x", "9, 3", type}}, text, bytes(1, dtype, {9, 3}), 1);
    }
  }
}

TEST(ByteProduct, OfSumsIsOneNode) {
  const char* text =
      "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 127], [1, 2, 3, 4]], to = 'i32');"
      " y = matmul(tract_core_cast(x, to = 'i32'), w);";
  expect_fused({{"x", "9, 3", "u8"}}, text, bytes(2, DType::kU8, {9, 3}), 1);
}

/// Two roundings of the same sums are two nodes.
TEST(ByteProduct, IsNotMergedWithOneOfAnotherScale) {
  const std::string call =
      "tract_core_einsum_q([x, w], expr = 'mk,kn,,,,,,,->mn', acc = 'i32', output = 'i8', bias = 5,"
      " a0 = 11, a_scale = 0.01, b0 = -2, b_scale = 0.25, c0 = 3, c_scale = ";
  const std::string text = str_cat(
      "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 127], [1, 2, 3, 4]], to = 'i8');",
      " y = concat([", call, "0.07), ", call, "0.02)], axis = 0);");
  expect_fused({{"x", "9, 3", "i8"}}, text, bytes(4, DType::kI8, {9, 3}), 3);
}

TEST(ByteProduct, WithWeightsThatAreNoBytesStaysWhatItIs) {
  const char* text =
      "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 1270], [1, 2, 3, 4]], to = 'i32');"
      " y = matmul(tract_core_cast(x, to = 'i32'), w);";
  expect_fused({{"x", "9, 3", "u8"}}, text, bytes(3, DType::kU8, {9, 3}), 2);
}

}  // namespace
}  // namespace rill::ops::test
