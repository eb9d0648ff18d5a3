#include "kernels/matmul_packed/matmul_packed_impl.h"

namespace rill::kernels {

void matmul_q4_0_sse42(const MatmulPackedArgs& args) noexcept {
  matmul_packed<Sse42, Q4<Sse42>>(args, matmul_f32_sse42);
}

}  // namespace rill::kernels
