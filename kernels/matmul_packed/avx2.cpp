#include "kernels/matmul_packed/matmul_packed_impl.h"

namespace rill::kernels {

void matmul_q4_0_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_packed<Avx2, Q4<Avx2>>(args, matmul_f32_avx2);
}

void matmul_f16_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_packed<Avx2, F16<Avx2>>(args, matmul_f32_avx2);
}

}  // namespace rill::kernels
