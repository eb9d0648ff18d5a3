#include "kernels/pool/pool_impl.h"

namespace rill::kernels {

void pool_max_f32_avx512(const PoolF32Args& args) noexcept {
  over_windows<Avx512, PoolBody<true>>(args);
}

void pool_sum_f32_avx512(const PoolF32Args& args) noexcept {
  over_windows<Avx512, PoolBody<false>>(args);
}

}  // namespace rill::kernels
