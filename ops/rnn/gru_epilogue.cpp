#include "ops/rnn/gru_epilogue.h"

#include <array>
#include <cmath>

#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/pointwise.h"

namespace rill::ops {
namespace {

using kernels::PointwiseInstr;
using kernels::PointwiseOp;

/// The operands of the step: each gate of x and r, and h.
enum Operand : uint8_t { kXz, kRz, kXr, kRr, kXn, kRn, kH, kOperands };

/// Return gate `index`; gates are adjacent on the last axis.
View gate(View view, int64_t index, int64_t hidden) {
  const int last = view.rank - 1;
  const int64_t offset = index * hidden * view.step(last);
  view.data = view.as<std::byte>() + offset * dtype_size(view.dtype);
  view.shape[static_cast<size_t>(last)] = hidden;
  return view;
}

constexpr PointwiseInstr unary(PointwiseOp op, uint8_t dst, uint8_t a) {
  PointwiseInstr instr;
  instr.op = op;
  instr.dst = dst;
  instr.a = a;
  return instr;
}

constexpr PointwiseInstr binary(PointwiseOp op, uint8_t dst, uint8_t a, uint8_t b) {
  PointwiseInstr instr = unary(op, dst, a);
  instr.b = b;
  return instr;
}

/// The step in f32; values 7 and above are results.
constexpr PointwiseInstr kStep[] = {
    binary(PointwiseOp::kAdd, 7, kXz, kRz), unary(PointwiseOp::kSigmoid, 8, 7),
    binary(PointwiseOp::kAdd, 9, kXr, kRr), unary(PointwiseOp::kSigmoid, 10, 9),
    binary(PointwiseOp::kMul, 11, 10, kRn), binary(PointwiseOp::kAdd, 12, kXn, 11),
    unary(PointwiseOp::kTanh, 13, 12),      binary(PointwiseOp::kSub, 14, kH, 13),
    binary(PointwiseOp::kMul, 15, 8, 14),   binary(PointwiseOp::kAdd, 16, 13, 15),
};

Half half_step(const std::array<float, kOperands>& v) {
  const auto sigmoid = [](float x) { return 1.0F / (1.0F + std::exp(-x)); };
  const float z = sigmoid(v[kXz] + v[kRz]);
  const float n = std::tanh(v[kXn] + sigmoid(v[kXr] + v[kRr]) * v[kRn]);
  return static_cast<Half>(n + z * (v[kH] - n));
}

}  // namespace

Result<Facts> GruEpilogue::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 3));
  RILL_CHECK(hidden >= 1 && hidden < (int64_t{1} << 40), "hidden ", hidden);
  const char* const names[] = {"xh", "rh", "h_prev"};
  for (size_t i = 0; i < 3; ++i) {
    const Dim width(i < 2 ? 3 * hidden : hidden);
    const bool fits = in[i].rank() == in[2].rank() && in[i].rank() > 0 &&
                      in[i].shape.back() == width && in[i].dtype == in[2].dtype;
    if (!fits || (in[i].dtype != DType::kF32 && in[i].dtype != DType::kF16)) {
      return fail(Code::kShape, names[i], " ", in[i], ": expected f32 or f16 of one rank, ", width,
                  " on the last axis");
    }
    for (int axis = 0; axis + 1 < in[2].rank(); ++axis) {
      RILL_CHECK(in[i].dim(axis) == in[2].dim(axis), names[i], " ", in[i], " and h_prev ", in[2],
                 " differ on axis ", axis);
    }
  }
  return one_fact(in[2].without_value());
}

Status GruEpilogue::eval(EvalCtx& ctx) const {
  std::array<View, kOperands> views;
  for (int64_t k = 0; k < 3; ++k) {
    views[static_cast<size_t>(2 * k)] = gate(ctx.in[0], k, hidden);
    views[static_cast<size_t>(2 * k + 1)] = gate(ctx.in[1], k, hidden);
  }
  views[kH] = ctx.in[2];
  const View& out = ctx.out[0];
  if (out.dtype == DType::kF32) {
    PointwiseInstr placed[kernels::kPointwiseMaxCode];
    assign_registers(kOperands, kStep, placed);
    run_pointwise({placed, std::size(kStep)}, views, out);
    return {};
  }
  for_each_element<kOperands + 1>(
      {out, views[0], views[1], views[2], views[3], views[4], views[5], views[6]},
      [&](const std::array<int64_t, kOperands + 1>& at) {
        std::array<float, kOperands> v{};
        for (size_t i = 0; i < kOperands; ++i) {
          v[i] = static_cast<float>(views[i].as<const Half>()[at[i + 1]]);
        }
        out.as<Half>()[at[0]] = half_step(v);
      });
  return {};
}

std::vector<AxisTrack> GruEpilogue::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i + 1 < in[2].rank(); ++i) tracks.push_back({{i, i, i}, {i}});
  return tracks;
}

Cost GruEpilogue::cost(FactSpan in, FactSpan out) const {
  const Dim count = volume(out[0].shape);
  return {Dim(static_cast<int64_t>(std::size(kStep))) * count,
          Dim((kOperands + 1) * dtype_size(in[0].dtype)) * count};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const int64_t hidden, ctx.integer("hidden"));
  RILL_CHECK(hidden >= 1 && hidden < (int64_t{1} << 40), "hidden ", hidden);
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "xh"));
  RILL_ASSIGN(const OutletId r, plain_wire(ctx, "rh"));
  RILL_ASSIGN(const OutletId h, plain_wire(ctx, "h_prev"));
  return ctx.add_value(make_op<GruEpilogue>(hidden), {x, r, h});
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_gru_epilogue(xh: tensor<scalar>, rh: tensor<scalar>,"
     " h_prev: tensor<scalar>, hidden: integer) -> (output: tensor<scalar>);",
     load},
};

constexpr OpClass kClasses[] = {op_class<GruEpilogue>("GruEpilogue")};

}  // namespace

Status GruEpilogue::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule gru_epilogue_module;
const OpModule gru_epilogue_module = {"gru_epilogue", kOps, kClasses};

}  // namespace rill::ops
