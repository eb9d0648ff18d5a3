#include "kernels/reduce/reduce_impl.h"

namespace rill::kernels {

void reduce_f32_sse42(const ReduceF32Args& args) noexcept {
  reduce<xsimd::batch<float, xsimd::sse4_2>>(args);
}

}  // namespace rill::kernels
