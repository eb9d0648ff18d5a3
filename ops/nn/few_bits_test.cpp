// Quantization of weights on request. Weights that fit the format without rounding give the bits of
// f32 wherever no sum rounds. The plan reports the weights that it kept unchanged, with the reason.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/exec/plan.h"
#include "kernels/cpu.h"
#include "ops/math/test_support.h"
#include "ops/nn/einsum.h"
#include "ops/nn/test_weighed.h"

namespace rill::ops::test {
namespace {

using kernels::Tier;

/// The formats that round only weights, and all formats.
constexpr WeightFormat kFormats[] = {WeightFormat::kF16, WeightFormat::kQ8, WeightFormat::kQ4};
constexpr WeightFormat kAllFormats[] = {WeightFormat::kF16, WeightFormat::kQ8, WeightFormat::kQ4,
                                        WeightFormat::kInt8};

/// Return weights that every format represents exactly: one number per row of the first axis, and
/// zeros.
Tensor exact_weights(uint32_t seed, std::vector<int64_t> shape) {
  std::mt19937 random(seed);
  Tensor out = std::move(Tensor::zeros(DType::kF32, std::move(shape))).value();
  const int64_t row = out.volume() / out.extent(0);
  for (int64_t i = 0; i < out.volume(); ++i) {
    const int64_t at = i / row;
    const auto size = std::ldexp(at % 2 == 0 ? 127.0F : -127.0F, -static_cast<int>(5 + at % 4));
    out.mutable_data<float>()[i] = random() % 3 == 0 ? 0.0F : size;
  }
  return out;
}

/// Return integers so small that no sum of their products with `exact_weights` rounds.
Tensor whole_numbers(uint32_t seed, std::vector<int64_t> shape) {
  std::mt19937 random(seed);
  Tensor out = std::move(Tensor::zeros(DType::kF32, std::move(shape))).value();
  for (int64_t i = 0; i < out.volume(); ++i) {
    out.mutable_data<float>()[i] = static_cast<float>(random() % 33) - 16.0F;
  }
  return out;
}

Graph graph_with(const OpPtr& op, const std::vector<int64_t>& x_shape, const Tensor& weights) {
  Graph g;
  g.add_output("y", add_weighed(&g, op, x_shape, weights));
  return g;
}

void expect_exact(const OpPtr& op, const std::vector<int64_t>& x_shape,
                  const std::vector<int64_t>& w_shape) {
  const Graph graph = graph_with(op, x_shape, exact_weights(1, w_shape));
  const Tensor x = whole_numbers(2, x_shape);
  for (const Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    const Tensor want = run(graph, {x}).value()[0];
    for (const WeightFormat format : kFormats) {
      WeightChoice choice;
      choice.format = format;
      expect_same(run(graph, {x}, true, &choice).value()[0], want);
      ASSERT_EQ(choice.layers.size(), 1U);
      const WeightLayer& layer = choice.layers[0];
      EXPECT_EQ(layer.kept, "") << kernels::tier_name(tier);
      const int64_t most = format == WeightFormat::kF16  ? 51
                           : format == WeightFormat::kQ8 ? 29
                                                         : 18;  // 28 bytes of 164 for k = 41
      EXPECT_LE(layer.bytes * 100, layer.f32_bytes * most) << kernels::tier_name(tier);
    }
  }
  kernels::clear_tier_limit();
}

TEST(FewBits, ProductsOfExactWeightsHaveTheSameBits) {
  for (const int64_t rows : {1, 2, 5, 40}) {
    auto op = draft_op<EinSum>();
    op->expr = "mk,nk->mn";
    expect_exact(op, {rows, 96}, {161, 96});
    expect_exact(op, {rows, 41}, {64, 41});
  }
  auto op = draft_op<EinSum>();
  op->expr = "bmk,bnk->bmn";
  expect_exact(op, {3, 5, 64}, {3, 65, 64});
}

TEST(FewBits, ConvolutionsOfExactWeightsHaveTheSameBits) {
  for (const int64_t frames : {3, 40}) {
    expect_exact(padded_conv({3}, {1}, 1), {2, 43, frames}, {64, 43, 3});
    expect_exact(padded_conv({3}, {2}, 1), {1, 43, frames + 2}, {65, 43, 3});
    expect_exact(padded_conv({3}, {1}, 2), {1, 96, frames}, {66, 48, 3});
  }
  expect_exact(padded_conv({3, 3}, {1, 2}, 1), {1, 20, 7, 9}, {49, 20, 3, 3});
}

TEST(FewBits, NoLayerTakesMoreMemoryThanInF32) {
  for (const Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    for (const WeightFormat format : kFormats) {
      int in_f32 = 0;
      for (const int64_t outputs : {1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 33, 100}) {
        for (const int64_t k : {1, 3, 8, 31, 64, 100}) {
          auto op = draft_op<EinSum>();
          op->expr = "mk,nk->mn";
          WeightChoice choice;
          choice.format = format;
          ASSERT_TRUE(run(graph_with(op, {2, k}, exact_weights(3, {outputs, k})),
                          {whole_numbers(4, {2, k})}, true, &choice)
                          .ok());
          ASSERT_EQ(choice.layers.size(), 1U);
          const WeightLayer& layer = choice.layers[0];
          EXPECT_EQ(layer.bytes < layer.f32_bytes, layer.kept.empty()) << outputs << " x " << k;
          EXPECT_LE(layer.bytes, layer.f32_bytes) << outputs << " x " << k;
          in_f32 += layer.kept.empty() ? 0 : 1;
        }
      }
      EXPECT_LT(in_f32, 72) << "no layer has fewer bits";
    }
  }
  kernels::clear_tier_limit();
}

/// Return elements [begin, begin + count) of an axis.
Tensor part_of(const Tensor& x, int axis, int64_t begin, int64_t count) {
  std::vector<int64_t> shape;
  for (int i = 0; i < x.rank(); ++i) shape.push_back(i == axis ? count : x.extent(i));
  int64_t outer = 1;
  int64_t inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.extent(i);
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  Tensor out = std::move(Tensor::zeros(DType::kF32, std::move(shape))).value();
  for (int64_t i = 0; i < outer; ++i) {
    const float* from = x.data<float>() + (i * x.extent(axis) + begin) * inner;
    std::copy_n(from, count * inner, out.mutable_data<float>() + i * count * inner);
  }
  return out;
}

Tensor run_with(const OpPtr& op, const Tensor& x, const Tensor& weights, WeightFormat format) {
  WeightChoice choice;
  choice.format = format;
  std::vector<int64_t> shape;
  for (int i = 0; i < x.rank(); ++i) shape.push_back(x.extent(i));
  auto out = run(graph_with(op, shape, weights), {x}, true, &choice);
  EXPECT_EQ(choice.layers.size(), 1U);
  return std::move(out).value()[0];
}

/// Parts of the rows of matmuls, and of the frames of convolutions, in all sizes: kernels have
/// separate loops for many rows, and blocks of weights begin anywhere among the taps of a
/// convolution.
TEST(FewBits, AnyNumberOfRowsHasTheSameBits) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (const Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    for (int i = 0; i < 32; ++i) {
      const WeightFormat format = kAllFormats[i % 4];
      const int64_t rows = draw(4, 60);
      const int64_t least = format == WeightFormat::kInt8 ? 8 : 1;
      const int64_t k = draw(least, 150);
      const int64_t n = draw(least, 80);
      const int64_t count = draw(4, i / 4 % 2 == 0 ? 8 : rows);
      const int64_t begin = draw(0, std::max<int64_t>(0, rows - count));
      const int64_t taken = std::min(count, rows - begin);
      SCOPED_TRACE(str_cat(kernels::tier_name(tier), ": ", rows, "x", k, "x", n));
      auto product = draft_op<EinSum>();
      product->expr = "mk,nk->mn";
      const Tensor x = random_f32(random(), {rows, k});
      const Tensor w = random_f32(random(), {n, k});
      expect_same(run_with(product, part_of(x, 0, begin, taken), w, format),
                  part_of(run_with(product, x, w, format), 0, begin, taken));
      // The first result of a part reads padding.
      const auto conv = padded_conv({3}, {1}, 1);
      const Tensor frames = random_f32(random(), {1, k, rows});
      const Tensor taps = random_f32(random(), {n, k, 3});
      const Tensor all = run_with(conv, frames, taps, format);
      const Tensor some = run_with(conv, part_of(frames, 2, begin, taken), taps, format);
      expect_same(part_of(some, 2, 1, taken - 2), part_of(all, 2, begin + 1, taken - 2));
    }
  }
  kernels::clear_tier_limit();
}

/// Return the report of the only layer of a matmul with these weights.
WeightLayer kept_layer(const Tensor& weights, WeightFormat format) {
  auto op = draft_op<EinSum>();
  op->expr = "mk,nk->mn";
  const Graph graph = graph_with(op, {2, weights.extent(1)}, weights);
  const Tensor x = random_f32(3, {2, weights.extent(1)});
  WeightChoice choice;
  choice.format = format;
  expect_same(run(graph, {x}, true, &choice).value()[0], run(graph, {x}).value()[0]);
  EXPECT_EQ(choice.layers.size(), 1U);
  return choice.layers.empty() ? WeightLayer() : choice.layers[0];
}

TEST(FewBits, WeightsBeyondAllScalesStayUnchanged) {
  const auto weights = [](float value) {
    Tensor out = random_f32(4, {8, 40});
    out.mutable_data<float>()[77] = value;
    return out;
  };
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const WeightFormat format : kAllFormats) {
    EXPECT_EQ(kept_layer(weights(kInf), format).kept, "it has an infinite weight");
    EXPECT_EQ(kept_layer(weights(-kInf), format).kept, "it has an infinite weight");
    const WeightLayer layer = kept_layer(weights(std::nanf("")), format);
    EXPECT_EQ(layer.kept, "it has a weight that is not a number");
    EXPECT_EQ(layer.bytes, layer.f32_bytes);
    EXPECT_NE(kept_layer(weights(3e38F), format).kept, "");
  }
  EXPECT_NE(kept_layer(weights(70000.0F), WeightFormat::kF16).kept, "");
  EXPECT_EQ(kept_layer(random_f32(4, {8, 131073}), WeightFormat::kInt8).kept,
            "it sums 131073 products, more than fit 32 bits");
}

