#include "kernels/matmul/matmul_impl.h"

namespace rill::kernels {

void matmul_f32_sse42(const MatmulF32Args& args) noexcept { matmul<Sse42>(args); }

}  // namespace rill::kernels
