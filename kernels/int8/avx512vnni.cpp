#include "kernels/int8/floats_impl.h"

namespace rill::kernels {

void matmul_int8_avx512vnni(const MatmulInt8Args& args) noexcept { matmul_int8_of(args); }

RILL_BY_INT8(avx512vnni)

}  // namespace rill::kernels
