#include "kernels/softmax/softmax.h"

#include "kernels/softmax/softmax_impl.h"

namespace rill::kernels {

void softmax_f32_scalar(const SoftmaxF32Args& args) noexcept {
  softmax_rows<math::ScalarLane>(args);
}

SoftmaxF32Fn softmax_f32(Tier cpu) noexcept {
#define RILL_KERNEL(needs, name) \
  if (supports(cpu, Tier::needs)) return name;
#include "kernels/softmax/kernels.inc"
#undef RILL_KERNEL
  return softmax_f32_scalar;
}

}  // namespace rill::kernels
