#include "kernels/matmul_packed/matmul_packed_impl.h"

namespace rill::kernels {

void matmul_q4_0_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_packed<Avx512, Q4<Avx512>>(args, matmul_f32_avx512);
}

void matmul_f16_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_packed<Avx512, F16<Avx512>>(args, matmul_f32_avx512);
}

}  // namespace rill::kernels
