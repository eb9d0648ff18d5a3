// Int8 matmuls in plans: the integers that the graph computes node by node, on every tier.

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

/// Expect that the graph prepared with optimised forms gives the same bits as without them, with at
/// most `nodes` nodes.
void expect_fused(const std::vector<Input>& inputs, std::string_view statements,
                  const std::vector<Tensor>& x, size_t nodes) {
  const Graph graph = graph_of(inputs, statements);
  const auto want = run(graph, x, false);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  for (const Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    expect_same(run(graph, x).value()[0], (*want)[0]);
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
      expect_fused({{"x", "9, 3", type}}, text, {bytes(1, dtype, {9, 3})}, 1);
    }
  }
}

TEST(ByteProduct, OfSumsIsOneNode) {
  const char* text =
      "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 127], [1, 2, 3, 4]], to = 'i32');"
      " y = matmul(tract_core_cast(x, to = 'i32'), w);";
  expect_fused({{"x", "9, 3", "u8"}}, text, {bytes(2, DType::kU8, {9, 3})}, 1);
}

/// Two roundings of the same sums stay two nodes.
TEST(ByteProduct, IsNotMergedWithOneOfAnotherScale) {
  const std::string call =
      "tract_core_einsum_q([x, w], expr = 'mk,kn,,,,,,,->mn', acc = 'i32', output = 'i8', bias = 5,"
      " a0 = 11, a_scale = 0.01, b0 = -2, b_scale = 0.25, c0 = 3, c_scale = ";
  const std::string text = str_cat(
      "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 127], [1, 2, 3, 4]], to = 'i8');",
      " y = concat([", call, "0.07), ", call, "0.02)], axis = 0);");
  expect_fused({{"x", "9, 3", "i8"}}, text, {bytes(4, DType::kI8, {9, 3})}, 3);
}

/// Computed zero points, such as those of a measured range, and a bias.
TEST(ByteProduct, OfSumsLessAComputedZeroPointIsOneNode) {
  for (const char* type : {"i8", "u8"}) {
    const DType dtype = *dtype_from_name(type);
    for (const char* bias : {"", " + tract_core_cast([[9, -99, 999, 3]], to = 'i32')"}) {
      for (const double zero : {0.0, 3.0, 127.0, dtype == DType::kU8 ? 255.0 : -128.0}) {
        const std::string text = str_cat(
            "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 127], [1, 2, 3, 4]], to = 'i32');"
            " y = matmul(tract_core_cast(x, to = 'i32') - tract_core_cast(z, to = 'i32'), w)",
            bias, ";");
        expect_fused({{"x", "9, 3", type}, {"z", "1, 1", type}}, text,
                     {bytes(5, dtype, {9, 3}), typed(dtype, {1, 1}, {zero})}, 2);
      }
    }
  }
}

/// f64 filters with values of bytes; windows overlap, leave gaps, and reach past the border.
TEST(ByteProduct, OfConvolutionsLessAComputedZeroPointIsOneNode) {
  const char* windows[] = {
      "padding = [(0, 0)]", "padding = [(2, 1)]", "padding = [(1, 2)], stride = [2]",
      "padding = [(4, 4)], dilation = [3]", "padding = [(3, 0)], stride = [3], dilation = [2]"};
  for (const char* type : {"i8", "u8"}) {
    const DType dtype = *dtype_from_name(type);
    const double zero = dtype == DType::kU8 ? 201.0 : -77.0;
    for (const char* window : windows) {
      for (const char* bias : {"0.0", "tract_core_cast([7, -70], to = 'f64')"}) {
        const std::string text = str_cat(
            "w = tract_core_cast([[[5, -3, 127], [-128, 7, 1]], [[9, 2, 3], [4, -100, 6]]],",
            " to = 'f64'); y = tract_core_cast(conv(tract_core_cast(x, to = 'f64') -",
            " tract_core_cast(z, to = 'f64'), w, ", bias, ", ", window, "), to = 'i32');");
        expect_fused({{"x", "3, 2, 11", type}, {"z", "1, 1, 1", type}}, text,
                     {bytes(6, dtype, {3, 2, 11}), typed(dtype, {1, 1, 1}, {zero})}, 2);
      }
    }
  }
}

TEST(ByteProduct, OfImagesIsOneNode) {
  for (const char* window : {"padding = [(0, 0), (0, 0)]",
                             "padding = [(1, 1), (2, 0)], stride = [2, 1]",
                             "padding = [(2, 2), (0, 0)], dilation = [2, 1]",
                             "padding = [(1, 0), (2, 2)], dilation = [1, 2], stride = [1, 3]"}) {
    const std::string text = str_cat(
        "w = tract_core_cast([[[[5, -3], [127, -128]], [[7, 1], [0, 2]]]], to = 'f64');"
        " y = tract_core_cast(conv(tract_core_cast(x, to = 'f64') -",
        " tract_core_cast(z, to = 'f64'), w, 0.0, ", window, "), to = 'i32');");
    expect_fused({{"x", "2, 2, 7, 9", "u8"}, {"z", "1, 1, 1, 1", "u8"}}, text,
                 {bytes(7, DType::kU8, {2, 2, 7, 9}), typed(DType::kU8, {1, 1, 1, 1}, {99.0})}, 2);
  }
}

/// Columns with separate zero points, which make weights of 9 bits.
TEST(ByteProduct, OfWeightsOf9BitsIsOneNode) {
  for (const char* weights : {"[[255, -99, 0], [-100, 31, 1]]", "[[-255, 7, 99], [1, 100, -2]]",
                              "[[128, -128, 1], [127, -127, -1]]"}) {
    const std::string text = str_cat(
        "w = tract_core_cast(", weights, ", to = 'i32');",
        " y = matmul(tract_core_cast(x, to = 'i32') - tract_core_cast(z, to = 'i32'), w);");
    expect_fused({{"x", "37, 2", "u8"}, {"z", "1, 1", "u8"}}, text,
                 {bytes(8, DType::kU8, {37, 2}), typed(DType::kU8, {1, 1}, {131.0})}, 2);
  }
}

TEST(ByteProduct, OfTheLargestWeightsStaysUnchanged) {
  for (const char* weights : {"[[0, 2147483647], [5, -3]]", "[[-2147483648, 2147483647], [5, 3]]",
                              "[[2147483647, 2147483140], [2147483646, 2147483147]]"}) {
    const std::string text = str_cat("w = tract_core_cast(", weights, ", to = 'i32');",
                                     " y = matmul(tract_core_cast(x, to = 'i32'), w);");
    expect_fused({{"x", "37, 2", "u8"}}, text, {bytes(8, DType::kU8, {37, 2})}, 3);
  }
}

TEST(ByteProduct, WithWeightsThatAreNoBytesStaysUnchanged) {
  const char* text =
      "w = tract_core_cast([[5, -3, 100, -128], [0, 7, -9, 1270], [1, 2, 3, 4]], to = 'i32');"
      " y = matmul(tract_core_cast(x, to = 'i32'), w);";
  expect_fused({{"x", "9, 3", "u8"}}, text, {bytes(3, DType::kU8, {9, 3})}, 2);
}

}  // namespace
}  // namespace rill::ops::test
