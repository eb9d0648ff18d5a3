#include "kernels/int8/int8_impl.h"

namespace rill::kernels {

void matmul_int8_avxvnni(const MatmulInt8Args& args) noexcept { matmul_int8_of(args); }

}  // namespace rill::kernels
