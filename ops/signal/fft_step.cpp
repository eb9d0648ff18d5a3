#include "ops/signal/fft_step.h"

namespace rill::ops {

void run_fft(const FftArgs& args, const Frame& frame) noexcept {
  kernels::FftPlan plan = args.plan;
  plan.passes.twiddles = frame.ptr<const float>(args.tables);
  const auto* x = frame.ptr<const float>(args.x);
  auto* y = frame.ptr<float>(args.y);
  const int64_t part = args.lanes * args.points;
  for (int64_t lane = 0; lane < args.lanes; ++lane) {
    const int64_t at = lane * args.points;
    kernels::fft_execute(plan, x + at, x + part + at, y + at, y + part + at, args.inverse,
                         frame.ptr<float>(args.scratch));
  }
}

extern const StepKind fft_kind;
const StepKind fft_kind = kFft;

}  // namespace rill::ops
