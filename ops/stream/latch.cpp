#include "ops/stream/latch.h"

#include <algorithm>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/frames.h"

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
  return Facts{std::move(out)};
}

Status PulseLatch::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a latch has memory: it runs in a prepared plan only");
}

namespace {

struct LatchArgs {
  Operand from;
  Operand kept;
  int axis;
  int64_t first;  ///< position of the first frame that is kept
};
RILL_STEP_FIELDS(LatchArgs, from, kept, axis, first)

void run_latch(const LatchArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const int64_t pulse = args.from.extent(args.axis);
  const int64_t start = frame.clock->position(pulse);
  const int64_t from = std::max(start, args.first);
  const int64_t to = std::min(start + pulse, args.first + args.kept.extent(args.axis));
  if (from >= to) return;
  copy_view(frames_of(frame.view(args.from), args.axis, from - start, to - from),
            frames_of(frame.view(args.kept), args.axis, from - args.first, to - from));
}

void touch_latch(const LatchArgs& args, StepTouches& touches) {
  touches.has_axis(args.from, args.axis);
  touches.alike(args.from, args.kept, args.axis);
  touches.within(args.first, -kMostFrames, kMostFrames);
  touches.reads(args.from);
  touches.keeps(region(args.kept));
}

constexpr auto kLatch = step_kind<LatchArgs, run_latch, touch_latch>("latch_stream");

}  // namespace

extern const StepKind latch_stream_kind;
const StepKind latch_stream_kind = kLatch;

Status PulseLatch::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  Operand kept = lowering.out_shape(0);
  int64_t stride = 1;
  for (int i = kept.rank - 1; i >= 0; --i) {
    kept.stride[static_cast<size_t>(i)] = stride;
    stride *= kept.extent(i);
  }
  kept.ref = lowering.state(std::max<int64_t>(1, stride) * dtype_size(kept.dtype));
  LatchArgs args{from, kept, static_cast<int>(axis), begin + delay};
  args.from.konst = nullptr;
  lowering.step(kLatch, args, {from}, {kept});
  lowering.set_out(0, kept);
  return {};
}

void PulseSplice::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("has_front", has_front);
  visitor.field("has_back", has_back);
  visitor.field("begin", begin);
  visitor.field("end", end);
  visitor.field("shown", shown);
}

Result<Facts> PulseSplice::infer(FactSpan in) const {
  const size_t expected = 1U + (has_front ? 1U : 0U) + (has_back ? 1U : 0U);
  RILL_CHECK(in.size() == expected, in.size(), " inputs: expected ", expected);
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
  return Facts{in[0].without_value()};
}

Status PulseSplice::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a splice counts frames: it runs in a prepared plan only");
}

namespace {

struct SpliceArgs {
  PulseSplice op;
  Operand to;
  Operand front;
  Operand back;
  int axis;
  FramesSoFar end;
};
RILL_STEP_FIELDS(SpliceArgs, op, to, front, back, axis, end)

void put(const View& piece, const View& to, int axis, int64_t at, int64_t start) {
  const int64_t from = std::max(start, at);
  const int64_t until = std::min(start + to.extent(axis), at + piece.extent(axis));
  if (from >= until) return;
  copy_view(frames_of(piece, axis, from - at, until - from),
            frames_of(to, axis, from - start, until - from));
}

void run_splice(const SpliceArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const View to = frame.view(args.to);
  const int64_t start = frame.clock->position(to.extent(args.axis) - args.op.shown);
  if (args.op.has_front) put(frame.view(args.front), to, args.axis, args.op.begin, start);
  if (args.op.has_back) {
    put(frame.view(args.back), to, args.axis, args.end.now(frame), start);
  }
}

void touch_splice(const SpliceArgs& args, StepTouches& touches) {
  const PulseSplice& op = args.op;
  touches.has_axis(args.to, args.axis);
  touches.within(op.begin, -kMostFrames, kMostFrames);
  if (!touches.holds()) return;
  touches.within(op.shown, 0, args.to.extent(args.axis));
  touches.writes(args.to);
  const auto put = [&](const Operand& piece) {
    touches.alike(piece, args.to, args.axis);
    touches.reads(piece);
  };
  if (op.has_front) put(args.front);
  if (op.has_back) put(args.back);
}

constexpr auto kSplice = step_kind<SpliceArgs, run_splice, touch_splice>("splice_stream");

}  // namespace

extern const StepKind splice_stream_kind;
const StepKind splice_stream_kind = kSplice;

Status PulseSplice::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  lowering.copy(from, to);
  SpliceArgs args{*this, to, {}, {}, static_cast<int>(axis), FramesSoFar(end)};
  std::vector<Touched> reads;
  for (int i = 1; i < lowering.inputs(); ++i) {
    Operand& piece = i == 1 && has_front ? args.front : args.back;
    piece = lowering.in(i);
    piece.konst = nullptr;
    reads.emplace_back(piece);
  }
  lowering.step(kSplice, args, std::move(reads), {to});
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

extern const OpRoom latch_room;
const OpRoom latch_room = {"latch", kOps};

}  // namespace rill::ops
