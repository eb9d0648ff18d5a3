#include "ops/math/reduce_lower.h"

#include <algorithm>
#include <optional>

#include "kernels/reduce/reduce.h"
#include "ops/math/nest.h"

namespace rill::ops {
namespace {

using kernels::ReduceF32Args;
using kernels::ReduceOp;

struct StepArgs {
  kernels::ReduceF32Fn run;
  ReduceF32Args args;
  Nest loops;  ///< around the kernel's own
  Ref x;
  Ref y;
};

void run_step(const StepArgs& step, const Frame& frame) noexcept {
  const float* x = frame.ptr<float>(step.x);
  float* y = frame.ptr<float>(step.y);
  step.loops.for_each(0, step.loops.count, [&](int64_t x_at, int64_t y_at) {
    ReduceF32Args args = step.args;
    args.x = x + x_at;
    args.y = y + y_at;
    step.run(args);
  });
}

std::optional<ReduceOp> kernel_op(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum: return ReduceOp::kSum;
    case ReduceKind::kProduct: return ReduceOp::kProd;
    case ReduceKind::kMin: return ReduceOp::kMin;
    case ReduceKind::kMax: return ReduceOp::kMax;
    default: return std::nullopt;
  }
}

}  // namespace

Result<bool> lower_reduce(const Reduce& op, Lowering& lowering) {
  const Operand& x = lowering.in(0);
  const auto kernel = kernel_op(op.kind_of);
  if (x.dtype != DType::kF32 || !kernel) return false;
  const std::vector<int> order = Lowering::physical_order(x);
  const auto is_reduced = [&](int axis) {
    return std::find(op.reduced.begin(), op.reduced.end(), axis) != op.reduced.end();
  };
  Nest summed;
  for (const int axis : order) {
    if (is_reduced(axis)) summed.add(x.extent(axis), x.step(axis), 0);
  }
  if (summed.count > 1) return false;
  const Operand y = lowering.make_out(0, order);
  StepArgs step;
  step.run = kernels::reduce_f32();
  step.args.op = *kernel;
  step.args.reduced = summed.count == 0 ? 1 : summed.extent[0];
  step.args.x_reduced = summed.count == 0 ? 0 : summed.x[0];
  // The innermost axis that stays goes to the kernel's inner loop, of extent 1 or not: which of its
  // forms runs must not depend on the extents, or a stream would give other bits than the whole.
  Nest kept;
  std::vector<int> rest;
  for (const int axis : order) {
    if (!is_reduced(axis)) rest.push_back(axis);
  }
  int inner = -1;
  if (!rest.empty() && x.step(rest.back()) == 1) inner = rest.back();
  for (const int axis : rest) {
    if (axis != inner) kept.add(x.extent(axis), x.step(axis), y.step(axis));
  }
  if (inner >= 0) {
    step.args.inner = x.extent(inner);
    step.args.x_inner = 1;
    step.args.y_inner = y.step(inner);
  }
  if (kept.count > 0) {
    const auto last = static_cast<size_t>(--kept.count);
    step.args.outer = kept.extent[last];
    step.args.x_outer = kept.x[last];
    step.args.y_outer = kept.y[last];
  }
  step.loops = kept;
  step.x = x.ref;
  step.y = y.ref;
  lowering.step(run_step, step, {x.ref}, {y.ref});
  return true;
}

}  // namespace rill::ops
