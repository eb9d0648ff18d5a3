#include "kernels/rnn/rnn_impl.h"

namespace rill::kernels {

void gru_f32_avx512(const GruF32Args& a) noexcept { gru<Avx512>(a, matmul_f32_avx512); }

void lstm_f32_avx512(const LstmF32Args& a) noexcept { lstm<Avx512>(a, matmul_f32_avx512); }

void rnn_f32_avx512(const RnnF32Args& a) noexcept { rnn<Avx512>(a, matmul_f32_avx512); }

}  // namespace rill::kernels
