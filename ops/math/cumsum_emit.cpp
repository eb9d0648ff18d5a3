#include "emit_c/step_writer.h"
#include "ops/math/cumsum_step.h"

namespace rill::ops {

using emit_c::StepWriter;
using emit_c::times;

namespace {

/// Sums are kept as f32, as the step keeps them.
Status write_cumsum(const CumSumArgs& args, StepWriter& to) {
  RILL_ASSIGN(const std::string x, to.floats(args.x));
  RILL_ASSIGN(const std::string y, to.floats(args.y));
  if (args.x.volume() == 0) return {};
  const int axis = args.how.axis;
  const int64_t length = args.x.extent(axis);
  const std::string kept = str_cat("sum", to.number());
  const std::string seen = str_cat("n", to.number());
  emit_c::Loops loops;
  std::string at_x, at_y, lane = "0";
  int64_t sums = 1;
  for (int i = args.x.rank; i-- > 0;) {
    if (i == axis) continue;
    const std::string name = loops.add(args.x.extent(i));
    at_x += times(name, args.x.step(i));
    at_y += times(name, args.y.step(i));
    lane += times(name, sums);
    sums *= args.x.extent(i);
  }
  std::string wait = "0";
  if (args.has_state) {
    to.member(str_cat("float ", kept, "[", sums, "];"));
    to.member("int64_t " + seen + ";");
    wait = str_cat("@at_most(@at_least(", args.how.skip, " - s->", seen, ", 0), ", length, ")");
  }
  const std::string slot = "s->" + kept + "[" + lane + "]";
  to.line("{ const int64_t wait = " + wait + ";");
  to.line(loops.begin() + " float sum = " + (args.has_state ? slot : "0.0f") + ";");
  to.line(str_cat("for (int64_t n = 0; n < ", length, "; ++n) { const int64_t i = ",
                  args.how.reverse ? str_cat(length - 1, " - n") : std::string("n"), ";"));
  const std::string out = "*(" + y + at_y + times("i", args.y.step(axis)) + ")";
  to.line("if (i < wait) { " + out + " = 0.0f; } else { const float next = sum + *(" + x + at_x +
          times("i", args.x.step(axis)) + "); " + out + " = " +
          (args.how.exclusive ? "sum" : "next") + "; sum = next; } }");
  if (args.has_state) to.line(slot + " = sum;");
  to.line(loops.end());
  if (args.has_state) to.line(str_cat("s->", seen, " += ", length, ";"));
  to.line("}");
  return {};
}

}  // namespace

extern const emit_c::StepText cumsum_text;
const emit_c::StepText cumsum_text = emit_c::step_text<CumSumArgs, write_cumsum>(kCumSum);

}  // namespace rill::ops
