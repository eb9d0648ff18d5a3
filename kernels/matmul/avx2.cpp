#include "kernels/matmul/matmul_impl.h"

namespace rill::kernels {

void matmul_f32_avx2(const MatmulF32Args& args) noexcept { matmul<Avx2>(args); }

}  // namespace rill::kernels
