// Placeholders for the kernels of other processors. Compiling plans for them names these functions;
// opening a plan refuses one for another processor, so they are never called.

#define RILL_OTHERS_ALONE
#include "kernels/depthwise/depthwise_args.h"
#include "kernels/fft/fft.h"
#include "kernels/half/half_args.h"
#include "kernels/int8/int8_args.h"
#include "kernels/matmul/matmul_args.h"
#include "kernels/matmul_packed/matmul_packed_args.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/pool/pool_args.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rnn/rnn_args.h"
#include "kernels/softmax/softmax.h"

#define RILL_EMPTY_BODY \
  noexcept {           \
    __builtin_trap();  \
  }

namespace rill::kernels {

#define RILL_KERNEL(needs, name) void name(const DepthwiseF32Args&) RILL_EMPTY_BODY
#include "kernels/depthwise/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, suffix)                                                         \
  void fft_f32_##suffix(const FftPlan&, const float*, const float*, float*, float*, float*) \
      RILL_EMPTY_BODY                                                                       \
  void rfft_f32_##suffix(const FftPlan&, const float*, const float*, float*, float*, int64_t, \
                         float*) RILL_EMPTY_BODY
#include "kernels/fft/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, name)                                      \
  void upcast_f16_##name(int64_t, const uint16_t*, float*) RILL_EMPTY_BODY \
  void downcast_f16_##name(int64_t, const float*, uint16_t*) RILL_EMPTY_BODY
#include "kernels/half/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, dot, name, columns, depth, a_form) \
  void matmul_int8_##name(const MatmulInt8Args&) RILL_EMPTY_BODY
#include "kernels/int8/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, name) void quantise_##name(const QuantiseArgs&) RILL_EMPTY_BODY
#include "kernels/int8/quantise.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, name, columns) void name(const MatmulF32Args&) RILL_EMPTY_BODY
#include "kernels/matmul/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, format, name, columns, upcast) \
  void name(const MatmulPackedArgs&) RILL_EMPTY_BODY
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, dot, name, columns, depth, form)                                   \
  void matmul_by_int8_##name(const MatmulPackedArgs&) RILL_EMPTY_BODY                         \
  void sums_by_int8_##name(const FewBitsRow&, const FewBitsVector*, int, float*) RILL_EMPTY_BODY \
  float int8_row_##name(const FloatRow&, uint8_t*) RILL_EMPTY_BODY
#include "kernels/int8/kernels.inc"
#undef RILL_KERNEL

#define RILL_UPCAST(suffix)                                                              \
  void upcast_f16_##suffix(const std::byte*, int64_t, int64_t, float*) RILL_EMPTY_BODY   \
  void upcast_q8_##suffix(const std::byte*, int64_t, int64_t, float*) RILL_EMPTY_BODY    \
  void upcast_q4_##suffix(const std::byte*, int64_t, int64_t, float*) RILL_EMPTY_BODY
#if RILL_LISTS(SSE42)
RILL_UPCAST(sse42)
#endif
#if RILL_LISTS(AVX2)
RILL_UPCAST(avx2)
#endif
#if RILL_LISTS(AVX512)
RILL_UPCAST(avx512)
#endif
#if RILL_LISTS(NEON)
RILL_UPCAST(neon)
#endif
#undef RILL_UPCAST

#define RILL_KERNEL(needs, name) void name(const PointwiseArgs&, float*) RILL_EMPTY_BODY
#include "kernels/pointwise/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, suffix)                            \
  void pool_max_f32_##suffix(const PoolF32Args&) RILL_EMPTY_BODY \
  void pool_sum_f32_##suffix(const PoolF32Args&) RILL_EMPTY_BODY
#include "kernels/pool/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, name) void name(const ReduceF32Args&) RILL_EMPTY_BODY
#include "kernels/reduce/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, suffix, lanes)                           \
  void gru_f32_##suffix(const RnnF32Args&) RILL_EMPTY_BODY           \
  void lstm_f32_##suffix(const RnnF32Args&) RILL_EMPTY_BODY          \
  void rnn_f32_##suffix(const RnnF32Args&) RILL_EMPTY_BODY           \
  void small_gru_f32_##suffix(const SmallRnnF32Args&) RILL_EMPTY_BODY \
  void small_lstm_f32_##suffix(const SmallRnnF32Args&) RILL_EMPTY_BODY \
  void f16_sums_##suffix(const FewBitsRow&, const FewBitsVector*, int, float*) RILL_EMPTY_BODY \
  void q8_sums_##suffix(const FewBitsRow&, const FewBitsVector*, int, float*) RILL_EMPTY_BODY
#include "kernels/rnn/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, name) void name(const SoftmaxF32Args&) RILL_EMPTY_BODY
#include "kernels/softmax/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
