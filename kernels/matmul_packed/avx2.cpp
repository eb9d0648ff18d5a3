#include "kernels/matmul_packed/runs_impl.h"

namespace rill::kernels {

void matmul_q4_0_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx2, Q4Bytes>(args, PackedFormat::kQ4_0);
}

void matmul_f16_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx2, Halves<Avx2>>(args, PackedFormat::kF16);
}

void matmul_q8_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx2, Q8Rows<Avx2>>(args, PackedFormat::kQ8);
}

void matmul_q4_avx2(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Avx2, Q4Bytes>(args, PackedFormat::kQ4);
}

void upcast_f16_avx2(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_halves<Avx2>(panel, k * columns, to);
}

void upcast_q8_avx2(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Avx2, 1>(panel, k, columns, to);
}

void upcast_q4_avx2(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Avx2, 2>(panel, k, columns, to);
}

}  // namespace rill::kernels
