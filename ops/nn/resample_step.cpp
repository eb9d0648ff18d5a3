#include "ops/nn/resample_step.h"

#include <algorithm>

namespace rill::ops {

void run_resample(const ResampleArgs& a, const Frame& frame) noexcept {
  const auto* x = frame.ptr<const float>(a.x);
  auto* y = frame.ptr<float>(a.y);
  const auto* counts = frame.ptr<const int64_t>(a.counts);
  for (int64_t o = 0; o < a.outer; ++o, x += a.from * a.inner) {
    const auto* index = frame.ptr<const int64_t>(a.indices);
    const auto* weight = frame.ptr<const float>(a.weights);
    for (int64_t i = 0; i < a.to; ++i, y += a.inner, index += a.taps, weight += a.taps) {
      std::fill(y, y + a.inner, counts[i] < 0 ? a.outside : 0.0F);
      for (int64_t k = 0; k < counts[i]; ++k) {
        const float* source = x + index[k] * a.inner;
        const float w = weight[k];
        for (int64_t n = 0; n < a.inner; ++n) y[n] += w * source[n];
      }
    }
  }
}

extern const StepKind resample_kind;
const StepKind resample_kind = kResample;

}  // namespace rill::ops
