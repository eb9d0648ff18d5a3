#include "kernels/depthwise/depthwise_impl.h"

namespace rill::kernels {

void depthwise_f32_avx2(const DepthwiseF32Args& args) noexcept {
  over_windows<Avx2, DepthwiseBody>(args);
}

}  // namespace rill::kernels
