#include "ops/stream/tail.h"

#include <algorithm>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/frames.h"

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
  return Facts{std::move(out)};
}

Status PulseTail::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "the end of a stream is known in a prepared plan only");
}

namespace {

struct TailArgs {
  PulseTail op;
  Operand from;
  Operand kept;
};
RILL_STEP_FIELDS(TailArgs, op, from, kept)

void run_tail(const TailArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const PulseTail& op = args.op;
  if (frame.clock->end < 0) return;
  const int axis = static_cast<int>(op.axis);
  const int64_t shown = args.from.extent(axis);
  const int64_t start = frame.clock->position(shown - op.overlap) - op.overlap;
  const int64_t begin = op.first.eval(*frame.bindings).value_or(0) + op.delay;
  const int64_t from = std::max(start, begin);
  const int64_t to = std::min(start + shown, begin + op.frames);
  if (from >= to) return;
  copy_view(frames_of(frame.view(args.from), axis, from - start, to - from),
            frames_of(frame.view(args.kept), axis, from - begin, to - from));
}

void touch_tail(const TailArgs& args, StepTouches& touches) {
  touches.infers(args.op, {&args.from, 1}, {&args.kept, 1});
  touches.alike(args.from, args.kept, args.op.axis);
  touches.reads(args.from);
  touches.keeps(region(args.kept));
}

constexpr auto kTail = step_kind<TailArgs, run_tail, touch_tail>("tail_stream");

}  // namespace

extern const StepKind tail_stream_kind;
const StepKind tail_stream_kind = kTail;

Status PulseTail::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  Operand kept = lowering.out_shape(0);
  int64_t stride = 1;
  for (int i = kept.rank - 1; i >= 0; --i) {
    kept.stride[static_cast<size_t>(i)] = stride;
    stride *= kept.extent(i);
  }
  kept.ref = lowering.state(std::max<int64_t>(1, stride) * dtype_size(kept.dtype));
  TailArgs args{*this, from, kept};
  args.from.konst = nullptr;
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

extern const OpRoom tail_room;
const OpRoom tail_room = {"tail", kOps};

}  // namespace rill::ops
