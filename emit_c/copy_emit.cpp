#include <algorithm>
#include <vector>

#include "core/run/copy_step.h"
#include "emit_c/step_writer.h"

namespace rill::emit_c {
namespace {

Status write_copy(const CopyArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string from, to.floats(args.from));
  RILL_ASSIGN(const std::string into, to.floats(args.to));
  copy_floats(args.from, from, args.to, into, to);
  return {};
}

}  // namespace

extern const StepText copy_text;
const StepText copy_text = step_text<CopyArgs, write_copy>(kCopy);

}  // namespace rill::emit_c
