#include "kernels/matmul_packed/f16_impl.h"
#include "kernels/matmul_packed/q4_impl.h"
#include "kernels/matmul_packed/widen_impl.h"

namespace rill::kernels {

void matmul_q4_0_neon(const MatmulPackedArgs& args) noexcept {
  matmul_q4<Neon, Q4Words<Neon>>(args);
}

void matmul_f16_neon(const MatmulPackedArgs& args) noexcept {
  matmul_f16<Neon>(args, widen_f16_neon, matmul_f32_neon);
}

void matmul_q8_neon(const MatmulPackedArgs& args) noexcept {
  scaled_product<Neon, 1>(args, PackedFormat::kQ8, widen_q8_neon, matmul_f32_neon);
}

void matmul_q4_neon(const MatmulPackedArgs& args) noexcept {
  scaled_product<Neon, 2>(args, PackedFormat::kQ4, widen_q4_neon, matmul_f32_neon);
}

void widen_f16_neon(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  widen_halves<Neon>(panel, k * columns, to);
}

void widen_q8_neon(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  widen_blocks<Neon, 1>(panel, k, columns, to);
}

void widen_q4_neon(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  widen_blocks<Neon, 2>(panel, k, columns, to);
}

}  // namespace rill::kernels
