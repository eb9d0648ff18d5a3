#include "kernels/depthwise/depthwise_impl.h"

namespace rill::kernels {

void depthwise_f32_avx2(const DepthwiseF32Args& args) noexcept { depthwise<Avx2>(args); }

}  // namespace rill::kernels
