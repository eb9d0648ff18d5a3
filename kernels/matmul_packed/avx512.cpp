#include "kernels/matmul_packed/f16_impl.h"
#include "kernels/matmul_packed/q4_impl.h"

namespace rill::kernels {

void matmul_q4_0_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_q4<Avx512, Q4Words<Avx512>>(args);
}

void matmul_f16_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_f16<Avx512>(args, matmul_f32_avx512);
}

}  // namespace rill::kernels
