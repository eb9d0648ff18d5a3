#include "emit_c/step_writer.h"
#include "emit_c/text.h"
#include "ops/nn/fill_frames_step.h"

namespace rill::ops {

using emit_c::StepWriter;

namespace {

Status write_fill_frames(const FillFramesArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string at, to.floats(args.all));
  to.line(str_cat("for (int i = 0; i < ", args.all.volume(), "; ++i) *(", at,
                  " + i) = ", emit_c::c_float(args.value), ";"));
  return {};
}

}  // namespace

extern const emit_c::StepText fill_frames_text;
const emit_c::StepText fill_frames_text =
    emit_c::step_text<FillFramesArgs, write_fill_frames>(kFillFrames);

}  // namespace rill::ops
