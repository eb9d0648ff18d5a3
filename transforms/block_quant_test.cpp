#include "transforms/block_quant.h"

#include <cmath>

#include "ops/math/test_support.h"

namespace rill::transforms {
namespace {

using ops::test::f32;
using ops::test::graph_of;
using ops::test::run;

std::string list(const std::vector<float>& values) {
  std::string out;
  for (const float v : values)
    out += str_cat(out.empty() ? "" : ", ", v, v == std::floor(v) ? ".0" : "");
  return "[" + out + "]";
}

/// Levels 0 to 15 twice, times a scale: values that Q4_0 holds exactly.
std::vector<float> levels(float scale) {
  std::vector<float> out;
  for (int i = 0; i < 32; ++i) out.push_back(static_cast<float>(i % 16 - 8) * scale);
  return out;
}

const Tensor* blocks_of(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const TensorPtr& value = node.outputs[0].konst;
    if (value && value->block_format() == BlockFormat::kQ4_0) return value.get();
  }
  return nullptr;
}

TEST(BlockQuant, KeepsValuesThatFourBitsHold) {
  const Graph graph =
      graph_of({{"x", "1, 32"}}, str_cat("y = matmul(x, [", list(levels(0.5F)), ", ",
                                         list(levels(2.0F)), "], transposeB = true);"));
  const auto packed = with_block_quantised_weights(graph);
  ASSERT_TRUE(packed.ok()) << packed.error().to_string();
  ASSERT_NE(blocks_of(*packed), nullptr);
  EXPECT_EQ(blocks_of(*packed)->shape(), (std::vector<int64_t>{2, 32}));
  std::vector<float> x;
  for (int i = 0; i < 32; ++i) x.push_back(static_cast<float>(i));
  const std::vector<Tensor> input = {f32({1, 32}, x)};
  const auto plain = run(graph, input);
  const auto fewer = run(*packed, input);
  ASSERT_TRUE(plain.ok() && fewer.ok());
  ops::test::expect_same((*fewer)[0], (*plain)[0]);
}

/// 1 is the farthest: the scale is -0.125. 0.3 / -0.125 + 8.5 = 6.1, level 6, stands for 0.25; -1
/// would be level 16.5, and is cut to 15, -0.875.
TEST(BlockQuant, RoundsToTheNearestLevel) {
  std::vector<float> row(32, 0.0F);
  row[0] = 1.0F;
  row[1] = 0.3F;
  row[17] = -1.0F;
  const auto packed = with_block_quantised_weights(
      graph_of({{"x", "1, 32"}}, str_cat("y = matmul(x, [", list(row), "], transposeB = true);")));
  ASSERT_TRUE(packed.ok());
  ASSERT_NE(blocks_of(*packed), nullptr);
  const Tensor plain = dequantised(*blocks_of(*packed)).value();
  EXPECT_EQ(plain.values<float>()[0], 1.0F);
  EXPECT_EQ(plain.values<float>()[1], 0.25F);
  EXPECT_EQ(plain.values<float>()[2], 0.0F);
  EXPECT_EQ(plain.values<float>()[17], -0.875F);
}

TEST(BlockQuant, TransposesAndLeavesAlone) {
  std::string columns;
  for (const float v : levels(1.0F)) columns += str_cat(columns.empty() ? "" : ", ", "[", v, ".0]");
  const Graph graph = graph_of({{"x", "1, 32"}}, str_cat("y = matmul(x, [", columns, "]);"));
  const auto packed = with_block_quantised_weights(graph);
  ASSERT_TRUE(packed.ok());
  ASSERT_NE(blocks_of(*packed), nullptr);
  EXPECT_EQ(blocks_of(*packed)->shape(), (std::vector<int64_t>{1, 32}));
  const std::vector<Tensor> x = {ops::test::random_f32(1, {1, 32})};
  EXPECT_TRUE(run(*packed, x).ok());
  const Graph odd = graph_of({{"x", "1, 3"}}, "y = matmul(x, [[1.0], [2.0], [3.0]]);");
  const auto same = with_block_quantised_weights(odd);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(blocks_of(*same), nullptr);
}

}  // namespace
}  // namespace rill::transforms
