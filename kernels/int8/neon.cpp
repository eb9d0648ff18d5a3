#include "kernels/int8/floats_impl.h"
#include "kernels/int8/quantise_impl.h"

namespace rill::kernels {

void matmul_int8_neon(const MatmulInt8Args& args) noexcept { matmul_int8_of(args); }

void quantise_neon(const QuantiseArgs& args) noexcept { quantise_of(args); }

RILL_BY_INT8(neon)

}  // namespace rill::kernels
