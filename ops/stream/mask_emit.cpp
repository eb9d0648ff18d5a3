#include "emit_c/step_writer.h"
#include "ops/stream/frames_emit.h"
#include "ops/stream/mask_step.h"
#include "ops/stream/pulse_pad_step.h"

namespace rill::ops {

using emit_c::StepWriter;

namespace {

/// Broadcast the value of a mask over the elements of a frame.
PlacedView spread(const PlacedView& value, const PlacedView& view, int axis) {
  PlacedView out = value;
  for (int i = 0; i < view.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    if (value.rank != view.rank || value.shape[at] == 1 || i == axis) out.stride[at] = 0;
  }
  return out;
}

Status write_mask(const MaskArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string view, to.floats(args.view));
  RILL_ASSIGN(const std::string value, to.floats(args.value));
  RILL_ASSIGN(const std::string end, to.frames_now(args.end));
  if (args.view.volume() == 0) return {};
  const int64_t count = args.overlap + args.pulse;
  const PlacedView from = spread(args.value, args.view, args.axis);
  to.line(str_cat("{ const int64_t first = ", to.position(args.pulse), " - ", args.overlap,
                  ", end = ", end, ";"));
  to.line(str_cat("const int64_t head = @at_most(@at_least(", args.begin, " - first, 0), ", count,
                  "), tail = end <= first ? 0 : @at_most(end - first, ", count, ");"));
  fill_frames(args.view, view, args.axis, "0", "head", from, value, to);
  fill_frames(args.view, view, args.axis, "tail", str_cat(count), from, value, to);
  to.line("}");
  return {};
}

Status write_pad(const PadStreamArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string view, to.floats(args.view));
  RILL_ASSIGN(const std::string value, to.floats(args.value));
  const auto value_of = [&](const Extent& extent) -> Result<std::string> {
    RILL_ASSIGN(const std::string text, to.extent(extent, kEndless));
    if (extent.is_const()) return text;
    return str_cat("(s->end < 0 ? (int64_t)", kEndless, " : ", text, ")");
  };
  RILL_ASSIGN(const std::string end, value_of(args.end_input));
  RILL_ASSIGN(const std::string after, value_of(args.after));
  const int axis = args.axis;
  const int64_t frames = args.view.extent(axis);
  if (args.view.volume() == 0) return {};
  PlacedView constant = args.value;
  constant.rank = args.view.rank;
  constant.stride.fill(0);
  // The kept frame has the strides of the view, so its elements have the same offsets.
  const std::string kept = args.edge ? to.floats(args.last_frame) : std::string();
  to.line(str_cat("{ const int64_t begin = ", to.position(frames - args.overlap), ", end = ", end,
                  ", after = ", after, ";"));
  if (args.edge) {
    to.line("if (after != 0 && begin < end) {");
    const std::string from =
        str_cat(view, " + (@at_most(end - begin, ", frames, ") - 1) * ", args.view.step(axis));
    fill_frames(args.view, kept, axis, "0", "1", args.view, from, to);
    to.line("}");
  }
  to.line(str_cat("const int64_t head = @at_most(@at_least(", args.begin_input, " - begin, 0), ",
                  frames, "), tail = @at_most(begin + ", frames, " - end, ", frames, ");"));
  to.line(str_cat("if (head > 0 && begin + ", frames, " > ", args.begin_input - args.before,
                  args.edge ? str_cat(" && head < ", frames) : "", ") {"));
  const std::string edge = str_cat(view, " + head * ", args.view.step(axis));
  fill_frames(args.view, view, axis, "0", "head", args.edge ? args.view : constant,
              args.edge ? edge : value, to);
  to.line("}");
  to.line("if (tail > 0 && after > 0) {");
  fill_frames(args.view, view, axis, str_cat(frames, " - tail"), str_cat(frames),
              args.edge ? args.view : constant, args.edge ? kept : value, to);
  to.line("} }");
  return {};
}

}  // namespace

extern const emit_c::StepText mask_stream_text;
extern const emit_c::StepText pad_stream_text;
const emit_c::StepText mask_stream_text = emit_c::step_text<MaskArgs, write_mask>(kMaskStream);
const emit_c::StepText pad_stream_text = emit_c::step_text<PadStreamArgs, write_pad>(kPadStream);

}  // namespace rill::ops
