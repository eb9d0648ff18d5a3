#include "kernels/rnn/rnn_impl.h"

namespace rill::kernels {

void gru_f32_neon(const GruF32Args& a) noexcept { gru<Neon>(a, matmul_f32_neon); }

void lstm_f32_neon(const LstmF32Args& a) noexcept { lstm<Neon>(a, matmul_f32_neon); }

void rnn_f32_neon(const RnnF32Args& a) noexcept { rnn<Neon>(a, matmul_f32_neon); }

}  // namespace rill::kernels
