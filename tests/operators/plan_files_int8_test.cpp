// Hostile plan files of layers in int8: fields that no compiler writes, with valid checksums.

#include <gtest/gtest.h>

#include <filesystem>

#include "core/exec/plan.h"
#include "kernels/cpu.h"
#include "nnef_loader/load.h"
#include "ops/nn/product_step.h"
#include "ops/op_table.h"
#include "ops/rnn/recurrent_step.h"
#include "tests/property/streaming.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

using kernels::MatmulPacked;
using kernels::PackedFormat;

/// Return the plan of a stream through two GRUs of 96 units, in int8.
std::shared_ptr<const Plan> plan_in_int8() {
  const auto model = std::filesystem::path(RILL_SOURCE_DIR) / "tests/models/kws_gru/model.nnef.tgz";
  const Graph loaded = nnef::load(model.string(), ops::op_table()).value();
  const auto streamed = StreamedRun::make(loaded.with_symbol("B", Dim(1)).value(), 8);
  EXPECT_TRUE(streamed.ok());
  WeightChoice choice;
  choice.format = WeightFormat::kInt8;
  PrepareOptions options;
  options.weights = &choice;
  return prepare(streamed->graph(), options).value();
}

/// Return the error of opening the file of a plan; empty if it opens.
std::string refusal_of(const Plan& plan) {
  const auto file = written(plan);
  EXPECT_TRUE(file.ok());
  const Mapped map = mapped(*file);
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  EXPECT_EQ(opened.ok(), try_plan_file(*file));
  return opened.ok() ? std::string() : opened.error().message;
}

/// Return a kernel of a format and another tier than `tier`; null if this CPU runs none.
const MatmulPacked* of_another_tier(PackedFormat format, kernels::Tier tier) {
  const auto all = kernels::kernels_like(static_cast<const MatmulPacked*>(nullptr));
  for (size_t i = 0; i < all.count; ++i) {
    if (all[i].format == format && all[i].tier != tier && kernels::runs_here(all[i])) {
      return &all[i];
    }
  }
  return nullptr;
}

/// Expect that the plan is refused after each change of the first step of a kind.
template <class Args>
void expect_refused(const char* kind, std::initializer_list<bool (*)(Args*)> changes) {
  const std::shared_ptr<const Plan> good = plan_in_int8();
  ASSERT_EQ(refusal_of(*good), "");
  size_t step = 0;
  while (step < good->steps.size() && std::string_view(good->steps[step].kind->name) != kind) {
    ++step;
  }
  ASSERT_LT(step, good->steps.size()) << kind;
  int number = 0;
  for (const auto change : changes) {
    SCOPED_TRACE(str_cat("change ", number++));
    Args args = *static_cast<const Args*>(good->steps[step].args);
    if (!change(&args)) continue;
    Plan plan = *good;
    plan.steps[step].args = &args;
    EXPECT_NE(refusal_of(plan), "");
  }
}

TEST(HostilePlanFiles, OfRecurrentLayersInInt8AreRefused) {
  using Args = ops::FewBitsGruArgs;
  expect_refused<Args>(
      "few_bits_gru",
      {[](Args* args) {
         const MatmulPacked*& kernel = args->few_bits.kernel;
         kernel = of_another_tier(PackedFormat::kInt8, kernel->tier);
         return kernel != nullptr;
       },
       [](Args* args) {
         const kernels::Tier tier = args->few_bits.kernel->tier;
         args->few_bits.kernel = &kernels::matmul_packed(tier, PackedFormat::kQ4_0);
         return true;
       },
       [](Args* args) { return ++args->few_bits.block_bytes != 0; },
       [](Args* args) { return (args->few_bits.block_bytes = 0) == 0; },
       [](Args* args) { return (args->few_bits.wide.offset += 64) != 0; },
       [](Args* args) { return (args->few_bits.wide.offset += 4) != 0; },
       [](Args* args) { return (args->recurrent.layer.hidden += 4) != 0; },
       [](Args* args) { return (args->recurrent.layer.weights.offset += 64) != 0; },
       [](Args* args) { return (args->recurrent.layer.lanes = 2) != 0; }});
}

TEST(HostilePlanFiles, OfProductsInInt8AreRefused) {
  using Args = ops::FewBitsProductArgs;
  expect_refused<Args>(
      "few_bits_product",
      {[](Args* args) {
         const kernels::Tier tier = args->few_bits->tier;
         args->few_bits = &kernels::matmul_packed(tier, PackedFormat::kF16);
         return true;
       },
       [](Args* args) { return ++args->product.args.segment_len != 0; },
       [](Args* args) { return (args->product.args.segments = 2) != 0; },
       [](Args* args) { return (args->product.args.n += 64) != 0; },
       [](Args* args) { return (args->product.args.m += 1) != 0; },
       [](Args* args) { return (args->product.b.offset += 64) != 0; }});
}

}  // namespace
}  // namespace rill::test
