#include "kernels/rnn/rnn_impl.h"
#include "kernels/rnn/small_impl.h"

namespace rill::kernels {

void gru_f32_avx2(const RnnF32Args& a) noexcept { recurrent<Avx2>(GruCell<Avx2>{a}); }

void lstm_f32_avx2(const RnnF32Args& a) noexcept { recurrent<Avx2>(LstmCell<Avx2>{a}); }

void rnn_f32_avx2(const RnnF32Args& a) noexcept { recurrent<Avx2>(RnnCell<Avx2>{a}); }

void small_gru_f32_avx2(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Avx2, SmallGruCell<Avx2>>(a);
}

void small_lstm_f32_avx2(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Avx2, SmallLstmCell<Avx2>>(a);
}

void f16_sums_avx2(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                   float* sums) noexcept {
  f16_columns<Avx2>(row, vectors, count, sums);
}

void q8_sums_avx2(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                  float* sums) noexcept {
  q8_columns<Avx2>(row, vectors, count, sums);
}

}  // namespace rill::kernels
