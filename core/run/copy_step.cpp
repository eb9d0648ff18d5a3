#include "core/run/copy_step.h"

namespace rill {

void run_copy(const CopyArgs& args, const Frame& frame, const Share& share) noexcept {
  View from = frame.view(args.from);
  View to = frame.view(args.to);
  for (View* view : {&from, &to}) {
    if (share.end - share.begin == args.units) continue;
    view->shape[0] = share.end - share.begin;
    view->data = view->as<std::byte>() + share.begin * view->step(0) * dtype_size(view->dtype);
  }
  copy_plain(from, to);
}

void touch_copy(const CopyArgs& args, StepTouches& touches) {
  touches.alike(args.from, args.to);
  touches.require(args.units == 1 || (args.to.rank > 0 && args.units == args.to.extent(0)),
                  "slices of the copied view");
  touches.units(args.units);
  touches.reads(args.from);
  touches.writes(args.to);
}

extern const StepKind copy_kind;
const StepKind copy_kind = kCopy;

}  // namespace rill
