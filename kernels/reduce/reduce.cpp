#include "kernels/reduce/reduce.h"

#include "kernels/reduce/reduce_impl.h"

namespace rill::kernels {

void reduce_f32_scalar(const ReduceF32Args& args) noexcept { reduce<math::ScalarLane>(args); }

ReduceF32Fn reduce_f32(Tier cpu) noexcept {
#define RILL_KERNEL(needs, name) \
  if (supports(cpu, Tier::needs)) return name;
#include "kernels/reduce/kernels.inc"
#undef RILL_KERNEL
  return reduce_f32_scalar;
}

}  // namespace rill::kernels
