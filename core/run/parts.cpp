#include <algorithm>

#include "core/run/denormals.h"
#include "core/run/plan.h"

namespace rill {
namespace {

/// A step while it runs in parts.
struct Parted {
  const Step& step;
  const Frame& frame;
  int64_t parts;
  FloatMode mode;  ///< the float mode of the calling thread
};

Share share_of(const Parted& all, int64_t part) {
  const StepParts& parts = all.step.parts;
  Share share;
  share.begin = parts.units * part / all.parts;
  share.end = parts.units * (part + 1) / all.parts;
  share.scratch = part == 0 ? all.frame.ptr<std::byte>(parts.scratch)
                            : all.frame.part_scratch + (part - 1) * all.frame.part_scratch_bytes;
  return share;
}

void run_part(void* argument, uint32_t part) {
  const Parted& all = *static_cast<const Parted*>(argument);
  if (part >= all.parts) return;  // the caller's pool may pass any number
  const WithFloatMode mode(all.mode);
  all.step.kind->run_share(all.step.args, all.frame, share_of(all, part));
}

}  // namespace

RILL_NOT_IN_STEPS_BEGIN

void run_in_parts(const Step& step, const Frame& frame) noexcept {
  const int64_t parts = std::min<int64_t>(step.parts.most, frame.pool->threads);
  if (parts < 2) return step.run(step, frame);
  Parted all{step, frame, parts, float_mode()};
  frame.pool->run(frame.pool->context, run_part, &all, static_cast<uint32_t>(parts));
}

RILL_NOT_IN_STEPS_END

}  // namespace rill