TEST(FewBits, Int8LeavesSmallProductsInF32) {
  EXPECT_EQ(kept_layer(random_f32(4, {7, 64}), WeightFormat::kInt8).kept,
            "it has fewer than 8 outputs");
  EXPECT_EQ(kept_layer(random_f32(4, {64, 7}), WeightFormat::kInt8).kept,
            "it sums fewer than 8 products");
}

/// Frames that int8 represents exactly, since 127 is their largest value, times weights that int8
/// represents exactly, too.
TEST(FewBits, Int8ProductsOfExactNumbersHaveTheSameBits) {
  Tensor x = whole_numbers(2, {5, 96});
  for (int64_t row = 0; row < 5; ++row) x.mutable_data<float>()[row * 96 + row] = 127.0F;
  auto op = draft_op<EinSum>();
  op->expr = "mk,nk->mn";
  const Graph graph = graph_with(op, {5, 96}, exact_weights(1, {161, 96}));
  for (const Tier tier : kernels::kAllTiers) {
    if (!kernels::supports(kernels::detected_tier(), tier)) continue;
    kernels::set_tier_limit(tier);
    WeightChoice choice;
    choice.format = WeightFormat::kInt8;
    const Tensor got = run(graph, {x}, true, &choice).value()[0];
    expect_same(got, run(graph, {x}).value()[0]);
    ASSERT_EQ(choice.layers.size(), 1U);
    EXPECT_EQ(choice.layers[0].kept, "");
    EXPECT_LE(choice.layers[0].bytes * 100, choice.layers[0].f32_bytes * 29);
  }
  kernels::clear_tier_limit();
}

TEST(FewBits, RowsOfZerosAndOfSubnormalNumbersGiveZeros) {
  auto op = draft_op<EinSum>();
  op->expr = "mk,nk->mn";
  for (const WeightFormat format :
       {WeightFormat::kQ8, WeightFormat::kQ4, WeightFormat::kInt8}) {
    Tensor weights = random_f32(5, {64, 35});
    for (int64_t i = 0; i < 35; ++i) {
      weights.mutable_data<float>()[i] = 0.0F;
      weights.mutable_data<float>()[35 + i] = 1e-41F;
    }
    WeightChoice choice;
    choice.format = format;
    const Graph graph = graph_with(op, {1, 35}, weights);
    const Tensor y = run(graph, {random_f32(6, {1, 35})}, true, &choice).value()[0];
    EXPECT_EQ(choice.layers[0].kept, "");
    EXPECT_EQ(y.data<float>()[0], 0.0F);
    EXPECT_EQ(y.data<float>()[1], 0.0F);
    EXPECT_NE(y.data<float>()[2], 0.0F);
  }
}

}  // namespace
}  // namespace rill::ops::test
