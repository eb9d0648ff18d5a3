#include "kernels/matmul_packed/f16_impl.h"
#include "kernels/matmul_packed/q4_impl.h"

namespace rill::kernels {

void matmul_q4_0_neon(const MatmulPackedArgs& args) noexcept {
  matmul_q4<Neon, Q4Words<Neon>>(args);
}

void matmul_f16_neon(const MatmulPackedArgs& args) noexcept {
  matmul_f16<Neon>(args, matmul_f32_neon);
}

}  // namespace rill::kernels
