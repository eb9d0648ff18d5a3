#include "kernels/reduce/reduce_impl.h"

namespace rill::kernels {

void reduce_f32_avx512(const ReduceF32Args& args) noexcept {
  reduce<xsimd::batch<float, xsimd::avx512bw>>(args);
}

}  // namespace rill::kernels
