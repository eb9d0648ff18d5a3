#include "emit_c/step_writer.h"
#include "emit_c/text.h"
#include "ops/math/reduce_step.h"

namespace rill::ops {

using emit_c::Loops;
using emit_c::StepWriter;
using emit_c::times;
using kernels::ReduceF32Args;
using kernels::ReduceOp;

namespace {

/// The C of an operation: the start of an accumulator, `acc` after an element `v`, and the join of
/// two accumulators.
struct Operation {
  const char* start;
  const char* add;
  const char* join;  ///< of a and b
  bool watches;      ///< whether a NaN is tracked separately, since an extreme would lose it
};

Operation operation_of(ReduceOp op, StepWriter& to) {
  switch (op) {
    case ReduceOp::kProd:
      return {"1.0f", "acc * v", "a * b", false};
    case ReduceOp::kMax:
      to.math("max_or_second");
      return {"-INFINITY", "@max_or_second(v, acc)", "@max_or_second(a, b)", true};
    case ReduceOp::kMin:
      to.math("min_or_second");
      return {"INFINITY", "@min_or_second(v, acc)", "@min_or_second(a, b)", true};
    case ReduceOp::kSumSquares:
      return {"0.0f", "@madd(v, v, acc)", "a + b", false};
    default:
      return {"0.0f", "acc + v", "a + b", false};
  }
}

/// Return the statement that returns `value`, scaled.
std::string result_text(const Operation& operation, float scale) {
  const std::string value = str_cat(emit_c::c_float(scale), " * value");
  return operation.watches ? "  return missing ? NAN : " + value + ";\n"
                           : "  return " + value + ";\n";
}

/// Write a function that reduces elements in ascending order.
std::string chain_function(const ReduceF32Args& args, StepWriter& to) {
  const Operation operation = operation_of(args.op, to);
  std::string text = str_cat(
      "static inline float @NAME(const float *x) {\n  float acc = ", operation.start, ";\n");
  if (operation.watches) text += "  int missing = 0;\n";
  text += str_cat("  for (int i = 0; i < ", args.reduced, "; ++i) {\n    const float v = x[i * ",
                  args.x_reduced, "];\n    acc = ", operation.add, ";\n");
  if (operation.watches) text += "    missing |= v != v;\n";
  return to.function(text + "  }\n  const float value = acc;\n" +
                     result_text(operation, args.scale) + "}\n");
}

/// Write a function that reduces contiguous elements by lanes, as kernels/reduce does: four vectors
/// of lanes, which are joined in a fixed order.
std::string lanes_function(const ReduceF32Args& args, StepWriter& to) {
  const Operation operation = operation_of(args.op, to);
  const int64_t lanes = to.arithmetic().lanes;
  const int64_t n = args.reduced;
  const int64_t fours = n / (4 * lanes) * 4 * lanes;
  const int64_t ones = fours + (n - fours) / lanes * lanes;
  std::string text =
      str_cat("static inline float @NAME(const float *x) {\n  float s[", 4 * lanes, "];\n");
  if (operation.watches) text += "  int missing = 0;\n";
  text += str_cat("  for (int j = 0; j < ", 4 * lanes, "; ++j) s[j] = ", operation.start, ";\n");
  const auto loop = [&](int64_t begin, int64_t end, int64_t step, int64_t first, int64_t count) {
    if (begin == end) return;
    text += str_cat("  for (int i = ", begin, "; i < ", end, "; i += ", step,
                    ") {\n    for (int j = 0; j < ", count,
                    "; ++j) {\n      const float v = x[i + j], ");
    text += str_cat("acc = s[", first, " + j];\n      s[", first, " + j] = ", operation.add, ";\n");
    if (operation.watches) text += "      missing |= v != v;\n";
    text += "    }\n  }\n";
  };
  loop(0, fours, 4 * lanes, 0, 4 * lanes);
  loop(fours, ones, lanes, 0, lanes);
  loop(ones, n, n - ones == 0 ? 1 : n - ones, lanes, n - ones);
  const auto join = [&](const std::string& count, const std::string& a, const std::string& b) {
    text += str_cat("  for (int j = 0; j < ", count, "; ++j) {\n    const float a = s[", a,
                    "], b = s[", b, "];\n    s[", a, "] = ", operation.join, ";\n  }\n");
  };
  join(str_cat(lanes), "j", str_cat("j + ", lanes));
  join(str_cat(lanes), str_cat("j + ", 2 * lanes), str_cat("j + ", 3 * lanes));
  join(str_cat(lanes), "j", str_cat("j + ", 2 * lanes));
  for (int64_t half = lanes / 2; half > 0; half /= 2)
    join(str_cat(half), "j", str_cat("j + ", half));
  return to.function(text + "  const float value = s[0];\n" + result_text(operation, args.scale) +
                     "}\n");
}

/// Swap an inner axis of extent 1 with the outer one, as the kernel does.
ReduceF32Args normalised(ReduceF32Args a) {
  if (a.inner != 1 || (a.x_outer == 1 && a.x_reduced == 1)) return a;
  a.inner = a.outer;
  a.x_inner = a.x_outer;
  a.y_inner = a.y_outer;
  a.outer = 1;
  return a;
}

Status write_reduce(const ReduceStep& step, StepWriter& to) {
  ReduceF32Args args = step.args;
  if (step.chains) {
    // The kernel's extremes equal those of a chain, bit for bit, and have no scale.
    args.inner = 1;
    args.scale = 1.0F;
  } else {
    args = normalised(args);
  }
  Loops loops;
  std::string x, y;
  for (int i = 0; i < step.loops.count; ++i) {
    const auto axis = static_cast<size_t>(i);
    const std::string name = loops.add(step.loops.extent[axis]);
    x += times(name, step.loops.x[axis]);
    y += times(name, step.loops.y[axis]);
    if (step.loops.extent[axis] == 0) return {};
  }
  const std::string outer = loops.add(args.outer);
  const std::string inner = loops.add(args.inner);
  if (args.outer * args.inner == 0) return {};
  x += times(outer, args.x_outer) + times(inner, args.x_inner);
  y += times(outer, args.y_outer) + times(inner, args.y_inner);
  const bool rows = args.x_inner == 1 && args.inner > 1;
  const bool by_lanes = !step.chains && !rows && args.x_reduced == 1;
  const std::string name = by_lanes ? lanes_function(args, to) : chain_function(args, to);
  to.line(loops.begin() + " *(" + to.floats(step.y) + y + ") = " + name + "(" + to.floats(step.x) +
          x + "); " + loops.end());
  return {};
}

}  // namespace

extern const emit_c::StepText reduce_text;
const emit_c::StepText reduce_text = emit_c::step_text<ReduceStep, write_reduce>(kReduce);

}  // namespace rill::ops
