#include "kernels/matmul/matmul_impl.h"

namespace rill::kernels {

void matmul_f32_neon(const MatmulF32Args& args) noexcept { matmul<Neon>(args); }

}  // namespace rill::kernels
