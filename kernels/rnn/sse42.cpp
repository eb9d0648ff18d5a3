#include "kernels/rnn/rnn_impl.h"
#include "kernels/rnn/small_impl.h"

namespace rill::kernels {

void gru_f32_sse42(const RnnF32Args& a) noexcept { recurrent<Sse42>(GruCell<Sse42>{a}); }

void lstm_f32_sse42(const RnnF32Args& a) noexcept { recurrent<Sse42>(LstmCell<Sse42>{a}); }

void rnn_f32_sse42(const RnnF32Args& a) noexcept { recurrent<Sse42>(RnnCell<Sse42>{a}); }

void small_gru_f32_sse42(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Sse42, SmallGruCell<Sse42>>(a);
}

void small_lstm_f32_sse42(const SmallRnnF32Args& a) noexcept {
  small_recurrent<Sse42, SmallLstmCell<Sse42>>(a);
}

void f16_sums_sse42(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                    float* sums) noexcept {
  f16_columns<Sse42>(row, vectors, count, sums);
}

void q8_sums_sse42(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                   float* sums) noexcept {
  q8_columns<Sse42>(row, vectors, count, sums);
}

}  // namespace rill::kernels
