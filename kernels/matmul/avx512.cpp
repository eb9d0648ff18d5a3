#include "kernels/matmul/matmul_impl.h"

namespace rill::kernels {

void matmul_f32_avx512(const MatmulF32Args& args) noexcept { matmul<Avx512>(args); }

}  // namespace rill::kernels
