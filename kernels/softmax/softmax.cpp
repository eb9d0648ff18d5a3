#include "kernels/softmax/softmax.h"

#include "kernels/softmax/softmax_impl.h"

namespace rill::kernels {

void softmax_f32_scalar(const SoftmaxF32Args& args) noexcept {
  softmax_rows<math::ScalarLane>(args);
}

namespace {

constexpr NamedKernel<SoftmaxF32Fn> kKernels[] = {
#define RILL_KERNEL(needs, name) {#name, Tier::needs, name},
#include "kernels/softmax/kernels.inc"
#undef RILL_KERNEL
};

}  // namespace

KernelList<NamedKernel<SoftmaxF32Fn>> kernels_like(SoftmaxF32Fn) { return kKernels; }

SoftmaxF32Fn softmax_f32(Tier cpu) noexcept { return kernels_like(SoftmaxF32Fn{}).best(cpu).run; }

}  // namespace rill::kernels
