#include <array>

#include "emit_c/step_writer.h"
#include "emit_c/text.h"
#include "ops/math/pointwise_step.h"

namespace rill::ops {

using emit_c::Loops;
using emit_c::StepWriter;
using emit_c::times;
using kernels::PointwiseArgs;
using kernels::PointwiseImm;
using kernels::PointwiseInstr;
using kernels::PointwiseOp;

namespace {

std::string call(std::string_view name, const std::string& a, StepWriter& to) {
  return to.math(name) + "(" + a + ")";
}
std::string call(std::string_view name, const std::string& a, const std::string& b,
                 StepWriter& to) {
  return to.math(name) + "(" + a + ", " + b + ")";
}

/// Return the C expression of an operation on two numbers; "" if there is none.
std::string binary_text(const PointwiseInstr& instr, const std::string& a, const std::string& b,
                        StepWriter& to) {
  const auto truth = [](const std::string& condition) { return "(float)(" + condition + ")"; };
  switch (instr.op) {
    case PointwiseOp::kAdd:
      return a + " + " + b;
    case PointwiseOp::kSub:
      return a + " - " + b;
    case PointwiseOp::kMul:
      return a + " * " + b;
    case PointwiseOp::kDiv:
      return a + " / " + b;
    case PointwiseOp::kMin:
      return call("min", a, b, to);
    case PointwiseOp::kMax:
      return call("max", a, b, to);
    case PointwiseOp::kMinNumber:
      return call("min_number", a, b, to);
    case PointwiseOp::kMaxNumber:
      return call("max_number", a, b, to);
    case PointwiseOp::kHypot:
      return call("hypot", a, b, to);
    case PointwiseOp::kPow:
      // Other powers need functions of the C library, whose results differ from platform to
      // platform.
      if (instr.imm_at == PointwiseImm::kB && instr.imm == 2.0F) return a + " * " + a;
      if (instr.imm_at == PointwiseImm::kB && instr.imm == 3.0F) return a + " * " + a + " * " + a;
      return "";
    case PointwiseOp::kLt:
      return truth(a + " < " + b);
    case PointwiseOp::kLe:
      return truth(a + " <= " + b);
    case PointwiseOp::kGt:
      return truth(a + " > " + b);
    case PointwiseOp::kGe:
      return truth(a + " >= " + b);
    case PointwiseOp::kEq:
      return truth(a + " == " + b);
    case PointwiseOp::kNe:
      return truth(a + " != " + b);
    case PointwiseOp::kAnd:
      return truth("(" + a + " != 0.0f) & (" + b + " != 0.0f)");
    case PointwiseOp::kOr:
      return truth("(" + a + " != 0.0f) | (" + b + " != 0.0f)");
    default:
      return "";
  }
}

/// Return the C expression of an operation on one number. Return "" for functions of the C library,
/// whose results differ from platform to platform.
std::string unary_text(const PointwiseInstr& instr, const std::string& a, StepWriter& to) {
  switch (instr.op) {
    case PointwiseOp::kCopy:
      return a;
    case PointwiseOp::kNeg:
      return "-" + a;
    case PointwiseOp::kAbs:
      return call("magnitude", a, to);
    case PointwiseOp::kSquare:
      return a + " * " + a;
    case PointwiseOp::kSqrt:
      return "sqrtf(" + a + ")";
    case PointwiseOp::kRsqrt:
      return "1.0f / sqrtf(" + a + ")";
    case PointwiseOp::kRecip:
      return "1.0f / " + a;
    case PointwiseOp::kExp:
      return call("exp", a, to);
    case PointwiseOp::kLog:
      return call("log", a, to);
    case PointwiseOp::kLog1p:
      return call("log1p", a, to);
    case PointwiseOp::kExpm1:
      return call("expm1", a, to);
    case PointwiseOp::kSoftplus:
      return call("softplus", a, to);
    case PointwiseOp::kTanh:
      return call("tanh", a, to);
    case PointwiseOp::kSigmoid:
      return call("sigmoid", a, to);
    case PointwiseOp::kErf:
      return call("erf", a, to);
    case PointwiseOp::kSilu:
      return call("silu", a, to);
    case PointwiseOp::kGeluApprox:
      return call("gelu_approx", a, to);
    case PointwiseOp::kHardSwish:
      return call("hard_swish", a, to);
    case PointwiseOp::kLeakyRelu:
      return call("leaky_relu", a, emit_c::c_float(instr.imm), to);
    case PointwiseOp::kFloor:
      return "floorf(" + a + ")";
    case PointwiseOp::kCeil:
      return "ceilf(" + a + ")";
    case PointwiseOp::kRound:
      return call("round", a, to);
    case PointwiseOp::kRoundEven:
      return call("round_even", a, to);
    case PointwiseOp::kSign:
      return call("sign", a, to);
    case PointwiseOp::kNot:
      return "(float)(" + a + " == 0.0f)";
    default:
      return "";
  }
}

/// Return the statements of a program for one element. The inputs are v0, v1, ...; `*result`
/// receives the name of the last value. Errors: kUnsupported for an operation without C.
Result<std::string> program_text(const PointwiseArgs& args, StepWriter& to, std::string* result) {
  std::array<std::string, kernels::kPointwiseRegisters> reg;
  for (int i = 0; i < args.inputs; ++i) reg[static_cast<size_t>(i)] = str_cat("v", i);
  std::string out;
  for (int i = 0; i < args.code_len; ++i) {
    const PointwiseInstr& instr = args.code[i];
    const std::string imm =
        instr.imm < 0 ? "(" + emit_c::c_float(instr.imm) + ")" : emit_c::c_float(instr.imm);
    const bool selects = instr.op == PointwiseOp::kSelect;
    const bool binary = instr.op <= PointwiseOp::kOr;
    const std::string a = binary && instr.imm_at == PointwiseImm::kA ? imm : reg[instr.a];
    std::string text;
    if (selects) {
      text = str_cat(to.math("pick"), "(", a, " == 0.0f, ", reg[instr.c], ", ", reg[instr.b], ")");
    } else if (binary) {
      text = binary_text(instr, a, instr.imm_at == PointwiseImm::kB ? imm : reg[instr.b], to);
    } else {
      text = unary_text(instr, a, to);
    }
    if (text.empty()) {
      return fail(Code::kUnsupported, "operation ", static_cast<int>(instr.op),
                  " of elements is a function of the C library, whose last bit differs between "
                  "machines");
    }
    const std::string name = str_cat("v", args.inputs + i);
    out += str_cat(" const float ", name, " = ", text, ";");
    reg[instr.dst] = name;
    *result = name;
  }
  return out;
}

/// An axis of the loops of a step, with the strides of the inputs, then of the output.
struct Axis {
  int64_t extent = 1;
  std::array<int64_t, kPointwiseOperands> stride{};
};

std::vector<Axis> axes_of(const PointwiseLoops& loops) {
  std::vector<Axis> out;
  const auto last = static_cast<size_t>(kPointwiseOperands - 1);
  const auto inputs = static_cast<size_t>(loops.args.inputs);
  for (int i = 0; i < loops.outer; ++i) {
    Axis axis{loops.extent[i], {}};
    for (size_t k = 0; k < axis.stride.size(); ++k) axis.stride[k] = loops.stride[i][k];
    out.push_back(axis);
  }
  for (int i = 0; i < kernels::kPointwiseAxes; ++i) {
    Axis axis{loops.args.extent[i], {}};
    for (size_t k = 0; k < inputs; ++k) axis.stride[k] = loops.args.in[k].stride[i];
    axis.stride[last] = loops.args.out_stride[i];
    out.push_back(axis);
  }
  return out;
}

Status write_pointwise(const PointwiseStep& step, StepWriter& to) {
  const PointwiseArgs& args = step.loops.args;
  const std::vector<Axis> axes = axes_of(step.loops);
  const auto last = static_cast<size_t>(kPointwiseOperands - 1);
  const auto inputs = static_cast<size_t>(args.inputs);
  Loops loops;
  std::array<std::string, kPointwiseOperands> at;
  for (const Axis& axis : axes) {
    if (axis.extent == 0) return {};
    const std::string i = loops.add(axis.extent);
    for (size_t k = 0; k < at.size(); ++k) at[k] += times(i, axis.stride[k]);
  }
  std::string result;
  RILL_ASSIGN(const std::string program, program_text(args, to, &result));
  std::string head = "static void @NAME(";
  std::string call = "(";
  std::string body;
  for (size_t k = 0; k < inputs; ++k) {
    bool in_place = step.in[k].buffer == step.out.buffer && step.in[k].offset == step.out.offset;
    for (const Axis& axis : axes) {
      in_place = in_place && (axis.extent == 1 || axis.stride[k] == axis.stride[last]);
    }
    const std::string name = in_place ? "y" : str_cat("x", k);
    body += str_cat(" const float v", k, " = ", name, "[0", at[k], "];");
    if (in_place) continue;
    head += str_cat("const float *@RESTRICT ", name, ", ");
    call += to.floats(step.in[k]) + ", ";
  }
  const std::string text = str_cat(head, "float *@RESTRICT y) {\n  ", loops.begin(), body, program,
                                   " y[0", at[last], "] = ", result, "; ", loops.end(), "\n}\n");
  to.line(to.function(text) + call + to.floats(step.out) + ");");
  return {};
}

}  // namespace

extern const emit_c::StepText pointwise_text;
const emit_c::StepText pointwise_text =
    emit_c::step_text<PointwiseStep, write_pointwise>(kPointwise);

}  // namespace rill::ops
