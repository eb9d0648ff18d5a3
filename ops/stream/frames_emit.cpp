#include "ops/stream/frames_emit.h"

namespace rill::ops {

void fill_frames(const PlacedView& view, const std::string& at, int axis, const std::string& first,
                 const std::string& last, const PlacedView& from, const std::string& from_at,
                 emit_c::StepWriter& to) {
  std::string begin = str_cat("for (int64_t t = ", first, "; t < ", last, "; ++t) {");
  std::string x;
  std::string y = emit_c::times("t", view.step(axis));
  emit_c::Loops loops;
  for (int i = 0; i < view.rank; ++i) {
    if (i == axis) continue;
    const std::string name = loops.add(view.extent(i));
    y += emit_c::times(name, view.step(i));
    x += emit_c::times(name, from.step(i));
    if (view.extent(i) == 0) return;
  }
  to.line(begin + " " + loops.begin() + " *(" + at + y + ") = *(" + from_at + x + "); " +
          loops.end() + "}");
}

}  // namespace rill::ops
