#include "kernels/rnn/rnn_impl.h"

namespace rill::kernels {

void gru_f32_avx512(const GruF32Args& a) noexcept { recurrent<Avx512>(GruCell<Avx512>{a}); }

void lstm_f32_avx512(const LstmF32Args& a) noexcept { recurrent<Avx512>(LstmCell<Avx512>{a}); }

void rnn_f32_avx512(const RnnF32Args& a) noexcept { recurrent<Avx512>(RnnCell<Avx512>{a}); }

}  // namespace rill::kernels
