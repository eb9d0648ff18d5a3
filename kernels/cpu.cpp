#include "kernels/cpu.h"

#include <atomic>
#include <cstring>

#if RILL_ON_X86
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif (defined(__aarch64__) || defined(RILL_NEON_32)) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include "kernels/target_state.h"

namespace rill::kernels {
namespace {

constexpr Tier kNoLimit = static_cast<Tier>(255);
std::atomic<Tier> tier_limit{kNoLimit};
// The result of `found_here`; 0 before the first call.
std::atomic<uint32_t> known{0};

/// Return whether this thread has a target.
bool has_target() noexcept RILL_NONBLOCKING {
  const auto is_of_this_thread = detail::target_state.is_of_this_thread.load();
  return is_of_this_thread != nullptr && is_of_this_thread();
}

struct TierName {
  Tier tier;
  const char* name;
};

constexpr TierName kTierNames[] = {{Tier::kScalar, "scalar"},
                                   {Tier::kSse42, "sse42"},
                                   {Tier::kAvx2, "avx2"},
                                   {Tier::kAvx512, "avx512"},
                                   {Tier::kNeon, "neon"}};

#if RILL_ON_X86
// The raw results of CPUID: with some compilers (Zig's), the built-in query always answers no.
struct X86 {
  unsigned leaf1_c = 0;    // of leaf 1
  unsigned leaf7_b = 0;    // of leaf 7
  unsigned leaf7_c = 0;
  unsigned leaf7_1_a = 0;  // of leaf 7, subleaf 1
  unsigned saved = 0;      // the registers that the system saves for each thread, by XGETBV
  unsigned leaf1_a = 0;    // the family and the model
  bool amd = false;

  X86() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const unsigned last_leaf = __get_cpuid_max(0, nullptr);
    if (last_leaf < 1) return;
    __cpuid(0, a, b, c, d);
    amd = b == 0x68747541 && d == 0x69746e65 && c == 0x444d4163;  // "AuthenticAMD"
    __cpuid(1, leaf1_a, b, leaf1_c, d);
    if (bit(leaf1_c, 27)) {
      unsigned high = 0;
      __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    }
    if (last_leaf < 7) return;
    unsigned last_of_leaf7 = 0;
    __cpuid_count(7, 0, last_of_leaf7, leaf7_b, leaf7_c, d);
    if (last_of_leaf7 > 0) __cpuid_count(7, 1, leaf7_1_a, b, c, d);
  }

  static bool bit(unsigned word, int index) { return (word >> index & 1) != 0; }

