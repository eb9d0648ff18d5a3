#include "kernels/half/half_impl.h"

namespace rill::kernels {

void upcast_f16_neon(int64_t n, const uint16_t* x, float* y) noexcept {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
  }
  for (; i < n; ++i) y[i] = vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x[i]))), 0);
}

void downcast_f16_neon(int64_t n, const float* x, uint16_t* y) noexcept {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
  }
  for (; i < n; ++i) {
    y[i] = vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x[i]))), 0);
  }
}

}  // namespace rill::kernels
