#include "ops/math/pointwise_step.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace rill::ops {

using kernels::PointwiseArgs;
using kernels::PointwiseImm;
using kernels::PointwiseInstr;
using kernels::PointwiseOp;

void run_pointwise_loops(const PointwiseLoops& loops, int axis, PointwiseArgs* args,
                         kernels::PointwiseFn run, float* scratch) noexcept {
  if (axis == loops.outer) return run(*args, scratch);
  const int64_t* stride = loops.stride[axis];
  for (int64_t i = 0; i < loops.extent[axis]; ++i) {
    run_pointwise_loops(loops, axis + 1, args, run, scratch);
    for (int k = 0; k < args->inputs; ++k) args->in[k].ptr += stride[k];
    args->out += stride[kPointwiseOperands - 1];
  }
  const int64_t back = loops.extent[axis];
  for (int k = 0; k < args->inputs; ++k) args->in[k].ptr -= back * stride[k];
  args->out -= back * stride[kPointwiseOperands - 1];
}

namespace {

/// The arguments of one call. Only the parts that the program reads are copied; the rest stays
/// uninitialised, because clearing space for the longest program takes longer than a short step.
union CallArgs {
  explicit CallArgs(const PointwiseArgs& from) noexcept {
    static_assert(std::is_trivially_copyable_v<PointwiseArgs>);
    std::memcpy(static_cast<void*>(&args), &from, offsetof(PointwiseArgs, in));
    std::copy_n(from.in, from.inputs, args.in);
    std::copy_n(from.out_stride, kernels::kPointwiseAxes, args.out_stride);
    std::copy_n(from.code, from.code_len, args.code);
  }
  PointwiseArgs args;
};

}  // namespace

void run_pointwise_step(const PointwiseStep& step, const Frame& frame,
                        const Share& share) noexcept {
  CallArgs call(step.loops.args);
  PointwiseArgs& args = call.args;
  const int axis = step.slices.axis;
  const int64_t first = share.begin * step.slices.extent;
  args.extent[axis] = std::min(args.extent[axis], share.end * step.slices.extent) - first;
  for (int k = 0; k < args.inputs; ++k) {
    args.in[k].ptr = frame.ptr<float>(step.in[k]) + first * args.in[k].stride[axis];
  }
  args.out = frame.ptr<float>(step.out) + first * args.out_stride[axis];
  run_pointwise_loops(step.loops, 0, &args, step.run, reinterpret_cast<float*>(share.scratch));
}

namespace {

constexpr int kRow = kernels::kPointwiseAxes - 2;
constexpr int kInner = kernels::kPointwiseAxes - 1;

/// The maximum number of floats of all operands of all streams. For longer rows, copying takes
/// longer than separate calls.
constexpr int64_t kGatheredFloats = 4096;

/// Return whether a call is one operation over a contiguous row, which needs no scratch memory.
bool is_one_row(const PointwiseLoops& loops) {
  const PointwiseArgs& args = loops.args;
  const bool is_row = std::all_of(args.extent, args.extent + kInner,
                                  [](int64_t extent) { return extent == 1; });
  return loops.outer == 0 && args.code_len == 1 && is_row && args.out_stride[kInner] == 1 &&
         std::all_of(args.in, args.in + args.inputs,
                     [](const auto& in) { return in.stride[kInner] == 1; });
}

}  // namespace

bool run_pointwise_steps(const PointwiseStep& step, std::span<const Frame> frames) noexcept {
  const int64_t n = step.loops.args.extent[kInner];
  const auto rows = static_cast<int64_t>(frames.size());
  if (!is_one_row(step.loops) || n > kGatheredFloats) return false;
  if ((step.loops.args.inputs + 1) * rows * n > kGatheredFloats) return false;
  alignas(64) float values[kGatheredFloats];
  const size_t row_bytes = static_cast<size_t>(n) * sizeof(float);
  CallArgs call(step.loops.args);
  PointwiseArgs& args = call.args;
  args.extent[kRow] = rows;
  float* to = values;
  for (int k = 0; k < args.inputs; ++k) {
    args.in[k].ptr = to;
    args.in[k].stride[kRow] = n;
    for (const Frame& frame : frames) {
      std::memcpy(to, frame.ptr<const float>(step.in[k]), row_bytes);
      to += n;
    }
  }
  args.out = to;
  args.out_stride[kRow] = n;
  step.run(args, nullptr);
  for (const Frame& frame : frames) {
    std::memcpy(frame.ptr<float>(step.out), to, row_bytes);
    to += n;
  }
  return true;
}

namespace {

/// Return whether a program reads only its inputs and earlier results.
bool is_sound(const PointwiseArgs& args) {
  if (args.inputs < 0 || args.inputs > kernels::kPointwiseMaxInputs || args.code_len < 1 ||
      args.code_len > kernels::kPointwiseMaxCode) {
    return false;
  }
  bool known[kernels::kPointwiseRegisters] = {};
  std::fill_n(known, args.inputs, true);
  for (int i = 0; i < args.code_len; ++i) {
    const PointwiseInstr& instr = args.code[i];
    const bool selects = instr.op == PointwiseOp::kSelect;
    const bool binary = instr.op <= PointwiseOp::kOr;
    const auto has = [&](uint8_t at) { return at < kernels::kPointwiseRegisters && known[at]; };
    const bool sound =
        instr.op <= PointwiseOp::kOfInteger && instr.imm_at <= PointwiseImm::kB &&
        instr.dst < kernels::kPointwiseRegisters &&
        ((binary && instr.imm_at == PointwiseImm::kA) || has(instr.a)) &&
        (!((binary && instr.imm_at != PointwiseImm::kB) || selects) || has(instr.b)) &&
        (!selects || has(instr.c));
    if (!sound) return false;
    known[instr.dst] = true;
  }
  return true;
}

}  // namespace

void touch_pointwise(const PointwiseStep& step, StepTouches& touches) {
  const PointwiseLoops& loops = step.loops;
  const PointwiseArgs& args = loops.args;
  const PointwiseSlices& slices = step.slices;
  touches.require(step.run != nullptr && is_sound(args), "a program");
  touches.within(loops.outer, 0, kMaxRank);
  touches.within(slices.axis, 0, kernels::kPointwiseAxes - 1);
  if (!touches.holds()) return;
  const int64_t extent = args.extent[slices.axis];
  touches.within(extent, 0, kMostCounted);
  touches.within(slices.extent, 0, kMostCounted);
  if (!touches.holds()) return;
  const bool one = slices.count == 1 && slices.extent >= extent;
  touches.require(
      one || (slices.extent > 0 && slices.count == (extent + slices.extent - 1) / slices.extent),
      "slices of its positions");
  touches.units(slices.count);
  const auto in_loops = [&](Region at, const int64_t* strides, int operand) {
    for (int d = 0; d < kernels::kPointwiseAxes; ++d) at = at.over(args.extent[d], strides[d]);
    for (int i = 0; i < loops.outer; ++i) at = at.over(loops.extent[i], loops.stride[i][operand]);
    return at;
  };
  for (int k = 0; k < args.inputs; ++k) {
    touches.reads(in_loops(region<float>(step.in[k]), args.in[k].stride, k));
  }
  touches.writes(in_loops(region<float>(step.out), args.out_stride, kPointwiseOperands - 1));
  touches.scratch(4 * static_cast<int64_t>(kernels::pointwise_scratch_floats()));
}

extern const StepKind pointwise_kind;
const StepKind pointwise_kind = kPointwise;

}  // namespace rill::ops
