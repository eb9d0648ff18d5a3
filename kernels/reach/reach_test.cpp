#include "kernels/reach/reach.h"

#include <gtest/gtest.h>

#include <set>

namespace rill::kernels {
namespace {

TEST(Reach, EveryTierHasADifferentKernelInEveryCase) {
  for (const ReachCase& work : reach_cases()) {
    std::set<std::string> names;
    size_t tiers = 0;
    for (const Tier tier : kAllTiers) {
      if (!supports(detected_tier(), tier)) continue;
      const ReachRun run = work.make(tier);
      run.run();
      names.insert(run.kernel);
      EXPECT_TRUE(run.kernel.ends_with(tier_name(tier))) << run.kernel << ", " << tier_name(tier);
      ++tiers;
    }
    EXPECT_EQ(names.size(), tiers) << work.family << " " << work.shape;
  }
}

TEST(Reach, FamiliesAndShapesIdentifyCases) {
  std::set<std::string> names;
  for (const ReachCase& work : reach_cases()) {
    EXPECT_TRUE(names.insert(work.family + " " + work.shape).second) << work.family;
    EXPECT_GT(work.bytes, 0);
  }
}

TEST(Reach, WorkingSetsLieInTheSmallestLevelThatHoldsThem) {
  Machine machine;
  machine.levels = {{"L1", 100, 50, 9}, {"L2", 1000, 500, 8}, {"memory", 0, 5000, 1}};
  EXPECT_EQ(machine.level_of(100).name, "L1");
  EXPECT_EQ(machine.level_of(101).name, "L2");
  EXPECT_EQ(machine.level_of(1001).name, "memory");
}

TEST(Reach, OnlyAChoiceThatIsSlowerByMoreThanIsAllowedSeemsWrong) {
  const auto row = [](double chosen_ns, double other_ns) {
    ReachRow out{"family", "shape", {}};
    out.kernels.resize(2);
    out.kernels[0] = {"chosen", Tier::kScalar, chosen_ns, 0, 0, 0, "", true};
    out.kernels[1] = {"other", Tier::kScalar, other_ns, 0, 0, 0, "", false};
    return out;
  };
  EXPECT_TRUE(seems_wrong(row(106, 100), 0.05));
  EXPECT_FALSE(seems_wrong(row(105, 100), 0.05));
  EXPECT_FALSE(seems_wrong(row(100, 106), 0.05));
}

}  // namespace
}  // namespace rill::kernels
