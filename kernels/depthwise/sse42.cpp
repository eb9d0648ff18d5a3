#include "kernels/depthwise/depthwise_impl.h"

namespace rill::kernels {

void depthwise_f32_sse42(const DepthwiseF32Args& args) noexcept { depthwise<Sse42>(args); }

}  // namespace rill::kernels
