#include "kernels/softmax/softmax_impl.h"

namespace rill::kernels {

void softmax_f32_avx2(const SoftmaxF32Args& args) noexcept {
  softmax_rows<xsimd::batch<float, xsimd::fma3<xsimd::avx2>>>(args);
}

}  // namespace rill::kernels
