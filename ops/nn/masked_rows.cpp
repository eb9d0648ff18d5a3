#include "ops/nn/masked_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/exec/lowering.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/softmax/softmax.h"
#include "ops/array/common.h"
#include "ops/math/binary.h"
#include "ops/nn/masked_rows_step.h"
#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

using kernels::PointwiseArgs;
using kernels::PointwiseImm;
using kernels::PointwiseOp;

/// Compute softmax(x * scale + mask) over the last axis, a few rows at a time, so that they stay in
/// the cache. Made by `fuse` only.
/// Shapes: x, and a mask of the same rank that is broadcast to x -> the shape of x. Types: f32.
/// Errors: kUnsupported outside of a plan.
/// Stream: made from pulsed nodes.
/// Accuracy: the bits of the product, the sum and the softmax one after the other.
/// Source: tract, `tract_transformers_scaled_masked_softmax`.
struct MaskedRows final : OpBase<MaskedRows> {
  float scale = 1.0F;

  std::string_view name() const override { return "ScaledMaskedSoftmax"; }
  void fields(FieldVisitor& visitor) override { visitor.field("scale", scale); }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 2));
    return one_fact(in[0].without_value());
  }
  Status eval(EvalCtx&) const override {
    return fail(Code::kUnsupported, "a masked softmax outside of a plan");
  }
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int axis = 0; axis + 1 < in[0].rank(); ++axis) {
      tracks.push_back({{axis, in[1].dim(axis) == in[0].dim(axis) ? axis : -1}, {axis}});
    }
    return tracks;
  }
  Cost cost(FactSpan in, FactSpan out) const override {
    const Dim count = volume(out[0].shape);
    return {Dim(3) * count, Dim(4) * (volume(in[1].shape) + Dim(2) * count)};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx&) const override {
    return fail(Code::kUnsupported, "a masked softmax is part of a plan only");
  }
};

/// The number of multiply-adds that take as long as one element of a row.
constexpr double kWorkPerElement = 80;

Status MaskedRows::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  const Operand& mask = lowering.in(1);
  const int last = x.rank - 1;
  std::vector<int> order;
  for (const int axis : Lowering::physical_order(x)) {
    if (axis != last) order.push_back(axis);
  }
  order.push_back(last);
  const Operand y = lowering.make_out(0, order);
  if (y.volume() == 0) return {};
  Operand target = y;
  const bool gaps = y.step(last) != 1 && y.extent(last) != 1;
  if (gaps) {
    const std::vector<int64_t> shape(y.shape.begin(), y.shape.begin() + y.rank);
    target = lowering.scratch(DType::kF32, shape, order);
  }
  const std::array<const Operand*, kSides> sides = {&x, &mask, &target};
  const auto strides_on = [&](int axis) {
    MaskedStrides strides{};
    for (size_t side = kX; side < kSides; ++side) {
      strides[side] = sides[side]->extent(axis) == 1 ? 0 : sides[side]->step(axis);
    }
    return strides;
  };
  MaskedRowsStep step;
  step.combine = kernels::pointwise_f32();
  step.normalise = kernels::softmax_f32();
  step.scale = scale;
  step.n = y.extent(last);
  step.element = strides_on(last);
  if (last > 0) {
    const int inner = order[static_cast<size_t>(last) - 1];
    step.rows = y.extent(inner);
    step.row = strides_on(inner);
    for (int i = 0; i + 1 < last; ++i) {
      const int axis = order[static_cast<size_t>(i)];
      step.extent[static_cast<size_t>(step.loops)] = y.extent(axis);
      step.stride[static_cast<size_t>(step.loops++)] = strides_on(axis);
    }
  }
  step.combination = masked_combination(step);
  step.refs = {x.ref, mask.ref, target.ref};
  Lowering::Work work;
  work.units = y.volume() / step.n;
  work.multiply_adds = kWorkPerElement * static_cast<double>(y.volume());
  work.scratch_bytes = masked_rows_at_once(step.n) * masked_pitch(step.n) * dtype_size(DType::kF32);
  work.scratch_bytes += static_cast<int64_t>(kernels::pointwise_scratch_floats() * sizeof(float));
  lowering.step_in_parts(kMaskedRows, step, work, {x, mask}, {target});
  if (gaps) lowering.copy(target, y);
  return {};
}

/// The terms of a sum: scores with a scale, and a mask.
struct Parts {
  OutletId x;
  OutletId mask;
  float scale = 1.0F;
};

bool spreads_over(const Fact& mask, const Fact& whole) {
  if (mask.dtype != DType::kF32 || mask.rank() != whole.rank()) return false;
  for (int axis = 0; axis < whole.rank(); ++axis) {
    if (mask.dim(axis) != whole.dim(axis) && mask.dim(axis) != Dim(1)) return false;
  }
  return true;
}

/// Return the terms of a sum if one side, which has no other reader, is a product with a number.
std::optional<Parts> parts_of(const Rewrite& rewrite, const Node& sum) {
  const Graph& graph = rewrite.old_graph();
  for (size_t side = 0; side < 2; ++side) {
    const OutletId scaled = sum.inputs[side];
    const OutletId mask = sum.inputs[1 - side];
    const Node& product = graph.node(scaled.node);
    const auto* times = product.op->as<Binary>();
    if (!times || times->kind_of != BinaryKind::kMul || rewrite.uses(scaled) != 1) continue;
    for (size_t i = 0; i < 2; ++i) {
      const auto number = uniform_f32(graph.fact(product.inputs[i]));
      const Fact& x = graph.fact(product.inputs[1 - i]);
      if (!number || x.dtype != DType::kF32 || x.shape != sum.outputs[0].shape) continue;
      if (spreads_over(graph.fact(mask), x)) return Parts{product.inputs[1 - i], mask, *number};
    }
  }
  return std::nullopt;
}

}  // namespace

Status fuse_masked_rows(Rewrite& rewrite) {
  const auto* softmax = rewrite.node().op->as<Softmax>();
  const Fact& out = rewrite.out();
  const std::vector<int64_t> last{out.rank() - 1};
  if (!softmax || softmax->log || out.dtype != DType::kF32 || softmax->over != last) return {};
  const auto* sum = rewrite.producer_as<Binary>(0);
  if (!sum || sum->kind_of != BinaryKind::kAdd || rewrite.uses(rewrite.input(0)) != 1) return {};
  const auto parts = parts_of(rewrite, rewrite.producer(0));
  if (!parts) return {};
  auto op = draft_op<MaskedRows>();
  op->scale = parts->scale;
  return rewrite.replace_by(std::move(op), {rewrite.mapped(parts->x), rewrite.mapped(parts->mask)});
}

}  // namespace rill::ops
