#include "kernels/pointwise/pointwise_impl.h"

namespace rill::kernels {

void pointwise_f32_neon(const PointwiseArgs& args, float* scratch) noexcept {
  pointwise<xsimd::batch<float, Neon>>(args, scratch);
}

}  // namespace rill::kernels
