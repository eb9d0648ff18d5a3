#include "kernels/reduce/reduce_impl.h"

namespace rill::kernels {

void reduce_f32_neon(const ReduceF32Args& args) noexcept {
  reduce<xsimd::batch<float, Neon>>(args);
}

}  // namespace rill::kernels
