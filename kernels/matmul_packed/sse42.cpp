#include "kernels/matmul_packed/q4_impl.h"
#include "kernels/matmul_packed/upcast_impl.h"

namespace rill::kernels {

void matmul_q4_0_sse42(const MatmulPackedArgs& args) noexcept {
  matmul_q4<Sse42, Q4Words<Sse42>>(args);
}

void matmul_f16_sse42(const MatmulPackedArgs& args) noexcept {
  packed_written_out(
      args, {PackedFormat::kF16, kPanelColumns<Sse42>, upcast_f16_sse42, matmul_f32_sse42});
}

void matmul_q8_sse42(const MatmulPackedArgs& args) noexcept {
  scaled_product<Sse42, 1>(args, PackedFormat::kQ8, upcast_q8_sse42, matmul_f32_sse42);
}

void matmul_q4_sse42(const MatmulPackedArgs& args) noexcept {
  scaled_product<Sse42, 2>(args, PackedFormat::kQ4, upcast_q4_sse42, matmul_f32_sse42);
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
