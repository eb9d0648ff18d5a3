#include "tests/support/plan_bases.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "tests/operators/case.h"
#include "tests/operators/side_by_side.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"
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
  std::vector<std::vector<std::byte>>& files = place->second;
  for_each_plan(cases()[number], [&](const PreparedFrom&, const Plan& plan, int) {
    auto file = written(plan);
    if (file.ok()) files.push_back(std::move(file).value());
  });
  return files;
}

std::shared_ptr<const Plan> streamed_plan(const char* statements, int64_t pulse) {
  const auto graph = load_text(document("1, 2, S", statements));
  if (!graph.ok()) std::abort();
  auto streamed = StreamedRun::make(*graph, pulse);
  if (!streamed.ok()) std::abort();
  return std::make_shared<const Plan>(streamed->session().plan());
}

std::shared_ptr<const Plan> small_plan() {
  return streamed_plan(
      "  m = max_pool(x, size = [1, 1, 3], border = 'ignore',\n"
      "               padding = [(0, 0), (0, 0), (2, 0)], stride = [1, 1, 1],\n"
      "               dilation = [1, 1, 1]);\n"
      "  a = tract_core_cumsum(m, axis = 2, exclusive = false, reverse = false);\n"
      "  y = tanh(a) * 2.0;\n",
      2);
}

}  // namespace rill::test
