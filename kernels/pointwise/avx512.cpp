#include "kernels/pointwise/pointwise_impl.h"

namespace rill::kernels {

void pointwise_f32_avx512(const PointwiseArgs& args, float* scratch) noexcept {
  pointwise<xsimd::batch<float, xsimd::avx512bw>>(args, scratch);
}

}  // namespace rill::kernels
