#include "kernels/rnn/rnn_impl.h"

namespace rill::kernels {

void gru_f32_avx2(const GruF32Args& a) noexcept { gru<Avx2>(a, matmul_f32_avx2); }

void lstm_f32_avx2(const LstmF32Args& a) noexcept { lstm<Avx2>(a, matmul_f32_avx2); }

void rnn_f32_avx2(const RnnF32Args& a) noexcept { rnn<Avx2>(a, matmul_f32_avx2); }

}  // namespace rill::kernels
