#include "kernels/depthwise/depthwise_impl.h"

namespace rill::kernels {

void depthwise_f32_avx512(const DepthwiseF32Args& args) noexcept { depthwise<Avx512>(args); }

}  // namespace rill::kernels
