#include "kernels/matmul_packed/matmul_packed_impl.h"

namespace rill::kernels {

void matmul_q4_0_neon(const MatmulPackedArgs& args) noexcept {
  matmul_packed<Neon, Q4<Neon>>(args, matmul_f32_neon);
}

void matmul_f16_neon(const MatmulPackedArgs& args) noexcept {
  matmul_packed<Neon, F16<Neon>>(args, matmul_f32_neon);
}

}  // namespace rill::kernels
