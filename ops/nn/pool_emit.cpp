#include "emit_c/step_writer.h"
#include "emit_c/text.h"
#include "ops/nn/pool_step.h"

namespace rill::ops {

using emit_c::Loops;
using emit_c::StepWriter;
using emit_c::times;

namespace {

std::string window_function(const PoolArgs& pool, StepWriter& to) {
  const kernels::PoolF32Args& args = pool.args;
  std::string text = str_cat(
      "static void @NAME(const float *@RESTRICT x, float *@RESTRICT y) {\n  for (int t = 0; t < ",
      args.frames, "; ++t) {\n    for (int c = 0; c < ", args.channels,
      "; ++c) {\n      float acc = ", pool.largest ? "-INFINITY, missing = 0.0f" : "0.0f", ";\n");
  text +=
      str_cat("      for (int o = 0; o < ", args.taps_outer, "; ++o) {\n      for (int k = 0; k < ",
              args.taps, "; ++k) {\n        const float v = x[t * ", args.x_frame_stride, " + o * ",
              args.x_tap_outer_stride, " + k * ", args.x_tap_stride, " + c];\n");
  // If a window has a NaN, the NaN replaces the maximum, as in the kernel.
  text += pool.largest ? str_cat("        acc = ", to.math("max_or_second"),
                                 "(v, acc);\n        missing = v == v ? missing : v;\n")
                       : std::string("        acc = acc + v;\n");
  text += str_cat("      }\n      }\n      y[t * ", args.y_frame_stride, " + c] = ");
  text += pool.largest ? std::string("missing == missing ? acc : missing")
                       : "acc * " + emit_c::c_float(args.scale);
  return to.function(text + ";\n    }\n  }\n}\n");
}

Status write_pool(const PoolArgs& pool, StepWriter& to) {
  const std::string name = window_function(pool, to);
  Loops loops;
  std::string x, y;
  for (const PoolLoop& loop : pool.loops) {
    const std::string i = loops.add(loop.count);
    x += times(i, loop.x);
    y += times(i, loop.y);
    if (loop.count == 0) return {};
  }
  to.line(loops.begin() + " " + name + "(" + to.floats(pool.x) + x + ", " + to.floats(pool.y) + y +
          "); " + loops.end());
  return {};
}

}  // namespace

extern const emit_c::StepText pool_text;
const emit_c::StepText pool_text = emit_c::step_text<PoolArgs, write_pool>(kPool);

}  // namespace rill::ops
