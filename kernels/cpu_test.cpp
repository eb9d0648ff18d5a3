#include "kernels/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace rill::kernels {
namespace {

// Return the features of the first CPU, under the names of the Linux kernel; empty if it lists
// none.
std::set<std::string> flags_of_system() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;) flags.insert(word);
    return flags;
  }
  return {};
}

bool all_of(const std::set<std::string>& flags, std::initializer_list<const char*> wanted) {
  for (const char* flag : wanted) {
    if (flags.count(flag) == 0) return false;
  }
  return true;
}

TEST(Cpu, TierIsThatOfTheSystemsList) {
#if !defined(__x86_64__) || !defined(__linux__)
  GTEST_SKIP() << "there is no list of x86's features here";
#endif
  const std::set<std::string> flags = flags_of_system();
  ASSERT_FALSE(flags.empty());
  const bool avx2 = all_of(flags, {"avx2", "fma", "f16c"});
  const bool avx512 =
      avx2 && all_of(flags, {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"});
  Tier expected = Tier::kScalar;
  if (built_for(Tier::kSse42) && flags.count("sse4_2") != 0) expected = Tier::kSse42;
  if (built_for(Tier::kAvx2) && avx2) expected = Tier::kAvx2;
  if (built_for(Tier::kAvx512) && avx512) expected = Tier::kAvx512;
  EXPECT_STREQ(tier_name(detected_tier()), tier_name(expected));

  const auto has = [&](Tier tier, const char* flag) {
    return supports(expected, tier) && flags.count(flag) != 0;
  };
  EXPECT_EQ(has_dot_products(Tier::kAvx2), has(Tier::kAvx2, "avx_vnni"));
  EXPECT_EQ(has_dot_products(Tier::kAvx512), has(Tier::kAvx512, "avx512_vnni"));
  EXPECT_FALSE(has_dot_products(Tier::kScalar));
  EXPECT_FALSE(has_dot_products(Tier::kSse42));
}

TEST(Cpu, OneThreadsTargetIsNoOtherThreads) {
  const Tier own = running_tier();
  const Tier other = own == Tier::kScalar ? Tier::kNeon : Tier::kScalar;
  {
    const TargetCpu target(other, true);
    EXPECT_EQ(active_tier(), other);
    EXPECT_TRUE(has_dot_products(other));
    std::thread([&] {
      EXPECT_EQ(active_tier(), own);
      EXPECT_FALSE(has_dot_products(other));
    }).join();
    const TargetCpu within(own);
    EXPECT_EQ(active_tier(), own);
  }
  EXPECT_EQ(active_tier(), own);
  // With many threads at once, each sees its own target, and no target remains afterwards.
  const Tier targets[] = {Tier::kScalar, Tier::kAvx2, Tier::kAvx512, Tier::kNeon};
  std::vector<std::thread> threads;
  for (const Tier tier : targets) {
    threads.emplace_back([tier, own] {
      for (int i = 0; i < 2000; ++i) {
        {
          const TargetCpu target(tier);
          EXPECT_EQ(active_tier(), tier);
        }
        EXPECT_EQ(active_tier(), own);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(active_tier(), own);
}

TEST(Cpu, ATierIsSupportedByItselfAndThoseAbove) {
  EXPECT_TRUE(supports(Tier::kAvx512, Tier::kAvx2));
  EXPECT_TRUE(supports(Tier::kAvx2, Tier::kSse42));
  EXPECT_TRUE(supports(Tier::kSse42, Tier::kScalar));
  EXPECT_TRUE(supports(Tier::kNeon, Tier::kScalar));
  EXPECT_FALSE(supports(Tier::kAvx2, Tier::kAvx512));
  EXPECT_FALSE(supports(Tier::kNeon, Tier::kSse42));
  EXPECT_FALSE(supports(Tier::kAvx512, Tier::kNeon));
}

}  // namespace
}  // namespace rill::kernels
