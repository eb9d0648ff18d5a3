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

void touch_fft(const FftArgs& args, StepTouches& touches) {
  touches.within(args.points, 1, kMostCounted);
  touches.within(args.lanes, 0, kMostCounted);
  const auto complex = kernels::FftKind::kComplex;
  touches.require(args.plan.kernel != nullptr && touches.holds() &&
                      kernels::fft_is_plan(args.plan, args.points, complex),
                  "a plan of its transform");
  if (!touches.holds()) return;
  const int64_t part = args.lanes * args.points;
  touches.reads(region<float>(args.tables)
                    .over(static_cast<int64_t>(kernels::fft_tables_floats(args.points, complex))));
  touches.reads(region<float>(args.x).over(2, part).over(part));
  touches.writes(region<float>(args.y).over(2, part).over(part));
  touches.writes(region<float>(args.scratch)
                     .over(static_cast<int64_t>(kernels::fft_scratch_floats(args.plan))));
}

extern const StepKind fft_kind;
const StepKind fft_kind = kFft;

}  // namespace rill::ops
