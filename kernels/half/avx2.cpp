#include "kernels/half/half_impl.h"

namespace rill::kernels {

void upcast_f16_avx2(int64_t n, const uint16_t* x, float* y) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(half));
  }
  for (; i < n; ++i) y[i] = _cvtsh_ss(x[i]);
}

void downcast_f16_avx2(int64_t n, const float* x, uint16_t* y) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), half);
  }
  for (; i < n; ++i) y[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace rill::kernels
