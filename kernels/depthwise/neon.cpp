#include "kernels/depthwise/depthwise_impl.h"

namespace rill::kernels {

void depthwise_f32_neon(const DepthwiseF32Args& args) noexcept {
  over_windows<Neon, DepthwiseBody>(args);
}

}  // namespace rill::kernels
