// Random calls of rill.h on plan files of every operator, with numbers changed as in
// fuzz_plan_numbers. The input has the indices of a case, of one of its plans and of a tier, the
// number of changes, the changes, and then two bytes per call.

#include <cstring>

#include "tests/fuzz/target.h"
#include "tests/support/change_plan.h"
#include "tests/support/plan_bases.h"
#include "tests/support/plan_calls.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHead = 5;
  constexpr size_t kMostChanges = 4;
  if (size < kHead) return 0;
  static const std::vector<kernels::Tier> tiers = test::tiers_here();
  const size_t base = (data[0] + size_t{256} * data[1]) % test::plan_bases();
  const auto& files = test::plan_base(base, tiers[data[3] % tiers.size()]);
  if (files.empty()) return 0;
  std::vector<test::PlanChange> changes;
  size_t at = kHead;
  for (size_t i = data[4] % kMostChanges; i > 0 && at + sizeof(test::PlanChange) <= size; --i) {
    test::PlanChange change;
    std::memcpy(&change, data + at, sizeof change);
    changes.push_back(change);
    at += sizeof change;
  }
  test::call_plan(test::changed(files[data[2] % files.size()], changes), {data + at, size - at});
  return 0;
}
