#include "kernels/softmax/softmax_impl.h"

namespace rill::kernels {

void softmax_f32_sse42(const SoftmaxF32Args& args) noexcept {
  softmax_rows<xsimd::batch<float, xsimd::sse4_2>>(args);
}

}  // namespace rill::kernels
