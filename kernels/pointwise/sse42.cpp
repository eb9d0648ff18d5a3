#include "kernels/pointwise/pointwise_impl.h"

namespace rill::kernels {

void pointwise_f32_sse42(const PointwiseArgs& args, float* scratch) noexcept {
  pointwise<xsimd::batch<float, xsimd::sse4_2>>(args, scratch);
}

}  // namespace rill::kernels
