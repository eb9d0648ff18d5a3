#include "kernels/rnn/rnn_impl.h"

namespace rill::kernels {

void gru_f32_sse42(const GruF32Args& a) noexcept { gru<Sse42>(a, matmul_f32_sse42); }

void lstm_f32_sse42(const LstmF32Args& a) noexcept { lstm<Sse42>(a, matmul_f32_sse42); }

void rnn_f32_sse42(const RnnF32Args& a) noexcept { rnn<Sse42>(a, matmul_f32_sse42); }

}  // namespace rill::kernels
