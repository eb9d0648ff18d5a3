// Weights that f16 represents exactly are stored as f16. Matmuls and convolutions then give the
// same bits as with f32 weights.

#include <random>

#include "core/exec/plan.h"
#include "kernels/cpu.h"
#include "ops/array/slice.h"
#include "ops/math/test_support.h"
#include "ops/nn/einsum.h"
#include "ops/nn/test_weighed.h"

namespace rill::ops::test {
namespace {

using kernels::Tier;

/// Return numbers in (-2, 2) that f16 represents exactly, as f32; the last one is inexact if
/// `!all`.
Tensor random_f16(uint32_t seed, std::vector<int64_t> shape, bool all) {
  std::mt19937 random(seed);
  Tensor out = std::move(Tensor::zeros(DType::kF32, std::move(shape))).value();
  for (int64_t i = 0; i < out.volume(); ++i) {
    const auto sign = static_cast<uint32_t>(random() % 2) << 15;
    const auto bits = static_cast<uint16_t>(sign | random() % 0x4000);
    Half half;
    half.bits = bits;
    out.mutable_data<float>()[i] = static_cast<float>(half);
  }
  if (!all) out.mutable_data<float>()[out.volume() - 1] = 0.1F;
  return out;
}

/// Return a graph that applies the op to x and weights, then cuts off the last of `channels` on
/// `axis`, the only one that the inexact weight reaches.
Graph graph_with(const OpPtr& op, const std::vector<int64_t>& x_shape, const Tensor& weights,
                 int64_t axis, int64_t channels) {
  Graph g;
  const OutletId y = add_weighed(&g, op, x_shape, weights);
  const auto slice = make_op<Slice>(axis, Dim(0), Dim(channels - 1));
  const auto kept = g.add("kept", slice, {y});
  EXPECT_TRUE(kept.ok()) << kept.error().to_string();
  g.add_output("kept", kept->front());
  return g;
}

void expect_same_bits(const OpPtr& op, const std::vector<int64_t>& x_shape,
                      const std::vector<int64_t>& w_shape, int64_t axis, int64_t channels) {
  const Graph narrow = graph_with(op, x_shape, random_f16(1, w_shape, true), axis, channels);
  const Graph floats = graph_with(op, x_shape, random_f16(1, w_shape, false), axis, channels);
  const Tensor x = random_f32(2, x_shape);
  for (const Tier tier : {Tier::kScalar, Tier::kAvx2, Tier::kAvx512, Tier::kNeon}) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    EXPECT_LE(weight_bytes(narrow) * 10, weight_bytes(floats) * 6) << kernels::tier_name(tier);
    expect_same(run(narrow, {x}).value()[0], run(floats, {x}).value()[0]);
  }
  kernels::clear_tier_limit();
}

TEST(F16Product, ProductsHaveTheBitsOfWeightsOf32Bits) {
  for (const int64_t rows : {1, 3, 8, 40}) {
    auto op = draft_op<EinSum>();
    op->expr = "mk,kn->mn";
    expect_same_bits(op, {rows, 96}, {96, 161}, 1, 161);
    op->expr = "mk,nk->mn";
    expect_same_bits(op, {rows, 96}, {161, 96}, 1, 161);
  }
  auto op = draft_op<EinSum>();
  op->expr = "bmk,bkn->bmn";
  expect_same_bits(op, {3, 5, 64}, {3, 64, 65}, 2, 65);
}

TEST(F16Product, ConvolutionsHaveTheBitsOfWeightsOf32Bits) {
  for (const int64_t frames : {4, 40}) {
    expect_same_bits(padded_conv({3}, {1}, 1), {2, 48, frames}, {65, 48, 3}, 1, 65);
    expect_same_bits(padded_conv({3}, {2}, 1), {1, 48, frames + 2}, {65, 48, 3}, 1, 65);
    expect_same_bits(padded_conv({3}, {1}, 2), {1, 96, frames}, {66, 48, 3}, 1, 66);
  }
  expect_same_bits(padded_conv({3, 3}, {1, 2}, 1), {1, 20, 7, 9}, {49, 20, 3, 3}, 1, 49);
}

TEST(F16Product, OfF16RoundsOnce) {
  const Tensor x = std::move(cast(random_f32(3, {5, 96}), DType::kF16)).value();
  const Tensor w = std::move(cast(random_f32(4, {96, 130}), DType::kF16)).value();
  EinSum op;
  op.expr = "mk,kn->mn";
  const Tensor want = eval(op, {x, w}).value()[0];
  Graph g;
  const OutletId source = g.add_source("x", Fact::of(DType::kF16, {Dim(5), Dim(96)}));
  const OutletId weights = g.add_const("w", std::make_shared<const Tensor>(w));
  const auto y = g.add("y", make_op<EinSum>(op), {source, weights});
  ASSERT_TRUE(y.ok()) << y.error().to_string();
  g.add_output("y", y->front());
  for (const Tier tier : {Tier::kScalar, Tier::kAvx2, Tier::kAvx512, Tier::kNeon}) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    expect_same(run(g, {x}).value()[0], want);
  }
  kernels::clear_tier_limit();
}

}  // namespace
}  // namespace rill::ops::test
