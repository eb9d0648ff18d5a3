#include "ops/nn/resize_stream_step.h"

#include <algorithm>

#include "ops/array/walk.h"

namespace rill::ops {
namespace {

template <class T>
void copy_frame(const View& from, const View& to) {
  for_each_element<2>({from, to}, [&](const std::array<int64_t, 2>& at) {
    to.as<T>()[at[1]] = from.as<const T>()[at[0]];
  });
}

void add_frame(float weight, const View& from, const View& to) {
  for_each_element<2>({from, to}, [&](const std::array<int64_t, 2>& at) {
    to.as<float>()[at[1]] += weight * from.as<const float>()[at[0]];
  });
}

}  // namespace

void run_resize(const ResizeArgs& args, const Frame& frame) noexcept {
  const int axis = args.axis;
  const View from = frame.view(args.from);
  const View to = frame.view(args.to);
  const int64_t shown = from.extent(axis);
  const int64_t pulse = shown - args.overlap;
  const int64_t start = frame.clock->position(pulse) - args.overlap - args.delay;
  const int64_t first = frame.clock->position(to.extent(axis)) - args.out_delay;
  const int64_t last_frame = args.length.now(frame) - 1;
  for (int64_t i = 0; i < to.extent(axis); ++i) {
    const View out = frames_of(to, axis, i, 1);
    const int64_t o = first + i;
    const Phase& phase = args.phases[static_cast<size_t>(std::max<int64_t>(o, 0) % args.up)];
    const int64_t base = std::max<int64_t>(o, 0) / args.up * args.down;
    const auto source = [&](int64_t at) {
      const int64_t n = std::clamp<int64_t>(base + at, 0, std::max<int64_t>(0, last_frame));
      return frames_of(from, axis, std::clamp<int64_t>(n - start, 0, shown - 1), 1);
    };
    if (args.nearest) {
      visit_plain_size(out.dtype,
                       [&](auto tag) { copy_frame<decltype(tag)>(source(phase.at[0]), out); });
      continue;
    }
    for_each_element<1>({out},
                        [&](const std::array<int64_t, 1>& at) { out.as<float>()[at[0]] = 0.0F; });
    for (size_t k = 0; k < phase.at.size(); ++k) {
      add_frame(phase.weight[k], source(phase.at[k]), out);
    }
  }
}

void touch_resize(const ResizeArgs& args, StepTouches& touches) {
  touches.has_axis(args.from, args.axis);
  if (!touches.holds()) return;
  const int axis = args.axis;
  touches.alike(args.from, args.to, axis);
  touches.within(args.up, 1, 4096);
  touches.within(args.down, 1, 4096);
  touches.within(args.overlap, 0, args.from.extent(axis));
  touches.within(args.delay, -kMostFrames, kMostFrames);
  touches.within(args.out_delay, 0, kMostFrames);
  if (!touches.holds()) return;
  const int64_t pulse = args.from.extent(axis) - args.overlap;
  touches.require(is_plain(args.from.dtype) && pulse % args.down == 0 &&
                      args.to.extent(axis) == pulse / args.down * args.up,
                  "outputs at its rate");
  touches.require(static_cast<int64_t>(args.phases.size()) == args.up &&
                      (args.from.extent(axis) > 0 || args.to.volume() == 0) &&
                      (args.nearest || args.from.dtype == DType::kF32),
                  "the phases of its period");
  for (const Phase& phase : args.phases) {
    touches.require(phase.at.size() == phase.weight.size() &&
                        (!args.nearest || !phase.at.empty()),
                    "a weight for each tap");
    for (const int64_t at : phase.at) touches.within(at, -kMostFrames, kMostFrames);
  }
  touches.reads(args.from);
  touches.writes(args.to);
}

extern const StepKind resize_stream_kind;
const StepKind resize_stream_kind = kResize;

}  // namespace rill::ops
