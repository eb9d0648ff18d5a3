#include "kernels/softmax/softmax_impl.h"

namespace rill::kernels {

void softmax_f32_neon(const SoftmaxF32Args& args) noexcept {
  softmax_rows<xsimd::batch<float, Neon>>(args);
}

}  // namespace rill::kernels
