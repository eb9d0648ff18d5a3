#include "tests/support/plan_bases.h"

#include <map>
#include <utility>

#include "tests/laws/case.h"
#include "tests/laws/side_by_side.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = all_cases();
  return all;
}

}  // namespace

std::vector<kernels::Tier> tiers_here() {
  std::vector<kernels::Tier> out;
  for (const kernels::Tier tier : kernels::kAllTiers) {
    const bool runs = kernels::supports(kernels::detected_tier(), tier);
    if (runs && kernels::built_for(tier)) out.push_back(tier);
  }
  return out;
}

size_t plan_bases() { return cases().size(); }

const std::vector<std::vector<std::byte>>& plan_base(size_t number, kernels::Tier tier) {
  static std::map<std::pair<size_t, kernels::Tier>, std::vector<std::vector<std::byte>>> made;
  kernels::set_tier_limit(tier);
  const auto [place, fresh] = made.try_emplace({number, tier});
  if (!fresh) return place->second;
  for_each_plan(cases()[number], [&](const PreparedFrom&, const Plan& plan, int) {
    auto file = written(plan);
    if (file.ok()) place->second.push_back(std::move(file).value());
  });
  return place->second;
}

}  // namespace rill::test
