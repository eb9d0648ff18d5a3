#include "kernels/reduce/reduce_impl.h"

namespace rill::kernels {

void reduce_f32_avx2(const ReduceF32Args& args) noexcept {
  reduce<xsimd::batch<float, xsimd::fma3<xsimd::avx2>>>(args);
}

}  // namespace rill::kernels
