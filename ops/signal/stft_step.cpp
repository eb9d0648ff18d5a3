#include "ops/signal/stft_step.h"

#include <cstring>

#include "core/base/checked.h"

namespace rill::ops {

namespace {

void transform_lane(const StftArgs& a, const kernels::FftPlan& plan, const float* x, float* y,
                    const float* window, float* scratch) {
  float* re = scratch;
  float* im = re + a.frame;
  float* out_re = im + a.frame;
  float* out_im = out_re + a.frame;
  float* rest = out_im + a.frame;
  for (int64_t t = 0; t < a.frames; ++t, x += a.frame_step, y += a.y_frame) {
    if (a.real) {
      const float* samples = x;
      if (a.gather) {
        for (int64_t i = 0; i < a.frame; ++i) re[i] = x[i * a.sample_step];
        samples = re;
      }
      kernels::rfft_execute(plan, samples, window, y, y + a.y_imaginary, a.bins, rest);
      continue;
    }
    for (int64_t i = 0; i < a.frame; ++i) {
      const float w = window ? window[i] : 1.0F;
      re[i] = x[i * a.sample_step] * w;
      im[i] = x[i * a.sample_step + a.imaginary] * w;
    }
    kernels::fft_execute(plan, re, im, out_re, out_im, false, rest);
    std::memcpy(y, out_re, static_cast<size_t>(a.bins) * sizeof(float));
    std::memcpy(y + a.y_imaginary, out_im, static_cast<size_t>(a.bins) * sizeof(float));
  }
}

}  // namespace

void run_stft(const StftArgs& a, const Frame& frame) noexcept {
  kernels::FftPlan plan = a.plan;
  plan.passes.twiddles = frame.ptr<const float>(a.tables);
  const auto* x = frame.ptr<const float>(a.x);
  auto* y = frame.ptr<float>(a.y);
  const auto* window = a.windowed ? frame.ptr<const float>(a.window) : nullptr;
  auto* scratch = frame.ptr<float>(a.scratch);
  int64_t total = 1;
  for (int i = 0; i < a.lanes; ++i) total *= a.lane_count[i];
  for (int64_t lane = 0; lane < total; ++lane) {
    int64_t rest = lane;
    int64_t at_x = 0;
    int64_t at_y = 0;
    for (int i = 0; i < a.lanes; ++i) {
      at_x += rest % a.lane_count[i] * a.lane_x[i];
      at_y += rest % a.lane_count[i] * a.lane_y[i];
      rest /= a.lane_count[i];
    }
    transform_lane(a, plan, x + at_x, y + at_y, window, scratch);
  }
}

void touch_stft(const StftArgs& a, StepTouches& touches) {
  const auto kind = a.real ? kernels::FftKind::kReal : kernels::FftKind::kComplex;
  touches.within(a.frame, 1, kMostCounted);
  touches.within(a.frames, 0, kMostCounted);
  touches.within(a.bins, 0, a.frame);
  touches.within(a.lanes, 0, kMaxRank);
  touches.require(a.plan.kernel != nullptr && touches.holds() &&
                      kernels::fft_is_plan(a.plan, a.frame, kind),
                  "a plan of its transform");
  if (!touches.holds()) return;
  const int64_t sample_step = a.real && !a.gather ? 1 : a.sample_step;
  Region x = region<float>(a.x).over(a.frames, a.frame_step).over(a.frame, sample_step);
  Region y = region<float>(a.y).over(a.frames, a.y_frame).over(2, a.y_imaginary).over(a.bins);
  if (!a.real) x = x.over(2, a.imaginary);
  int64_t lanes = 1;
  for (int i = 0; i < a.lanes; ++i) {
    touches.within(a.lane_count[i], 0, kMostCounted);
    lanes = checked_mul(lanes, a.lane_count[i]).value_or(-1);
    touches.within(lanes, 0, kMostCounted);
    x = x.over(a.lane_count[i], a.lane_x[i]);
    y = y.over(a.lane_count[i], a.lane_y[i]);
  }
  touches.reads(x);
  touches.writes(y);
  touches.reads(region<float>(a.tables)
                    .over(static_cast<int64_t>(kernels::fft_tables_floats(a.frame, kind))));
  if (a.windowed) touches.reads(region<float>(a.window).over(a.frame));
  touches.writes(region<float>(a.scratch)
                     .over(4 * a.frame +
                           static_cast<int64_t>(kernels::fft_scratch_floats(a.plan))));
}

extern const StepKind stft_kind;
const StepKind stft_kind = kStft;

}  // namespace rill::ops
