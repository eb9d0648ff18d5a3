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

void touch_resample(const ResampleArgs& a, StepTouches& touches) {
  for (const int64_t count : {a.outer, a.from, a.to, a.inner, a.taps}) {
    touches.within(count, 0, kMostCounted);
  }
  if (!touches.holds()) return;
  touches.reads(region<float>(a.x).over(a.outer, a.from * a.inner).over(a.from, a.inner).over(
      a.inner));
  touches.writes(
      region<float>(a.y).over(a.outer, a.to * a.inner).over(a.to, a.inner).over(a.inner));
  touches.reads(region<float>(a.weights).over(a.to, a.taps).over(a.taps));
  const auto* counts = touches.contents(region<int64_t>(a.counts).over(a.to));
  const Region taps = region<int64_t>(a.indices).over(a.to, a.taps).over(a.taps);
  const auto* indices = touches.contents(taps);
  for (int64_t i = 0; counts != nullptr && i < a.to && touches.holds(); ++i) {
    const int64_t used = reinterpret_cast<const int64_t*>(counts)[i];
    touches.require(used <= a.taps && (used <= 0 || indices != nullptr), "taps that it has");
    for (int64_t k = 0; k < used && touches.holds(); ++k) {
      const int64_t index = reinterpret_cast<const int64_t*>(indices)[i * a.taps + k];
      touches.require(index >= 0 && index < a.from, "frames that its input has");
    }
  }
}

extern const StepKind resample_kind;
const StepKind resample_kind = kResample;

}  // namespace rill::ops
