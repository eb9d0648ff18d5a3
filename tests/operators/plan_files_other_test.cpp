// Plan files for other processors.

#include <gtest/gtest.h>

#include <cstring>

#include "core/exec/plan.h"
#include "core/run/plan_format.h"
#include "kernels/cpu.h"
#include "kernels/target.h"
#include "ops/op_table.h"
#include "plan_file/write.h"
#include "tests/operators/case.h"
#include "tests/operators/side_by_side.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

using kernels::Target;
using kernels::Tier;

/// Targets that this build can compile for but has no kernels of.
std::vector<Target> targets_elsewhere() {
  std::vector<Target> out;
  for (const Tier tier : kernels::kAllTiers) {
    if (kernels::built_for(tier) || !kernels::compiles_for(tier)) continue;
    out.push_back({tier, false});
    if (tier != Tier::kSse42) out.push_back({tier, true});
  }
  return out;
}

Result<std::vector<std::byte>> written_for(const Target& target, const PreparedFrom& from) {
  const kernels::TargetCpu cpu(target.tier, target.dot_products);
  PrepareOptions options = from.options;
  options.run_constants = false;
  RILL_ASSIGN(const auto plan, prepare(from.graph, options));
  const plan_file::TargetPlan each{kernels::target_name(target), plan};
  return plan_file::write({&each, 1}, ops::op_table());
}

std::string refusal(std::span<const std::byte> bytes) {
  const Mapped map = mapped(bytes);
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  EXPECT_FALSE(placed_here(map).ok());
  return opened.ok() ? "" : opened.error().to_string();
}

/// Return whether the steps of a file call kernels of a tier.
bool has_kernels_of(std::span<const std::byte> bytes, const char* tier) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.find(std::string("_f32_") + tier) != std::string_view::npos;
}

/// Expect that a file for another processor is refused here, both under its own target name and
/// renamed to a target of this CPU.
void expect_stays_elsewhere(const PreparedFrom& from, int* with_kernels) {
  for (const Target& target : targets_elsewhere()) {
    SCOPED_TRACE(kernels::target_name(target));
    const auto file = written_for(target, from);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    EXPECT_NE(refusal(*file).find(str_cat("a plan for ", kernels::target_name(target))),
              std::string::npos)
        << refusal(*file);
    std::vector<std::byte> renamed = *file;
    const std::string here = kernels::target_name(kernels::running_target());
    std::memset(renamed.data() + sizeof(plan_file::Header), 0, 16);
    std::memcpy(renamed.data() + sizeof(plan_file::Header), here.data(), here.size());
    const Mapped map = mapped(renamed);
    plan_file::seal({map.memory.get(), renamed.size()});
    if (!has_kernels_of(*file, kernels::tier_name(target.tier))) continue;
    ++*with_kernels;
    EXPECT_NE(refusal(map.bytes).find("the plan runs the kernel"), std::string::npos)
        << refusal(map.bytes);
  }
}

TEST(PlanFilesForOthers, OfModelsAreMadeAndRefusedHere) {
  int with_kernels = 0;
  const SeePlan see = [&](const PreparedFrom& from, const Plan&, int) {
    expect_stays_elsewhere(from, &with_kernels);
  };
  EXPECT_GT(for_each_plan_of_models(see), 40);
  if (!targets_elsewhere().empty()) {
    EXPECT_GT(with_kernels, 40);
  }
}

/// Preparing an operator for another target calls no kernel of that target.
TEST(PlanFilesForOthers, OfOperatorsAreMadeAndRefusedHere) {
  int with_kernels = 0;
  for (const Case& each : all_cases()) {
    SCOPED_TRACE(each.name);
    for_each_plan(each, [&](const PreparedFrom& from, const Plan&, int) {
      expect_stays_elsewhere(from, &with_kernels);
    });
  }
  if (!targets_elsewhere().empty()) {
    EXPECT_GT(with_kernels, 100);
  }
}

TEST(PlanFilesForOthers, ListTheKindsOfTheirSteps) {
  for_each_plan_of_models([](const PreparedFrom&, const Plan& plan, int) {
    const auto file = written(plan);
    ASSERT_TRUE(file.ok());
    const auto kinds = plan_file::kinds_in(*file);
    ASSERT_TRUE(kinds.ok()) << kinds.error().to_string();
    for (const Step& step : plan.steps) EXPECT_TRUE(kinds->contains(step.kind->name));
  });
}

}  // namespace
}  // namespace rill::test
