#include "ops/stream/key_mask_step.h"

#include <algorithm>

namespace rill::ops {

void run_key_mask(const KeyMaskArgs& args, const Frame& frame) noexcept {
  const View to = frame.view(args.to);
  const int64_t keys = to.extent(args.axis);
  const int64_t newest = frame.clock->position(args.pulse) + args.pulse - args.delay;
  const int64_t first = newest - keys;  // the number of the key at index 0
  const auto fill = [&](int64_t from, int64_t until) {
    if (from >= until) return;
    View value = frame.view(args.value);
    const View part = frames_of(to, args.axis, from, until - from);
    value.rank = part.rank;
    value.shape = part.shape;
    value.stride.fill(0);
    copy_plain(value, part);
  };
  fill(0, std::clamp<int64_t>(-first, 0, keys));
  fill(std::clamp<int64_t>(args.length.now(frame) - first, 0, keys), keys);
}

void touch_key_mask_stream(const KeyMaskArgs& args, StepTouches& touches) {
  touches.has_axis(args.to, args.axis);
  touches.within(args.pulse, 0, kMostFrames);
  touches.within(args.delay, -kMostFrames, kMostFrames);
  touches.require(args.value.volume() > 0 && args.value.dtype == args.to.dtype,
                  "a value to fill with");
  touches.reads(args.value);
  touches.writes(args.to);
}

extern const StepKind key_mask_stream_kind;
const StepKind key_mask_stream_kind = kKeyMask;

}  // namespace rill::ops
