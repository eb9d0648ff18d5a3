// Matmuls with weights in 4-bit blocks: near the results of the unpacked weights, the same bits for
// any number of rows, and one packed copy of the weights.

#include <cstring>
#include <optional>
#include <random>

#include "core/exec/plan.h"
#include "kernels/cpu.h"
#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/tensor_file/tensor_file.h"
#include "ops/op_table.h"
#include "ops/array/gather.h"
#include "ops/math/test_support.h"
#include "ops/nn/einsum.h"

namespace rill::ops::test {
namespace {

Tensor random_blocks(uint32_t seed, std::vector<int64_t> shape) {
  std::mt19937 random(seed);
  int64_t blocks = 1;
  for (const int64_t extent : shape) blocks *= extent;
  blocks /= 32;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < blocks; ++i) {
    bytes.push_back(static_cast<std::byte>(random() % 256));
    bytes.push_back(static_cast<std::byte>(0x20 + random() % 16));  // scales of 2^-7 to 2^-3
    for (int j = 0; j < 16; ++j) bytes.push_back(static_cast<std::byte>(random() % 256));
  }
  return std::move(Tensor::blocks(BlockFormat::kQ4_0, std::move(shape), bytes)).value();
}

/// Return the graph of x [rows, k] times weights, in blocks or unpacked.
Graph product(const Tensor& weights, const char* expr, int64_t rows, int64_t k, bool left) {
  Graph g;
  std::vector<Dim> shape{Dim(rows), Dim(k)};
  if (weights.rank() == 3) shape.insert(shape.begin(), Dim(1));
  const OutletId x = g.add_source("x", Fact::of(DType::kF32, shape));
  const OutletId w = g.add_const("w", std::make_shared<const Tensor>(weights));
  auto op = draft_op<EinSum>();
  op->expr = expr;
  op->operands = 2;
  const auto y = g.add("y", op, left ? std::vector{w, x} : std::vector{x, w});
  EXPECT_TRUE(y.ok()) << y.error().to_string();
  g.add_output("y", y->front());
  return g;
}

/// Return the first rows of an input or output: [.., rows, n], or [.., n, rows].
Tensor first_rows(const Tensor& all, int64_t rows, bool last_axis) {
  const int64_t n = all.extent(all.rank() - (last_axis ? 2 : 1));
  const int64_t had = all.volume() / n;
  std::vector<float> values;
  for (int64_t i = 0; i < all.volume(); ++i) {
    if ((last_axis ? i % had : i / n) < rows) values.push_back(all.data<float>()[i]);
  }
  std::vector<int64_t> shape(all.shape().begin(), all.shape().end());
  shape[shape.size() - (last_axis ? 1 : 2)] = rows;
  return std::move(Tensor::of<float>(DType::kF32, shape, values)).value();
}

TEST(Blocks, ProductsHaveTheSumsOfWeightsWrittenOutForAnyNumberOfRows) {
  const struct {
    const char* expr;
    std::vector<int64_t> shape;
    bool left;
    bool small;
  } cases[] = {
      {"mk,nk->mn", {20, 64}, false, true},  {"mk,nk->nm", {20, 64}, false, true},
      {"nk,mk->mn", {20, 64}, true, true},   {"bmk,bnk->bmn", {1, 33, 96}, false, true},
      {"mk,kn->mn", {64, 32}, false, false},  // blocks along the columns
      {"mk,nk->mn", {4, 16}, false, false},   // blocks of two columns
  };
  constexpr int64_t kAllRows = 57;
  for (const auto tier : {kernels::Tier::kScalar, kernels::detected_tier()}) {
    kernels::set_tier_limit(tier);
    for (const auto& c : cases) {
      const std::string_view expr = c.expr;
      const Tensor blocks = random_blocks(7, c.shape);
      const Tensor dense = std::move(dequantised(blocks)).value();
      const int64_t k = expr == "mk,kn->mn" ? c.shape[0] : c.shape.back();
      std::vector<int64_t> shape{kAllRows, k};
      if (blocks.rank() == 3) shape.insert(shape.begin(), 1);
      const Tensor x = random_f32(9, shape);
      const auto all = run(product(dense, c.expr, kAllRows, k, c.left), {x});
      ASSERT_TRUE(all.ok()) << all.error().to_string();
      std::optional<Tensor> most;
      for (const int64_t rows :
           {kAllRows, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{5}, int64_t{7},
            int64_t{8}, int64_t{9}, int64_t{17}, int64_t{49}}) {
        SCOPED_TRACE(str_cat(c.expr, ", ", rows, " rows, ", kernels::tier_name(tier)));
        const Graph packed = product(blocks, c.expr, rows, k, c.left);
        const auto got = run(packed, {first_rows(x, rows, false)});
        ASSERT_TRUE(got.ok()) << got.error().to_string();
        if (!most) most = (*got)[0];
        const bool rows_last = expr.ends_with("nm");
        expect_same((*got)[0], first_rows(*most, rows, rows_last));
        // Sums of at most 96 products of at most 1, in another order.
        expect_near((*got)[0], first_rows((*all)[0], rows, rows_last), 1e-5, 0);
        if (c.small) {
          EXPECT_LT(weight_bytes(packed) * 7,
                    weight_bytes(product(dense, c.expr, rows, k, c.left)));
        }
      }
    }
  }
  kernels::clear_tier_limit();
}

/// Load the graph of a statement with `w` from an archive.
Graph read_product(const Tensor& w, const std::string& statement) {
  nnef::Entry file{"w.dat", std::move(nnef::write_tensor(w)).value()};
  nnef::Entry text{"graph.nnef", {}};
  const std::string graph =
      "version 1.0;\nextension tract_registry tract_core;\ngraph network(x) -> (y)\n{\n"
      "  x = tract_core_external(shape = [5, 64], datum_type = 'f16');\n"
      "  w = variable(label = 'w', shape = [20, 64]);\n  y = " + statement + ";\n}\n";
  text.bytes.resize(graph.size());
  std::memcpy(text.bytes.data(), graph.data(), graph.size());
  auto loaded = nnef::load_entries({text, file}, op_table());
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return loaded.ok() ? std::move(loaded).value() : Graph();
}

TEST(Blocks, MeetHalvesInSumsThatAreRoundedOnce) {
  const Tensor blocks = random_blocks(5, {20, 64});
  const Tensor dense = std::move(dequantised(blocks)).value();
  const Tensor x = std::move(cast(random_f32(6, {5, 64}), DType::kF16)).value();
  const Tensor wide = std::move(cast(x, DType::kF32)).value();
  const auto sums = run(product(dense, "mk,nk->mn", 5, 64, false), {wide});
  ASSERT_TRUE(sums.ok()) << sums.error().to_string();
  for (const char* statement :
       {"matmul(x, w, transposeB = true)",
        "tract_core_einsum([x, w], expr = 'mk,nk->mn', acc = 'f16')"}) {
    SCOPED_TRACE(statement);
    const auto y = run(read_product(blocks, statement), {x});
    ASSERT_TRUE(y.ok()) << y.error().to_string();
    ASSERT_EQ((*y)[0].dtype(), DType::kF16);
    // Sums that differ in their last bits may round to adjacent f16 numbers.
    expect_near(std::move(cast((*y)[0], DType::kF32)).value(), (*sums)[0], 1e-4, 0x1p-10);
  }
}

TEST(Blocks, GatherUnpacksRequestedRows) {
  const Tensor table = random_blocks(3, {2, 40, 64});
  const auto graph = [&](const Tensor& data, int64_t axis) {
    Graph g;
    const OutletId at = g.add_source("at", Fact::of(DType::kI64, {Dim(5)}));
    const OutletId w = g.add_const("w", std::make_shared<const Tensor>(data));
    const auto y = g.add("y", make_op<Gather>(axis), {w, at});
    EXPECT_TRUE(y.ok()) << y.error().to_string();
    g.add_output("y", y->front());
    return g;
  };
  const int64_t numbers[] = {1, 0, -1, 39, 40};  // the last one is out of range
  const std::vector<Tensor> inputs = {
      std::move(Tensor::of<int64_t>(DType::kI64, {5}, numbers)).value()};
  const Tensor dense = std::move(dequantised(table)).value();
  for (const int64_t axis : {0, 1, 2}) {
    SCOPED_TRACE(axis);
    const auto got = run(graph(table, axis), inputs);
    const auto want = run(graph(dense, axis), inputs);
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    ASSERT_TRUE(want.ok()) << want.error().to_string();
    expect_same((*got)[0], (*want)[0]);
  }
  EXPECT_EQ(weight_bytes(graph(table, 1)), table.size_bytes());
}

TEST(Blocks, PackedWeightsAreKeptOnce) {
  const Tensor weights = random_f32(4, {64, 96});
  EXPECT_EQ(weight_bytes(product(weights, "mk,nk->mn", 3, 96, false)), 64 * 96 * 4);
}

}  // namespace
}  // namespace rill::ops::test
