#include "ops/nn/masked_rows_step.h"

#include "core/run/share.h"

namespace rill::ops {

using kernels::PointwiseArgs;
using kernels::PointwiseImm;
using kernels::PointwiseOp;

PointwiseArgs masked_combination(const MaskedRowsStep& step) {
  PointwiseArgs args;
  args.inputs = 2;
  args.code_len = 2;
  args.code[0] = {PointwiseOp::kMul, 2, 0, 0, 0, PointwiseImm::kB, step.scale};
  args.code[1] = {PointwiseOp::kAdd, 3, 2, 1, 0, PointwiseImm::kNone, 0.0F};
  constexpr int kRow = kernels::kPointwiseAxes - 2;
  constexpr int kElement = kernels::kPointwiseAxes - 1;
  args.extent[kElement] = step.n;
  for (size_t side = kX; side <= kMask; ++side) {
    args.in[side].stride[kRow] = step.row[side];
    args.in[side].stride[kElement] = step.element[side];
  }
  args.out_stride[kRow] = masked_pitch(step.n);
  args.out_stride[kElement] = 1;
  return args;
}

void run_masked_rows(const MaskedRowsStep& step, const Frame& frame, const Share& share) noexcept {
  PointwiseArgs combine = step.combination;
  kernels::SoftmaxF32Args normalise;
  normalise.n = step.n;
  normalise.x_stride = masked_pitch(step.n);
  normalise.y_stride = step.row[kOut];
  auto* rest = reinterpret_cast<float*>(share.scratch);
  combine.out = rest;
  normalise.x = rest;
  const int64_t most = masked_rows_at_once(step.n);
  rest += most * masked_pitch(step.n);
  const auto iterations = [&](int loop) { return step.extent[static_cast<size_t>(loop)]; };
  const auto rows_of = [&](const auto& index, int64_t first, int64_t some) {
    MaskedStrides at{};
    for (size_t side = kX; side < kSides; ++side) {
      at[side] = first * step.row[side];
      for (size_t i = 0; i < static_cast<size_t>(step.loops); ++i) {
        at[side] += index[i] * step.stride[i][side];
      }
    }
    for (int64_t done = 0; done < some; done += most) {
      const int64_t rows = std::min(most, some - done);
      for (size_t side = kX; side <= kMask; ++side) {
        combine.in[side].ptr =
            frame.ptr<float>(step.refs[side]) + at[side] + done * step.row[side];
      }
      combine.extent[kernels::kPointwiseAxes - 2] = rows;
      step.combine(combine, rest);
      normalise.rows = rows;
      normalise.y = frame.ptr<float>(step.refs[kOut]) + at[kOut] + done * step.row[kOut];
      step.normalise(normalise);
    }
  };
  walk_share<kMaxRank>(share, step.loops, iterations, step.rows, rows_of);
}

namespace {

bool same_instruction(const kernels::PointwiseInstr& a, const kernels::PointwiseInstr& b) {
  return a.op == b.op && a.dst == b.dst && a.a == b.a && a.b == b.b && a.c == b.c &&
         a.imm_at == b.imm_at;
}

/// Return whether two programs iterate over their operands alike.
bool same_program(const PointwiseArgs& a, const PointwiseArgs& b) {
  bool same = a.inputs == b.inputs && a.code_len == b.code_len;
  for (int axis = 0; axis < kernels::kPointwiseAxes; ++axis) {
    same &= a.extent[axis] == b.extent[axis] && a.out_stride[axis] == b.out_stride[axis];
    for (int i = 0; same && i < b.inputs; ++i) same = a.in[i].stride[axis] == b.in[i].stride[axis];
  }
  for (int i = 0; same && i < b.code_len; ++i) same = same_instruction(a.code[i], b.code[i]);
  return same;
}

}  // namespace

void touch_masked_rows(const MaskedRowsStep& step, StepTouches& touches) {
  touches.require(step.combine != nullptr && step.normalise != nullptr, "kernels");
  touches.within(step.n, 1, kMostCounted);
  touches.within(step.loops, 0, kMaxRank);
  if (!touches.holds()) return;
  touches.require(same_program(step.combination, masked_combination(step)), "its own program");
  touches.units(step.rows, {step.extent.data(), static_cast<size_t>(step.loops)});
  for (size_t side = kX; side < kSides; ++side) {
    Region at = region<float>(step.refs[side]).over(step.rows, step.row[side]);
    at = at.over(step.n, side == kOut ? 1 : step.element[side]);
    for (size_t i = 0; i < static_cast<size_t>(step.loops); ++i) {
      at = at.over(step.extent[i], step.stride[i][side]);
    }
    if (side == kOut) {
      touches.writes(at);
    } else {
      touches.reads(at);
    }
  }
  touches.scratch(4 * (masked_rows_at_once(step.n) * masked_pitch(step.n) +
                       static_cast<int64_t>(kernels::pointwise_scratch_floats())));
}

extern const StepKind masked_rows_kind;
const StepKind masked_rows_kind = kMaskedRows;

}  // namespace rill::ops
