#include "kernels/rnn/rnn_impl.h"
#include "kernels/rnn/small_impl.h"

namespace rill::kernels {

void gru_f32_avx512(const RnnF32Args& a) noexcept { recurrent<Avx512>(GruCell<Avx512>{a}); }

void lstm_f32_avx512(const RnnF32Args& a) noexcept { recurrent<Avx512>(LstmCell<Avx512>{a}); }

void rnn_f32_avx512(const RnnF32Args& a) noexcept { recurrent<Avx512>(RnnCell<Avx512>{a}); }

void small_gru_f32_avx512(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Avx512, SmallGruCell<Avx512>>(a);
}

void small_lstm_f32_avx512(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Avx512, SmallLstmCell<Avx512>>(a);
}

void f16_sums_avx512(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                     float* sums) noexcept {
  f16_columns<Avx512>(row, vectors, count, sums);
}

void q8_sums_avx512(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                    float* sums) noexcept {
  q8_columns<Avx512>(row, vectors, count, sums);
}

}  // namespace rill::kernels
