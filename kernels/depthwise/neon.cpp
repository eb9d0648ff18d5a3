#include "kernels/depthwise/depthwise_impl.h"

namespace rill::kernels {

void depthwise_f32_neon(const DepthwiseF32Args& args) noexcept { depthwise<Neon>(args); }

}  // namespace rill::kernels
