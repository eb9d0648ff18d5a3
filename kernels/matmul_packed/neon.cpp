#include "kernels/matmul_packed/runs_impl.h"

namespace rill::kernels {

void matmul_q4_0_neon(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Neon, Q4Words<Neon>>(args, PackedFormat::kQ4_0);
}

void matmul_f16_neon(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Neon, Halves<Neon>>(args, PackedFormat::kF16);
}

void matmul_q8_neon(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Neon, Q8Rows<Neon>>(args, PackedFormat::kQ8);
}

void matmul_q4_neon(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Neon, Q4Words<Neon>>(args, PackedFormat::kQ4);
}

void upcast_f16_neon(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_halves<Neon>(panel, k * columns, to);
}

void upcast_q8_neon(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Neon, 1>(panel, k, columns, to);
}

void upcast_q4_neon(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Neon, 2>(panel, k, columns, to);
}

}  // namespace rill::kernels
