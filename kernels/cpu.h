#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"
#include "kernels/tiers.h"

namespace rill::kernels {

/// A SIMD tier: a set of instructions that a kernel may need, in the order of preference.
enum class Tier : uint8_t { kScalar, kSse42, kAvx2, kAvx512, kNeon };
inline constexpr Tier kAllTiers[] = {Tier::kScalar, Tier::kSse42, Tier::kAvx2, Tier::kAvx512,
                                     Tier::kNeon};

/// Return the best tier that this build has and that this CPU and its system allow, as detected at
/// run time.
/// Thread: safe. Real-time: no, call it at prepare.
Tier detected_tier();

/// Return whether kernels may multiply and add four bytes in one instruction of that tier:
/// AVX-VNNI, AVX512-VNNI, or the dot products of Arm. The answer is for this thread's target if it
/// has one, else for this CPU.
/// Thread: safe. Real-time: no, call it at prepare.
bool has_dot_products(Tier tier);

/// Return whether this CPU executes 512-bit operations in two halves, like AMD's Zen 4: loops with
/// an odd number of halves are then faster with 256-bit vectors. False with a target or a tier
/// limit: both represent any CPU of their tier. Thread: safe. Real-time: no, call it at prepare.
bool halves_512();

/// Return the tier of kernels that may run here: the detected one, capped by `set_tier_limit`.
/// Thread: safe. Real-time: yes, but slow: call it at prepare.
Tier running_tier() RILL_NONBLOCKING;

/// Return the tier to choose kernels for: the target's if this thread has a target, else the tier
/// that may run here.
/// Thread: safe. Real-time: yes, but slow: call it at prepare.
Tier active_tier() RILL_NONBLOCKING;

/// Makes this thread choose kernels for another CPU during the object's lifetime. Other threads
/// choose for this CPU; a thread that also wants a target waits. Do not run the chosen kernels here
/// unless `running_tier` supports theirs.
class TargetCpu {
 public:
  explicit TargetCpu(Tier tier, bool dot_products = false);
  ~TargetCpu();
  TargetCpu(const TargetCpu&) = delete;
  TargetCpu& operator=(const TargetCpu&) = delete;

 private:
  bool is_within_;  ///< whether the object is nested in another one of this thread
  Tier tier_before_;
  bool dot_before_;
};

/// Return whether this build has kernels of a tier, whatever the CPU.
bool built_for(Tier tier);
/// Return whether this build can make plans for CPUs of a tier: it has the tier's kernels or their
/// names.
bool compiles_for(Tier tier);

/// Cap the tier of kernels chosen later. A limit above the CPU's tier has no effect. Thread: safe.
void set_tier_limit(Tier limit);
/// Choose kernels for everything the CPU supports again. Thread: safe.
void clear_tier_limit();

/// Return the name of a tier: "scalar", "sse42", "avx2", "avx512" or "neon".
const char* tier_name(Tier tier);

/// Find the tier of that name. If there is none, return false and leave `tier` unchanged.
bool tier_from_name(const char* name, Tier* tier);

/// Return whether a CPU whose best tier is `cpu` can run a kernel that needs `needs`.
bool supports(Tier cpu, Tier needs) RILL_NONBLOCKING;

/// Return whether the vectors of a tier always flush denormals, whatever the thread's mode, as on
/// 32-bit Arm.
constexpr bool always_flushes([[maybe_unused]] Tier tier) {
#if defined(RILL_NEON_32)
  return tier == Tier::kNeon;
#else
  return false;
#endif
}

/// Return whether a kernel of a list may run here.
template <class Kernel>
bool runs_here(const Kernel& kernel) {
  if constexpr (requires { kernel.dot; }) {
    if (kernel.dot && !has_dot_products(kernel.tier)) return false;
  }
  return supports(running_tier(), kernel.tier);
}

}  // namespace rill::kernels
