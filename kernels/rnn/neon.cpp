#include "kernels/rnn/rnn_impl.h"

namespace rill::kernels {

void gru_f32_neon(const GruF32Args& a) noexcept { recurrent<Neon>(GruCell<Neon>{a}); }

void lstm_f32_neon(const LstmF32Args& a) noexcept { recurrent<Neon>(LstmCell<Neon>{a}); }

void rnn_f32_neon(const RnnF32Args& a) noexcept { recurrent<Neon>(RnnCell<Neon>{a}); }

}  // namespace rill::kernels
