// Plan files of every operator, with numbers set to extremes, swapped, dropped and repeated, and
// valid checksums. Opening ends in an error, or in a plan whose runs stay inside their memory. The
// input is a plan file, or the indices of a case, of one of its plans and of a tier, followed by
// changes.

#include <cstring>

#include "tests/fuzz/target.h"
#include "tests/support/change_plan.h"
#include "tests/support/plan_bases.h"
#include "tests/support/plan_files.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHead = 4;
  constexpr size_t kMostChanges = 8;
  if (plan_file::is_plan_file(test::bytes_of(data, size))) {
    test::try_plan_file(test::bytes_of(data, size));
    return 0;
  }
  if (size < kHead) return 0;
  static const std::vector<kernels::Tier> tiers = test::tiers_here();
  const size_t base = (data[0] + size_t{256} * data[1]) % test::plan_bases();
  const auto& files = test::plan_base(base, tiers[data[3] % tiers.size()]);
  if (files.empty()) return 0;
  std::vector<test::PlanChange> changes;
  for (size_t at = kHead; at + sizeof(test::PlanChange) <= size && changes.size() < kMostChanges;
       at += sizeof(test::PlanChange)) {
    test::PlanChange change;
    std::memcpy(&change, data + at, sizeof change);
    changes.push_back(change);
  }
  test::try_plan_file(test::changed(files[data[2] % files.size()], changes));
  return 0;
}
