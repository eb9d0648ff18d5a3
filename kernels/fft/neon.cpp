#include "kernels/fft/fft_impl.h"

namespace rill::kernels {

void fft_f32_neon(const FftPlan& plan, const float* re, const float* im, float* out_re,
                  float* out_im, float* scratch) noexcept {
  fft_complex<xsimd::batch<float, Neon>>(plan, re, im, out_re, out_im, scratch);
}

void rfft_f32_neon(const FftPlan& plan, const float* x, const float* window, float* out_re,
                   float* out_im, int64_t bins, float* scratch) noexcept {
  fft_real<xsimd::batch<float, Neon>>(plan, x, window, out_re, out_im, bins, scratch);
}

}  // namespace rill::kernels
