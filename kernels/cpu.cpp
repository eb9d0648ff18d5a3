#include "kernels/cpu.h"

#include <atomic>
#include <cstring>

namespace rill::kernels {
namespace {

constexpr Tier kNoLimit = static_cast<Tier>(255);
std::atomic<Tier> tier_limit{kNoLimit};
std::atomic<Tier> known_tier{kNoLimit};  // none until it is asked for

struct TierName {
  Tier tier;
  const char* name;
};

constexpr TierName kTierNames[] = {{Tier::kScalar, "scalar"},
                                   {Tier::kSse42, "sse42"},
                                   {Tier::kAvx2, "avx2"},
                                   {Tier::kAvx512, "avx512"},
                                   {Tier::kNeon, "neon"}};

}  // namespace

Tier detected_tier() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
#ifndef RILL_WITHOUT_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    return Tier::kAvx512;
  }
#endif
#ifndef RILL_WITHOUT_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Tier::kAvx2;
#endif
#ifndef RILL_WITHOUT_SSE42
  if (__builtin_cpu_supports("sse4.2")) return Tier::kSse42;
#endif
  return Tier::kScalar;
#elif defined(__aarch64__) && !defined(RILL_WITHOUT_NEON)
  return Tier::kNeon;  // part of the base of AArch64
#else
  return Tier::kScalar;
#endif
}

bool supports(Tier cpu, Tier needs) {
  if (needs == Tier::kScalar || needs == cpu) return true;
  return cpu != Tier::kNeon && needs != Tier::kNeon && needs < cpu;
}

Tier active_tier() {
  Tier detected = known_tier.load(std::memory_order_relaxed);
  if (detected == kNoLimit) {
    detected = detected_tier();
    known_tier.store(detected, std::memory_order_relaxed);
  }
  const Tier limit = tier_limit.load(std::memory_order_relaxed);
  if (limit == kNoLimit) return detected;
  if (supports(detected, limit)) return limit;
  return limit == Tier::kNeon || detected == Tier::kNeon ? Tier::kScalar : detected;
}

void set_tier_limit(Tier limit) { tier_limit.store(limit, std::memory_order_relaxed); }

const char* tier_name(Tier tier) {
  for (const TierName& entry : kTierNames) {
    if (entry.tier == tier) return entry.name;
  }
  return "unknown";
}

bool tier_from_name(const char* name, Tier* tier) {
  for (const TierName& entry : kTierNames) {
    if (std::strcmp(entry.name, name) == 0) {
      *tier = entry.tier;
      return true;
    }
  }
  return false;
}

}  // namespace rill::kernels
