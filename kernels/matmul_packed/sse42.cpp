#include "kernels/matmul_packed/runs_impl.h"

namespace rill::kernels {

void matmul_q4_0_sse42(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Sse42, Q4Words<Sse42>>(args, PackedFormat::kQ4_0);
}

void matmul_f16_sse42(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Sse42, Halves<Sse42>>(args, PackedFormat::kF16);
}

void matmul_q8_sse42(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Sse42, Q8Rows<Sse42>>(args, PackedFormat::kQ8);
}

void matmul_q4_sse42(const MatmulPackedArgs& args) noexcept {
  matmul_blocks<Sse42, Q4Words<Sse42>>(args, PackedFormat::kQ4);
}

void upcast_f16_sse42(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_halves<Sse42>(panel, k * columns, to);
}

void upcast_q8_sse42(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Sse42, 1>(panel, k, columns, to);
}

void upcast_q4_sse42(const std::byte* panel, int64_t k, int64_t columns, float* to) noexcept {
  upcast_blocks<Sse42, 2>(panel, k, columns, to);
}

}  // namespace rill::kernels
