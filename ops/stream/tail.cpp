#include "ops/stream/tail.h"

#include <algorithm>

#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/tail_step.h"

namespace rill::ops {

void PulseTail::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("overlap", overlap);
  visitor.field("frames", frames);
  visitor.field("delay", delay);
  visitor.field("first", first);
}

Result<Facts> PulseTail::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(overlap >= 0 && overlap < kMostFrames && frames >= 0 && frames < kMostFrames &&
                 delay > -kMostFrames && delay < kMostFrames,
             "overlap ", overlap, ", frames ", frames, ", delay ", delay, " are out of range");
  if (!is_plain(in[0].dtype)) return fail(Code::kDType, "cannot keep ", in[0]);
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(axis)] = Dim(frames);
  return one_fact(std::move(out));
}

Status PulseTail::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "the end of a stream is known in a prepared plan only");
}

Status PulseTail::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand kept = kept_output(lowering);
  TailArgs args{static_cast<int>(axis), overlap, frames, delay,
                lowering.extent(first), from,    kept};
  lowering.step(kTail, std::move(args), {from}, {kept});
  lowering.set_out(0, kept);
  return {};
}

namespace {

const NnefOp kOps[] = {{"rill_pulse",
                        "fragment rill_pulse_tail<?>(input: tensor<?>, axis: integer, overlap: "
                        "integer, frames: integer, delay: integer, first: integer) -> "
                        "(output: tensor<?>);",
                        load_declared<PulseTail>}};

}  // namespace

Status PulseTail::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule tail_module;
const OpModule tail_module = {"tail", kOps};

}  // namespace rill::ops