  bool sse42() const { return bit(leaf1_c, 20); }
  bool avx2() const {
    const bool fma = bit(leaf1_c, 12), f16c = bit(leaf1_c, 29);
    return (saved & 0x6) == 0x6 && fma && f16c && bit(leaf7_b, 5);
  }
  bool avx512() const {
#ifdef __APPLE__
    constexpr unsigned kSaved = 0x6;  // the system adds the others when a thread first uses them
#else
    constexpr unsigned kSaved = 0xe6;
#endif
    // F, DQ, CD, BW and VL.
    constexpr unsigned kParts = 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;
    return (saved & kSaved) == kSaved && (leaf7_b & kParts) == kParts && avx2();
  }
  /// Family 25 is Zen 3 and Zen 4; of these, only Zen 4 has AVX-512.
  bool halves_512() const {
    const unsigned family = (leaf1_a >> 8 & 0xf) + (leaf1_a >> 20 & 0xff);
    return amd && family == 25 && avx512();
  }
  bool avx_vnni() const { return bit(leaf7_1_a, 4); }
  bool avx512_vnni() const { return bit(leaf7_c, 11); }
};
#endif

/// Return whether this CPU has the features that the NEON tier needs.
[[maybe_unused]] bool has_neon() {
#if defined(RILL_NEON_32) && defined(__linux__)
  constexpr unsigned long kNeon = 1UL << 12, kVfp4 = 1UL << 16;  // of AT_HWCAP
  return (getauxval(AT_HWCAP) & (kNeon | kVfp4)) == (kNeon | kVfp4);
#elif defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

/// The best tier, and the tiers with dot products that this CPU has.
struct Found {
  Tier tier = Tier::kScalar;
  bool halves_512 = false;
  uint32_t dot_products = 0;  // a bit for each tier
};

constexpr uint32_t bit_of(Tier tier) { return 1U << static_cast<unsigned>(tier); }

Found found_now() {
  Found found;
#if RILL_ON_X86
  [[maybe_unused]] const X86 cpu;
  if (RILL_HAS_SSE42 && cpu.sse42()) found.tier = Tier::kSse42;
  if (RILL_HAS_AVX2 && cpu.avx2()) found.tier = Tier::kAvx2;
  if (RILL_HAS_AVX512 && cpu.avx512()) found.tier = Tier::kAvx512;
  found.halves_512 = cpu.halves_512();
  if (cpu.avx_vnni()) found.dot_products |= bit_of(Tier::kAvx2);
  if (cpu.avx512_vnni()) found.dot_products |= bit_of(Tier::kAvx512);
#else
  // On WebAssembly, no check is needed: an engine without SIMD does not compile the module.
  if (RILL_HAS_SSE42) found.tier = Tier::kSse42;
  if (RILL_HAS_NEON && has_neon()) found.tier = Tier::kNeon;
#if defined(__aarch64__) && defined(__APPLE__)
  int has = 0;
  size_t size = sizeof has;
  if (sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, nullptr, 0) == 0 && has != 0) {
    found.dot_products |= bit_of(Tier::kNeon);
  }
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP
  if ((getauxval(AT_HWCAP) & kDotProducts) != 0) found.dot_products |= bit_of(Tier::kNeon);
#endif
#endif
  return found;
}

/// As above, but cached: in a virtual machine, each query takes as long as a small step.
Found found_here() {
  constexpr uint32_t kKnown = 1;
  uint32_t word = known.load(std::memory_order_relaxed);
  if (word == 0) {
    const Found found = found_now();
    word = kKnown | (found.halves_512 ? 2U : 0U) | static_cast<uint32_t>(found.tier) << 8 |
           found.dot_products << 16;
    known.store(word, std::memory_order_relaxed);
  }
  return {static_cast<Tier>(word >> 8 & 0xff), (word & 2) != 0, word >> 16};
}

}  // namespace

Tier detected_tier() { return found_here().tier; }

bool halves_512() {
  const bool any = has_target() || tier_limit.load(std::memory_order_relaxed) != kNoLimit;
  return !any && found_here().halves_512;
}

bool has_dot_products(Tier tier) {
  if (has_target()) {
    const detail::TargetState& target = detail::target_state;
    return target.has_dot_products.load() && tier == target.tier.load();
  }
  const Found found = found_here();
  return supports(found.tier, tier) && (found.dot_products & bit_of(tier)) != 0;
}

bool supports(Tier cpu, Tier needs) {
  if (needs == Tier::kScalar || needs == cpu) return true;
  return cpu != Tier::kNeon && needs != Tier::kNeon && needs < cpu;
}

detail::TargetState detail::target_state;

bool built_for(Tier tier) {
  constexpr bool kHas[] = {RILL_HAS_SCALAR, RILL_HAS_SSE42, RILL_HAS_AVX2, RILL_HAS_AVX512,
                           RILL_HAS_NEON};
  return kHas[static_cast<size_t>(tier)];
}

bool compiles_for(Tier tier) {
  constexpr bool kLists[] = {RILL_LISTS(SCALAR), RILL_LISTS(SSE42), RILL_LISTS(AVX2),
                             RILL_LISTS(AVX512), RILL_LISTS(NEON)};
  return kLists[static_cast<size_t>(tier)];
}

Tier active_tier() { return has_target() ? detail::target_state.tier.load() : running_tier(); }

Tier running_tier() {
  const Tier detected = detected_tier();
  const Tier limit = tier_limit.load(std::memory_order_relaxed);
  if (limit == kNoLimit) return detected;
  if (supports(detected, limit)) return limit;
  return limit == Tier::kNeon || detected == Tier::kNeon ? Tier::kScalar : detected;
}

void set_tier_limit(Tier limit) { tier_limit.store(limit, std::memory_order_relaxed); }

void clear_tier_limit() { tier_limit.store(kNoLimit, std::memory_order_relaxed); }

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
