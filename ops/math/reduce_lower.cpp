#include "ops/math/reduce_lower.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/reduce/reduce.h"
#include "ops/kernel_fields.h"
#include "ops/math/nest.h"

// The order in which elements are added is fixed by the logical axes and by how many are reduced,
// never by strides or by the extents of axes that stay: a stream, whose pulses have other extents
// and sometimes other strides, gives the bits of the whole. Few elements, and axes that are not the
// last ones, make one chain in ascending order; many elements of the last axes are added by lanes.

namespace rill::ops {
namespace {

using kernels::ReduceF32Args;
using kernels::ReduceOp;

// Below this, lanes would be mostly empty.
constexpr int64_t kChainElements = 8;

struct StepArgs {
  kernels::ReduceF32Fn run;
  ReduceF32Args args;
  Nest loops;           ///< around the kernel's own
  bool chains = false;  ///< of contiguous elements, which the kernel would add by lanes
  Ref x;
  Ref y;
};

RILL_STEP_FIELDS(StepArgs, run, args, loops, chains, x, y)

void run_kernel(const StepArgs& step, const Frame& frame,
                const Share& share) noexcept RILL_NONBLOCKING {
  const float* x = frame.ptr<float>(step.x);
  float* y = frame.ptr<float>(step.y);
  const auto run = [&](int64_t x_at, int64_t y_at, int64_t first, int64_t count) {
    ReduceF32Args args = step.args;
    args.outer = count;
    args.x = x + x_at + first * args.x_outer;
    args.y = y + y_at + first * args.y_outer;
    step.run(args);
  };
  step.loops.walk(share, step.args.outer, run);
}

template <ReduceOp kOp>
float joined(float acc, float x) {
  if constexpr (kOp == ReduceOp::kSum) return acc + x;
  if constexpr (kOp == ReduceOp::kProd) return acc * x;
  if constexpr (kOp == ReduceOp::kMax) return x > acc ? x : acc;
  return x < acc ? x : acc;
}

template <ReduceOp kOp>
float start_of() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (kOp == ReduceOp::kSum) return 0.0F;
  if (kOp == ReduceOp::kProd) return 1.0F;
  return kOp == ReduceOp::kMax ? -kInfinity : kInfinity;
}

/// Chains of contiguous elements, which the kernel would add by lanes.
template <ReduceOp kOp>
void run_chains(const StepArgs& step, const Frame& frame,
                const Share& share) noexcept RILL_NONBLOCKING {
  const float* x = frame.ptr<float>(step.x);
  float* y = frame.ptr<float>(step.y);
  const ReduceF32Args& args = step.args;
  const auto run = [&](int64_t x_at, int64_t y_at, int64_t first, int64_t count) {
    const float* from = x + x_at + first * args.x_outer;
    float* to = y + y_at + first * args.y_outer;
    if (args.reduced == 2 && args.x_reduced == 1 && args.x_outer == 2 && args.y_outer == 1) {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = joined<kOp>(joined<kOp>(start_of<kOp>(), from[2 * i]), from[2 * i + 1]);
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i, from += args.x_outer, to += args.y_outer) {
      float acc = start_of<kOp>();
      for (int64_t k = 0; k < args.reduced; ++k) acc = joined<kOp>(acc, from[k * args.x_reduced]);
      *to = acc;
    }
  };
  step.loops.walk(share, args.outer, run);
}

void run_step(const StepArgs& step, const Frame& frame,
              const Share& share) noexcept RILL_NONBLOCKING {
  if (!step.chains) return run_kernel(step, frame, share);
  switch (step.args.op) {
    case ReduceOp::kSum:
      return run_chains<ReduceOp::kSum>(step, frame, share);
    case ReduceOp::kProd:
      return run_chains<ReduceOp::kProd>(step, frame, share);
    case ReduceOp::kMax:
      return run_chains<ReduceOp::kMax>(step, frame, share);
    default:
      return run_chains<ReduceOp::kMin>(step, frame, share);
  }
}

void touch_step(const StepArgs& step, StepTouches& touches) {
  touches.require(step.run != nullptr && step.args.op <= ReduceOp::kSumSquares,
                  "a kernel");
  touch_nest(step.loops, step.args.outer, touches);
  if (!touches.holds()) return;
  const ReduceF32Args& args = step.args;
  const int64_t inner = step.chains ? 1 : args.inner;
  const Region x = region<float>(step.x).over(args.outer, args.x_outer);
  const Region y = region<float>(step.y).over(args.outer, args.y_outer).over(inner, args.y_inner);
  touches.reads(in_nest(step.loops, step.loops.x,
                        x.over(args.reduced, args.x_reduced).over(inner, args.x_inner)));
  touches.writes(in_nest(step.loops, step.loops.y, y));
}

constexpr auto kReduce = step_kind<StepArgs, run_step, touch_step>("reduce");

/// Multiply-adds that take as long as one element that is read, as for elementwise operators.
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

extern const StepKind reduce_kind;
const StepKind reduce_kind = kReduce;

Result<bool> lower_reduce(const Reduce& op, Lowering& lowering) {
  Operand x = lowering.in(0);
  const auto kernel = kernel_op(op.kind_of);
  if (x.dtype != DType::kF32 || !kernel) return false;
  const auto is_reduced = [&](int axis) {
    return std::find(op.reduced.begin(), op.reduced.end(), axis) != op.reduced.end();
  };
  std::vector<int> order;  // first the axes that stay, from the outermost to the innermost
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
  StepArgs step;
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
  if (step.loops.count > 0) {
    const auto last = static_cast<size_t>(--step.loops.count);
    step.args.outer = step.loops.extent[last];
    step.args.x_outer = step.loops.x[last];
    step.args.y_outer = step.loops.y[last];
  }
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
