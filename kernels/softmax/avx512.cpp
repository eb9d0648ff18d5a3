#include "kernels/softmax/softmax_impl.h"

namespace rill::kernels {

void softmax_f32_avx512(const SoftmaxF32Args& args) noexcept {
  softmax_rows<xsimd::batch<float, xsimd::avx512bw>>(args);
}

}  // namespace rill::kernels
