#include "kernels/matmul_packed/runs_impl.h"

namespace rill::kernels {

void matmul_q4_0_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx512, Q4Words<Avx512>>(args, PackedFormat::kQ4_0);
}

void matmul_f16_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx512, Halves<Avx512>>(args, PackedFormat::kF16);
}

void matmul_q8_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx512, Q8Rows<Avx512>>(args, PackedFormat::kQ8);
}

void matmul_q4_avx512(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx512, Q4Words<Avx512>>(args, PackedFormat::kQ4);
}

void upcast_f16_avx512(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_halves<Avx512>(panel, k * columns, to);
}

void upcast_q8_avx512(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Avx512, 1>(panel, k, columns, to);
}

void upcast_q4_avx512(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Avx512, 2>(panel, k, columns, to);
}

}  // namespace rill::kernels
