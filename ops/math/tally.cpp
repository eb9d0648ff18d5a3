#include "ops/math/tally.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/array/cast.h"
#include "ops/array/elements.h"
#include "ops/math/tally_step.h"
#include "ops/math/whole.h"

namespace rill::ops {

void PulseTally::fields(FieldVisitor& visitor) {
  visitor.field("kind", kind);
  visitor.field("axes", reduced);
  visitor.field("last", last);
  visitor.field("delay", delay);
  visitor.field("length", length);
}

Result<Facts> PulseTally::infer(FactSpan in) const {
  RILL_CHECK(!reduced.empty() && kind >= 0 && kind <= static_cast<int64_t>(ReduceKind::kAll),
             "expected axes and a kind of reduction");
  const auto which = static_cast<ReduceKind>(kind);
  const bool fits = is_truth(which) ? in[0].dtype == DType::kBool : is_number(in[0].dtype);
  if (!fits) return fail(Code::kDType, "no such reduction of ", in[0]);
  Fact out = is_arg(which) ? Fact::of(DType::kI64, in[0].shape) : in[0].without_value();
  RILL_TRY(reduce_axes(reduced, &out));
  return one_fact(std::move(out));
}

Status PulseTally::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a reduction of a stream has memory: it runs in a plan only");
}

/// Fuse like a whole reduction: compute f16 in f32 between casts, in the order of the stream.
Status PulseTally::fuse(Rewrite& rewrite) const {
  const auto which = static_cast<ReduceKind>(kind);
  const Fact& in = rewrite.in(0);
  if (in.dtype != DType::kF16 || is_arg(which)) return {};
  const StreamFact stream{static_cast<int>(reduced[0]), length, delay, nullptr};
  return fuse_as_f32(*reduce_stream(which, reduced, in.rank(), stream), rewrite);
}

namespace {

/// View a row-major operand with other extents.
Operand seen_as(const Operand& x, std::vector<int64_t> shape) {
  Operand out = x;
  out.rank = static_cast<int>(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    out.shape[i] = shape[i];
    out.stride[i] = stride;
  }
  out.konst = nullptr;
  return out;
}

}  // namespace

Status PulseTally::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  std::vector<int> order;
  int64_t outputs = 1;
  int64_t elements = 1;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (contains(reduced, axis)) continue;
    order.push_back(axis);
    outputs *= x.extent(axis);
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  const int64_t frames = x.extent(static_cast<int>(reduced[0]));
  for (size_t i = 1; i < reduced.size(); ++i) elements *= x.extent(static_cast<int>(reduced[i]));
  TallyArgs args;
  args.kind = static_cast<ReduceKind>(kind);
  args.last = last;
  args.delay = delay;
  args.length = frames_so_far(lowering, length);
  args.from = seen_as(lowering.ordered(x, order), {outputs, frames, elements});
  args.to = seen_as(lowering.make_out(0), {outputs});
  args.state = lowering.state(std::max<int64_t>(1, outputs) * kTallyBytes);
  if (outputs == 0 || elements == 0) return {};
  const std::vector<Touched> reads = {args.from};
  const std::vector<Touched> writes = {args.to, args.state};
  lowering.step(kTally, std::move(args), reads, writes);
  return {};
}

namespace {

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_tally<?>(input: tensor<?>, kind: integer, axes: integer[], "
     "last: logical, delay: integer, length: integer) -> (output: tensor<?>);",
     load_declared<PulseTally>}};

}  // namespace

Status PulseTally::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule tally_module;
const OpModule tally_module = {"tally", kOps};

}  // namespace rill::ops
