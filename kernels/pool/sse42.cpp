#include "kernels/pool/pool_impl.h"

namespace rill::kernels {

void pool_max_f32_sse42(const PoolF32Args& args) noexcept {
  over_windows<Sse42, PoolBody<true>>(args);
}

void pool_sum_f32_sse42(const PoolF32Args& args) noexcept {
  over_windows<Sse42, PoolBody<false>>(args);
}

}  // namespace rill::kernels
