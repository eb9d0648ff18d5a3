#include "kernels/int8/floats_impl.h"
#include "kernels/int8/quantise_impl.h"

namespace rill::kernels {

void matmul_int8_avx512(const MatmulInt8Args& args) noexcept { matmul_int8_of(args); }

void quantise_avx512(const QuantiseArgs& args) noexcept { quantise_of(args); }

RILL_BY_INT8(avx512)

}  // namespace rill::kernels
