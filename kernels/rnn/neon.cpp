#include "kernels/rnn/rnn_impl.h"
#include "kernels/rnn/small_impl.h"

namespace rill::kernels {

void gru_f32_neon(const RnnF32Args& a) noexcept { recurrent<Neon>(GruCell<Neon>{a}); }

void lstm_f32_neon(const RnnF32Args& a) noexcept { recurrent<Neon>(LstmCell<Neon>{a}); }

void rnn_f32_neon(const RnnF32Args& a) noexcept { recurrent<Neon>(RnnCell<Neon>{a}); }

void small_gru_f32_neon(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Neon, SmallGruCell<Neon>>(a);
}

void small_lstm_f32_neon(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Neon, SmallLstmCell<Neon>>(a);
}

void f16_sums_neon(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                   float* sums) noexcept {
  f16_columns<Neon>(row, vectors, count, sums);
}

void q8_sums_neon(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                  float* sums) noexcept {
  q8_columns<Neon>(row, vectors, count, sums);
}

}  // namespace rill::kernels
