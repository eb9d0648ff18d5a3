#include "emit_c/step_writer.h"
#include "emit_c/text.h"
#include "ops/array/pad_step.h"

namespace rill::ops {

using emit_c::StepWriter;

namespace {

Status write_fill(const FillArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string at, to.floats(args.to));
  if (args.to.volume() == 0) return {};
  emit_c::Loops loops;
  std::string place;
  for (int axis = 0; axis < args.to.rank; ++axis) {
    place += emit_c::times(loops.add(args.to.extent(axis)), args.to.step(axis));
  }
  const float value = __builtin_bit_cast(float, static_cast<uint32_t>(args.value));
  to.line(loops.begin() + " *(" + at + place + ") = " + emit_c::c_float(value) + "; " +
          loops.end());
  return {};
}

/// Return a view of frames of an axis, every `by`-th from `first`; `first` may be past the ends.
PlacedView frames_at(PlacedView box, int axis, int64_t first, int64_t frames, int64_t by = 1) {
  box.advance(axis, first);
  box.shape[static_cast<size_t>(axis)] = frames;
  box.stride[static_cast<size_t>(axis)] *= by;
  return box;
}

Status write_border(const BorderArgs& args, StepWriter& to) {
  RILL_TRY(to.floats(args.out));
  PlacedView box = args.out;
  const auto count = static_cast<int>(args.pads.size());
  for (int axis = 0; axis < count; ++axis) {
    const auto [before, after] = args.pads[static_cast<size_t>(axis)];
    box = frames_at(box, axis, before, box.extent(axis) - before - after);
  }
  const auto copy = [&](const PlacedView& from, const PlacedView& into) {
    emit_c::copy_floats(from, to.floats(from.ref), into, to.floats(into.ref), to);
  };
  const int64_t by = args.reflect ? -1 : 0;
  for (int axis = 0; axis < count; ++axis) {
    const auto [before, after] = args.pads[static_cast<size_t>(axis)];
    const int64_t frames = box.extent(axis);
    if (before > 0) {
      copy(frames_at(box, axis, args.reflect ? before : 0, before, by),
           frames_at(box, axis, -before, before));
    }
    if (after > 0) {
      copy(frames_at(box, axis, frames - (args.reflect ? 2 : 1), after, by),
           frames_at(box, axis, frames, after));
    }
    box = frames_at(box, axis, -before, args.out.extent(axis));
  }
  return {};
}

}  // namespace

extern const emit_c::StepText fill_text;
extern const emit_c::StepText border_text;
const emit_c::StepText fill_text = emit_c::step_text<FillArgs, write_fill>(kFill);
const emit_c::StepText border_text = emit_c::step_text<BorderArgs, write_border>(kBorder);

}  // namespace rill::ops
