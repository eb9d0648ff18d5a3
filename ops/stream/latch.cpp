#include "ops/stream/latch.h"

#include <algorithm>

#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/latch_step.h"

namespace rill::ops {

void PulseLatch::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("begin", begin);
  visitor.field("end", end);
  visitor.field("delay", delay);
}

Result<Facts> PulseLatch::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(begin >= 0 && begin <= end && end < kMostFrames && delay > -kMostFrames &&
                 delay < kMostFrames,
             "frames [", begin, ", ", end, ") with delay ", delay, " are out of range");
  if (!is_plain(in[0].dtype)) return fail(Code::kDType, "cannot keep ", in[0]);
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(axis)] = Dim(end - begin);
  return one_fact(std::move(out));
}

Status PulseLatch::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a latch has memory: it runs in a prepared plan only");
}

Status PulseLatch::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand kept = kept_output(lowering);
  const LatchArgs args{from, kept, static_cast<int>(axis), begin + delay};
  lowering.step(kLatch, args, {from}, {kept});
  lowering.set_out(0, kept);
  return {};
}

void PulseSplice::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("has_front", has_prefix);
  visitor.field("has_back", has_suffix);
  visitor.field("begin", begin);
  visitor.field("end", end);
  visitor.field("shown", shown);
}

Result<Facts> PulseSplice::infer(FactSpan in) const {
  const size_t expected = 1U + (has_prefix ? 1U : 0U) + (has_suffix ? 1U : 0U);
  RILL_CHECK(in.size() == expected, counted(in.size(), "input"), ": expected ", expected);
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(begin > -kMostFrames && begin < kMostFrames, "begin ", begin, " is out of range");
  const auto frames = in[0].dim(static_cast<int>(axis)).to_int();
  RILL_CHECK(shown >= 0 && (!frames || shown <= *frames), "shown ", shown, " is out of range");
  for (const Fact& fact : in) {
    if (fact.dtype != in[0].dtype || !is_plain(fact.dtype)) {
      return fail(Code::kDType, "expected inputs of one type, found ", in[0], " and ", fact);
    }
    RILL_CHECK(fact.rank() == in[0].rank(), "expected inputs of one rank, found ", in[0], " and ",
               fact);
    for (int i = 0; i < fact.rank(); ++i) {
      const auto difference = (fact.dim(i) - in[0].dim(i)).to_int();
      RILL_CHECK(i == axis || !difference || *difference == 0, "extents of axis ", i,
                 " differ: ", in[0], " and ", fact);
    }
  }
  return one_fact(in[0].without_value());
}

Status PulseSplice::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a splice counts frames: it runs in a prepared plan only");
}

Status PulseSplice::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  lowering.copy(from, to);
  SpliceArgs args{shown, begin, has_prefix, has_suffix, to, {}, {}, static_cast<int>(axis), {}};
  args.end = frames_so_far(lowering, end);
  std::vector<Touched> reads;
  for (int i = 1; i < lowering.inputs(); ++i) {
    PlacedView& piece = i == 1 && has_prefix ? args.prefix : args.suffix;
    piece = lowering.in(i);
    reads.emplace_back(piece);
  }
  lowering.step(kSplice, args, reads, {to});
  return {};
}

namespace {

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_latch<?>(input: tensor<?>, axis: integer, begin: integer, "
     "end: integer, delay: integer) -> (output: tensor<?>);",
     load_declared<PulseLatch>},
    {"rill_pulse",
     "fragment rill_pulse_splice<?>(values: tensor<?>[], axis: integer, has_front: logical, "
     "has_back: logical, begin: integer, end: integer, shown: integer = 0) -> (output: tensor<?>);",
     load_declared<PulseSplice>}};

}  // namespace

Status PulseLatch::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }
Status PulseSplice::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[1]); }

extern const OpModule latch_module;
const OpModule latch_module = {"latch", kOps};

}  // namespace rill::ops
