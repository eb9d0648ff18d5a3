#include "kernels/matmul_packed/q4_impl.h"

namespace rill::kernels {

void matmul_q4_0_sse42(const MatmulPackedArgs& args) noexcept {
  matmul_q4<Sse42, Q4Words<Sse42>>(args);
}

}  // namespace rill::kernels
