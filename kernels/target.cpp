#include "kernels/target.h"

namespace rill::kernels {
namespace {

struct Named {
  char name[12];
  Target target;
};

// The first name of a target is its name in plan files.
constexpr Named kTargets[] = {
    {"scalar", {Tier::kScalar, false}},     {"sse42", {Tier::kSse42, false}},
    {"avx2", {Tier::kAvx2, false}},         {"avx2vnni", {Tier::kAvx2, true}},
    {"avx512", {Tier::kAvx512, false}},     {"avx512vnni", {Tier::kAvx512, true}},
    {"neon", {Tier::kNeon, false}},         {"neondotprod", {Tier::kNeon, true}},
    {"sse4", {Tier::kSse42, false}},        {"wasm", {Tier::kSse42, false}},
};

}  // namespace

bool target_from_name(std::string_view name, Target* target) {
  for (const Named& each : kTargets) {
    if (name != each.name) continue;
    *target = each.target;
    return true;
  }
  return false;
}

const char* target_name(const Target& target) {
  for (const Named& each : kTargets) {
    const bool same =
        each.target.tier == target.tier && each.target.dot_products == target.dot_products;
    if (same) return each.name;
  }
  return tier_name(target.tier);
}

Target running_target() {
  const Tier tier = running_tier();
  return {tier, has_dot_products(tier)};
}

int target_rank(std::string_view name) {
  Target target;
  if (!target_from_name(name, &target) || !built_for(target.tier)) return -1;
  const bool runs = supports(running_tier(), target.tier) &&
                    (!target.dot_products || has_dot_products(target.tier));
  return runs ? 2 * static_cast<int>(target.tier) + (target.dot_products ? 1 : 0) : -1;
}

}  // namespace rill::kernels
