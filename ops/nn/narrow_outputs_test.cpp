// Layers of few outputs: their packed weights take little more memory than in the file, and their
// results follow the definition, in every tier.

#include <algorithm>
#include <random>

#include "kernels/cpu.h"
#include "ops/math/test_support.h"
#include "ops/nn/deconv.h"
#include "ops/nn/einsum.h"
#include "ops/nn/test_weighed.h"

namespace rill::ops::test {
namespace {

using kernels::Tier;

/// Call `f` with each tier of this CPU as the limit.
template <class F>
void on_every_tier(F f) {
  for (const Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    f(tier);
  }
  kernels::clear_tier_limit();
}

/// Expect packed weights of `rows` values for each of `columns` columns. Columns fill vectors of 8,
/// or of 16 if there are more. Each of `products` is rounded up to whole cache lines.
void expect_packed(const OpPtr& op, const std::vector<int64_t>& x_shape, const Tensor& weights,
                   int64_t columns, int64_t products = 1) {
  Graph graph;
  graph.add_output("y", add_weighed(&graph, op, x_shape, weights));
  const Tensor x = random_f32(2, x_shape);
  const int64_t lanes = columns <= 8 ? 8 : 16;
  const int64_t most = weights.size_bytes() * ((columns + lanes - 1) / lanes * lanes) / columns;
  on_every_tier([&](Tier tier) {
    EXPECT_LE(weight_bytes(graph), most + products * 64)
        << op->name() << " of " << columns << " columns, " << kernels::tier_name(tier);
    expect_near(run(graph, {x}).value()[0], eval(*op, {x, weights}).value()[0], 1e-4, 1e-5);
  });
}

TEST(NarrowOutputs, ProductsPackTheVectorsThatColumnsFill) {
  auto op = draft_op<EinSum>();
  op->expr = "mk,nk->mn";
  for (int64_t columns = 1; columns <= 16; ++columns) {
    for (const int64_t rows : {1, 2, 7, 33}) {
      expect_packed(op, {rows, 32}, random_f32(1, {columns, 32}), columns);
    }
  }
}

TEST(NarrowOutputs, ConvolutionsPackTheVectorsThatChannelsFill) {
  for (int64_t columns = 1; columns <= 16; ++columns) {
    expect_packed(padded_conv({3}, {2}, 1), {1, 24, 19}, random_f32(1, {columns, 24, 3}), columns);
    expect_packed(padded_conv({3, 3}, {1, 1}, 1), {1, 8, 5, 9},
                  random_f32(1, {columns, 8, 3, 3}), columns);
  }
}

/// A transposed convolution along one axis.
std::shared_ptr<Deconv> deconv(int64_t kernel, int64_t stride, int64_t before, int64_t after) {
  auto op = draft_op<Deconv>();
  op->has_bias = false;
  op->window.kernel = {kernel};
  op->window.stride = {stride};
  op->window.dilation = {1};
  op->window.padding = {{before, after}};
  op->extra = {0};
  return op;
}

TEST(NarrowOutputs, PhasesOfATransposedConvolutionShareVectors) {
  std::mt19937 random(7);
  const auto drawn = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random()) % (high - low + 1);
  };
  for (int round = 0; round < 40; ++round) {
    const int64_t channels = drawn(1, 3), stride = drawn(16, 90), taps = drawn(1, 3);
    const int64_t before = drawn(0, 1) * drawn(0, stride - 1);
    // Where the cut ends, phases read other frames: two matmuls.
    const int64_t columns = before == 0 ? stride * channels : 1;
    const Tensor weights = random_f32(static_cast<uint32_t>(round), {channels, 12, taps * stride});
    const auto op = deconv(taps * stride, stride, before, drawn(0, before));
    Graph graph;
    graph.add_output("y", add_weighed(&graph, op, {1, 12, 6}, weights));
    if (before == 0 && columns >= 64) {
      EXPECT_LE(weight_bytes(graph), weights.size_bytes() * 13 / 10 + 64) << stride;
    }
    const Tensor x = random_f32(3, {1, 12, 6});
    on_every_tier([&](Tier) {
      expect_near(run(graph, {x}).value()[0], eval(*op, {x, weights}).value()[0], 1e-4, 1e-5);
    });
  }
}

}  // namespace
}  // namespace rill::ops::test
