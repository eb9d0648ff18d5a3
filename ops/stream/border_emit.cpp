#include "ops/stream/border_step.h"
#include "ops/stream/frames_emit.h"

namespace rill::ops {

using emit_c::StepWriter;

namespace {

/// Write a loop that computes the source of each frame; `run_border_stream` computes runs of
/// frames.
Status write_border(const BorderStreamArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string from, to.floats(args.from));
  RILL_ASSIGN(const std::string into, to.floats(args.to));
  RILL_ASSIGN(const std::string known, to.frames_now(args.length));
  if (args.to.volume() == 0) return {};
  const int axis = args.axis;
  const int64_t last = args.from.extent(axis) - 1;
  to.line(str_cat("{ const int64_t start = ", to.position(args.pulse), ", known = ", known, ";"));
  to.line(str_cat("const int64_t first = start - ", args.shown, " - ", args.out_delay, " - ",
                  args.before, ", shift = ", args.delay, " - start + ", args.overlap, ";"));
  to.line(str_cat("for (int64_t i = 0; i < ", args.to.extent(axis),
                  "; ++i) { int64_t at = first + i;"));
  const std::string outside =
      args.reflect ? "at < 0 ? -at : 2 * (known - 1) - at" : "at < 0 || known < 1 ? 0 : known - 1";
  to.line("if (at < 0 || at >= known) at = " + outside + ";");
  to.line(str_cat("at = @at_most(@at_least(at + shift, 0), ", last, ");"));
  fill_frames(args.to, into, axis, "i", "i + 1", args.from,
              str_cat(from, " + at * ", args.from.step(axis)), to);
  to.line("} }");
  return {};
}

}  // namespace

extern const emit_c::StepText border_stream_text;
const emit_c::StepText border_stream_text =
    emit_c::step_text<BorderStreamArgs, write_border>(kBorderStream);

}  // namespace rill::ops
