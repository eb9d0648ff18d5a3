#include "ops/math/whole.h"

#include <algorithm>
#include <utility>

#include "core/base/kept_count.h"
#include "core/base/search.h"
#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "kernels/reduce/reduce.h"
#include "ops/array/elements.h"
#include "ops/math/whole_step.h"

namespace rill::ops {

void PulseReduce::fields(FieldVisitor& visitor) {
  visitor.field("kind", kind);
  visitor.field("axes", reduced);
  visitor.field("lanes", lanes);
  visitor.field("delay", delay);
  visitor.field("length", length);
}

Result<Facts> PulseReduce::infer(FactSpan in) const {
  RILL_CHECK(!reduced.empty() && kind >= 0 && kind <= static_cast<int64_t>(ReduceKind::kMax),
             "expected axes, and a sum, product, minimum or maximum");
  if (in[0].dtype != DType::kF32) return fail(Code::kDType, "input ", in[0], ": expected F32");
  Fact out = in[0].without_value();
  RILL_TRY(reduce_axes(reduced, &out));
  return one_fact(std::move(out));
}

std::shared_ptr<PulseReduce> reduce_stream(ReduceKind kind, std::vector<int64_t> reduced, int rank,
                                           const StreamFact& stream) {
  auto op = draft_op<PulseReduce>();
  op->kind = static_cast<int64_t>(kind);
  op->lanes = reduced[0] == rank - static_cast<int64_t>(reduced.size());
  op->reduced = std::move(reduced);
  op->delay = stream.delay;
  op->length = stream.dim;
  return op;
}

Status PulseReduce::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a reduction of a stream has memory: it runs in a plan only");
}

namespace {

kernels::ReduceOp kernel_of(int64_t kind) {
  switch (static_cast<ReduceKind>(kind)) {
    case ReduceKind::kProduct:
      return kernels::ReduceOp::kProd;
    case ReduceKind::kMin:
      return kernels::ReduceOp::kMin;
    case ReduceKind::kMax:
      return kernels::ReduceOp::kMax;
    default:
      return kernels::ReduceOp::kSum;
  }
}

}  // namespace

Status PulseReduce::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  const auto is_reduced = [&](int axis) { return contains(reduced, axis); };
  std::vector<int> order;
  ReduceStreamArgs args;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (is_reduced(axis)) continue;
    order.push_back(axis);
    args.outputs *= x.extent(axis);
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  const int64_t frames = x.extent(static_cast<int>(reduced[0]));
  for (size_t i = 1; i < reduced.size(); ++i) args.frame *= x.extent(static_cast<int>(reduced[i]));
  args.op = kernel_of(kind);
  args.delay = delay;
  args.length = frames_so_far(lowering, length);
  args.run = kernels::reduce_f32();
  args.block = lanes ? kernels::reduce_block_f32() : 0;
  const Operand ordered = lowering.ordered(x, order);
  args.from = {};
  args.from.rank = 3;
  args.from.shape = {args.outputs, frames, args.frame};
  args.from.ref = ordered.ref;
  const Operand out = lowering.make_out(0);
  args.to = out.ref;
  args.state = lowering.state(std::max<int64_t>(1, args.outputs) * bytes_kept(args.block));
  if (args.outputs == 0 || args.frame == 0) return {};
  const Ref state = args.state;
  lowering.step(kReduceStream, std::move(args), {ordered}, {out, state});
  return {};
}

namespace {

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_reduce(input: tensor<scalar>, kind: integer, axes: integer[], "
     "lanes: logical, delay: integer, length: integer) -> (output: tensor<scalar>);",
     load_declared<PulseReduce>}};

}  // namespace

Status PulseReduce::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule whole_module;
const OpModule whole_module = {"whole", kOps};

}  // namespace rill::ops
