#include "ops/math/reduce_lower.h"

#include <limits>
#include <optional>

#include "core/base/search.h"
#include "kernels/reduce/reduce.h"
#include "ops/kernel_fields.h"
#include "ops/math/nest.h"
#include "ops/math/reduce_step.h"

// The order of summation follows from the logical axes and the number of reduced elements, never
// from strides or from the extents of kept axes. So a stream, whose pulses have other extents and
// sometimes other strides, gives the bits of the whole run. A few elements, and axes that are not
// the last ones, are reduced in one chain in ascending order; many elements of the last axes use
// lanes.

namespace rill::ops {
namespace {

using kernels::ReduceF32Args;
using kernels::ReduceOp;

// With fewer elements, lanes would be mostly empty.
constexpr int64_t kChainElements = 8;

/// The cost of one element in multiply-adds, equal to that of elementwise operators.
constexpr double kWorkPerElement = 14;

std::optional<ReduceOp> kernel_op(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return ReduceOp::kSum;
    case ReduceKind::kProduct:
      return ReduceOp::kProd;
    case ReduceKind::kMin:
      return ReduceOp::kMin;
    case ReduceKind::kMax:
      return ReduceOp::kMax;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<bool> lower_reduce(const Reduce& op, Lowering& lowering) {
  Operand x = lowering.in(0);
  const auto kernel = kernel_op(op.kind_of);
  if (x.dtype != DType::kF32 || !kernel) return false;
  const auto is_reduced = [&](int axis) { return contains(op.reduced, axis); };
  std::vector<int> order;  // the axes that stay, from the outermost to the innermost, then the
                           // reduced ones
  for (const int axis : Lowering::physical_order(x)) {
    if (!is_reduced(axis)) order.push_back(axis);
  }
  const size_t rest = order.size();
  order.insert(order.end(), op.reduced.begin(), op.reduced.end());
  Nest summed;
  for (size_t i = rest; i < order.size(); ++i) summed.add(x.extent(order[i]), x.step(order[i]), 0);
  int64_t count = 1;
  for (int i = 0; i < summed.count; ++i) count *= summed.extent[static_cast<size_t>(i)];
  const bool trailing = op.reduced.empty() || op.reduced[0] == static_cast<int64_t>(rest);
  const bool lanes = trailing && count > kChainElements;
  const bool one_run = summed.count <= 1 && (!lanes || summed.x[0] == 1);
  if (!one_run) x = lowering.ordered(x, order);

  const Operand y = lowering.make_out(0, order);
  ReduceStep step;
  step.run = kernels::reduce_f32();
  step.args.op = *kernel;
  step.args.reduced = count;
  step.args.x_reduced = one_run && summed.count == 1 ? summed.x[0] : 1;
  int inner = -1;
  for (size_t i = 0; i < rest && !lanes; ++i) {
    if (x.step(order[i]) == 1 && x.extent(order[i]) > 1) inner = order[i];
  }
  for (size_t i = 0; i < rest; ++i) {
    if (order[i] != inner) step.loops.add(x.extent(order[i]), x.step(order[i]), y.step(order[i]));
  }
  if (inner >= 0) {
    step.args.inner = x.extent(inner);
    step.args.x_inner = 1;
    step.args.y_inner = y.step(inner);
  }
  const Nest::Loop outer = step.loops.take_last();
  step.args.outer = outer.extent;
  step.args.x_outer = outer.x;
  step.args.y_outer = outer.y;
  step.x = x.ref;
  step.y = y.ref;
  step.chains = !lanes && inner < 0;
  Lowering::Work work;
  work.units = step.loops.units(step.args.outer);
  work.multiply_adds = kWorkPerElement * static_cast<double>(x.volume());
  lowering.step_in_parts(kReduce, step, work, {x}, {y});
  return true;
}

}  // namespace rill::ops
