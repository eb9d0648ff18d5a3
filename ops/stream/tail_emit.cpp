#include "ops/stream/frames_emit.h"
#include "ops/stream/tail_step.h"

namespace rill::ops {

using emit_c::StepWriter;

namespace {

Status write_tail(const TailArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string from, to.floats(args.from));
  RILL_ASSIGN(const std::string kept, to.floats(args.kept));
  RILL_ASSIGN(const std::string first, to.extent(args.first, 0));
  if (args.from.volume() == 0 || args.kept.volume() == 0) return {};
  to.use_end();
  const int axis = args.axis;
  const int64_t shown = args.from.extent(axis);
  to.line(str_cat("if (s->end >= 0) { const int64_t start = ", to.position(shown - args.overlap),
                  " - ", args.overlap, ", begin = ", first, " + ", args.delay, ";"));
  const std::string last =
      str_cat("@at_most(start + ", shown, ", begin + ", args.frames, ") - begin");
  const std::string at = str_cat(from, " + (t + begin - start) * ", args.from.step(axis));
  fill_frames(args.kept, kept, axis, "@at_least(start, begin) - begin", last, args.from, at, to);
  to.line("}");
  return {};
}

}  // namespace

extern const emit_c::StepText tail_stream_text;
const emit_c::StepText tail_stream_text = emit_c::step_text<TailArgs, write_tail>(kTail);

}  // namespace rill::ops
