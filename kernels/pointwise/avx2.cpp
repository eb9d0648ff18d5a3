#include "kernels/pointwise/pointwise_impl.h"

namespace rill::kernels {

void pointwise_f32_avx2(const PointwiseArgs& args, float* scratch) noexcept {
  pointwise<xsimd::batch<float, xsimd::fma3<xsimd::avx2>>>(args, scratch);
}

}  // namespace rill::kernels
