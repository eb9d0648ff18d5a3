#include "kernels/reduce/reduce.h"

#include "kernels/reduce/reduce_impl.h"

namespace rill::kernels {

void reduce_f32_scalar(const ReduceF32Args& args) noexcept { reduce<math::ScalarLane>(args); }

namespace {

constexpr NamedKernel<ReduceF32Fn> kKernels[] = {
#define RILL_KERNEL(needs, name) {#name, Tier::needs, name},
#include "kernels/reduce/kernels.inc"
#undef RILL_KERNEL
};

}  // namespace

KernelList<NamedKernel<ReduceF32Fn>> kernels_like(ReduceF32Fn) { return kKernels; }

ReduceF32Fn reduce_f32(Tier cpu) noexcept { return kernels_like(ReduceF32Fn{}).best(cpu).run; }

namespace {

/// Floats in a vector of the functions of a tier.
constexpr int64_t lanes_of(Tier tier) {
  switch (tier) {
    case Tier::kAvx512:
      return 16;
    case Tier::kAvx2:
      return 8;
    case Tier::kSse42:
    case Tier::kNeon:
      return 4;
    case Tier::kScalar:
      return math::ScalarLane::size;
  }
  return 1;
}

}  // namespace

int64_t reduce_block_f32(Tier cpu) noexcept {
#define RILL_KERNEL(needs, name) \
  if (supports(cpu, Tier::needs)) return 4 * lanes_of(Tier::needs);
#include "kernels/reduce/kernels.inc"
#undef RILL_KERNEL
  return 4 * lanes_of(Tier::kScalar);
}

}  // namespace rill::kernels
