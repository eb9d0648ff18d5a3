#include "kernels/matmul_packed/f16_impl.h"
#include "kernels/matmul_packed/q4_impl.h"

namespace rill::kernels {

void matmul_q4_0_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_q4<Avx2, Q4Bytes>(args);
}

void matmul_f16_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_f16<Avx2>(args, matmul_f32_avx2);
}

}  // namespace rill::kernels
