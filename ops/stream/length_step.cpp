#include "ops/stream/length_step.h"

namespace rill::ops {

void run_length(const LengthArgs& args, const Frame& frame) noexcept {
  auto* to = frame.ptr<int64_t>(args.to);
  for (size_t i = 0; i < args.extents.size(); ++i) {
    const bool known = frame.clock->end >= 0 || args.extents[i].is_const();
    to[i] = known ? args.extents[i].at(frame.symbol_value()).value_or(0) : 0;
  }
}

void touch_length_stream(const LengthArgs& args, StepTouches& touches) {
  touches.writes(region<int64_t>(args.to).over(static_cast<int64_t>(args.extents.size())));
}

extern const StepKind length_stream_kind;
const StepKind length_stream_kind = kLength;

}  // namespace rill::ops
