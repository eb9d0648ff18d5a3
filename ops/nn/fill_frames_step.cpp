#include "ops/nn/fill_frames_step.h"

#include "core/tensor/strided_copy.h"

namespace rill::ops {

void run_fill_frames(const FillFramesArgs& args, const Frame& frame) noexcept {
  const int64_t count = args.all.volume();
  const int64_t step = 1;
  const bool bytes = dtype_size(args.all.dtype) == 1;
  // An infinite value cannot be a byte.
  const auto byte = static_cast<uint8_t>(bytes ? static_cast<int32_t>(args.value) : 0);
  const void* value = bytes ? static_cast<const void*>(&byte) : &args.value;
  fill_strided(bytes ? 1 : sizeof(float), 1, &count, value, frame.ptr<std::byte>(args.all.ref),
               &step);
}

void touch_fill_frames(const FillFramesArgs& args, StepTouches& touches) {
  const int64_t size = dtype_size(args.all.dtype);
  touches.require(size == 1 || size == 4, "bytes or floats");
  PlacedView one = args.all;
  one.rank = 0;
  touches.writes(region(one).over(args.all.volume()));
}

extern const StepKind fill_frames_kind;
const StepKind fill_frames_kind = kFillFrames;

}  // namespace rill::ops
