#include "kernels/pool/pool_impl.h"

namespace rill::kernels {

void pool_max_f32_neon(const PoolF32Args& args) noexcept {
  over_windows<Neon, PoolBody<true>>(args);
}

void pool_sum_f32_neon(const PoolF32Args& args) noexcept {
  over_windows<Neon, PoolBody<false>>(args);
}

}  // namespace rill::kernels
