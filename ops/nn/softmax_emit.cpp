#include "emit_c/step_writer.h"
#include "ops/nn/softmax_step.h"

namespace rill::ops {

using emit_c::Loops;
using emit_c::StepWriter;
using emit_c::times;

namespace {

/// Write a function of one row. It sums in lanes, in the same order as kernels/softmax.
std::string row_function(const kernels::SoftmaxF32Args& args, StepWriter& to) {
  const int64_t lanes = to.arithmetic().lanes;
  to.math("max_or_second");
  to.math("exp");
  std::string text = str_cat(
      "static void @NAME(const float *x, float *y) {\n  float s[", lanes,
      "], m;\n  for (int j = 0; j < ", lanes, "; ++j) s[j] = -INFINITY;\n  for (int i = 0; i < ",
      args.n, "; ++i) s[i % ", lanes, "] = @max_or_second(x[i], s[i % ", lanes, "]);\n");
  const auto fold = [&](const char* joined) {
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
      text += str_cat("  for (int j = 0; j < ", half, "; ++j) s[j] = ");
      std::string own = joined;
      own.replace(own.find('#'), 1, str_cat(half));
      text += own + ";\n";
    }
  };
  fold("@max_or_second(s[j], s[j + #])");
  text += str_cat("  m = s[0];\n  for (int j = 0; j < ", lanes, "; ++j) s[j] = 0.0f;\n");
  text +=
      str_cat("  for (int i = 0; i < ", args.n, "; ++i) {\n    const float e = @exp(x[i] - m);\n");
  if (!args.log) text += "    y[i] = e;\n";
  text += str_cat("    s[i % ", lanes, "] = s[i % ", lanes, "] + e;\n  }\n");
  fold("s[j] + s[j + #]");
  if (args.log) {
    text += str_cat("  s[0] = ", to.math("log"), "(s[0]);\n  for (int i = 0; i < ", args.n,
                    "; ++i) y[i] = x[i] - m - s[0];\n}\n");
  } else {
    text += str_cat("  s[0] = 1.0f / s[0];\n  for (int i = 0; i < ", args.n,
                    "; ++i) y[i] = y[i] * s[0];\n}\n");
  }
  return to.function(text);
}

Status write_softmax(const SoftmaxStep& step, StepWriter& to) {
  Loops loops;
  std::string x, y;
  int64_t rows = step.args.rows;
  for (int i = 0; i < step.loops.count; ++i) {
    const auto axis = static_cast<size_t>(i);
    const std::string name = loops.add(step.loops.extent[axis]);
    x += times(name, step.loops.x[axis]);
    y += times(name, step.loops.y[axis]);
    rows *= step.loops.extent[axis];
  }
  if (rows == 0) return {};
  const std::string row = loops.add(step.args.rows);
  x += times(row, step.args.x_stride);
  y += times(row, step.args.y_stride);
  const std::string name = row_function(step.args, to);
  to.line(loops.begin() + " " + name + "(" + to.floats(step.x) + x + ", " + to.floats(step.y) + y +
          "); " + loops.end());
  return {};
}

}  // namespace

extern const emit_c::StepText softmax_text;
const emit_c::StepText softmax_text = emit_c::step_text<SoftmaxStep, write_softmax>(kSoftmax);

}  // namespace rill::ops
