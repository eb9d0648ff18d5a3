#include "ops/stream/border.h"

#include <algorithm>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/stream/delay.h"
#include "ops/stream/frames.h"

namespace rill::ops {

void PulseBorder::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("overlap", overlap);
  visitor.field("shown", shown);
  visitor.field("delay", delay);
  visitor.field("out_delay", out_delay);
  visitor.field("before", before);
  visitor.field("reflect", reflect);
  visitor.field("length", length);
}

Result<Facts> PulseBorder::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(overlap >= 0 && shown >= 0 && before >= 0 && overlap < kMostFrames &&
                 shown < kMostFrames && before < kMostFrames,
             "overlap ", overlap, ", shown ", shown, ", before ", before,
             ": expected small non-negative counts");
  RILL_CHECK(delay > -kMostFrames && delay < kMostFrames && out_delay > -kMostFrames &&
                 out_delay < kMostFrames,
             "delays ", delay, " and ", out_delay, " are out of range");
  if (!is_plain(in[0].dtype)) return fail(Code::kDType, "no borders of ", in[0]);
  Fact out = in[0].without_value();
  Dim& frames = out.shape[static_cast<size_t>(axis)];
  frames += Dim(shown - overlap);
  const auto number = frames.to_int();
  RILL_CHECK(!number || *number >= shown, "overlap ", overlap, " of ", in[0]);
  return Facts{std::move(out)};
}

Status PulseBorder::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a border counts frames: it runs in a prepared plan only");
}

namespace {

struct BorderArgs {
  PulseBorder op;
  Operand from;
  Operand to;
  int axis;
  int64_t pulse;
  FramesSoFar length;
};
RILL_STEP_FIELDS(BorderArgs, op, from, to, axis, pulse, length)

/// The frame of the stream that frame `at` of the unpadded stream shows.
int64_t source_of(const PulseBorder& op, int64_t at, int64_t frames) {
  if (!op.reflect) return std::clamp<int64_t>(at, 0, std::max<int64_t>(frames, 1) - 1);
  return at < 0 ? -at : at < frames ? at : 2 * (frames - 1) - at;
}

void run(const BorderArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const PulseBorder& op = args.op;
  const View from = frame.view(args.from);
  const View to = frame.view(args.to);
  const int64_t start = frame.clock->position(args.pulse);
  const int64_t known = args.length.now(frame);
  const int64_t first = start - op.shown - op.out_delay - op.before;  // shown by output frame 0
  const int64_t shift = op.delay - start + op.overlap;                // from frame to place
  const int64_t count = to.extent(args.axis);
  const int64_t last_place = from.extent(args.axis) - 1;
  if (first >= 0 && first + count <= known && first + shift >= 0 &&
      first + count - 1 + shift <= last_place) {
    copy_view(frames_of(from, args.axis, first + shift, count), to);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = source_of(op, first + i, known) + shift;
    // Outside of the padded stream any frame will do.
    copy_view(frames_of(from, args.axis, std::clamp<int64_t>(place, 0, last_place), 1),
              frames_of(to, args.axis, i, 1));
  }
}

void touch(const BorderArgs& args, StepTouches& touches) {
  touches.has_axis(args.from, args.axis);
  touches.alike(args.from, args.to, args.axis);
  touches.within(args.pulse, 0, kMostFrames);
  if (!touches.holds()) return;
  touches.infers(args.op, {&args.from, 1}, {&args.to, 1});
  touches.require(args.from.extent(args.axis) > 0 || args.to.volume() == 0, "frames to show");
  touches.reads(args.from);
  touches.writes(args.to);
}

constexpr auto kBorder = step_kind<BorderArgs, run, touch>("border_stream");

}  // namespace

extern const StepKind border_stream_kind;
const StepKind border_stream_kind = kBorder;

Status PulseBorder::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  if (to.volume() == 0 || from.extent(static_cast<int>(axis)) == 0) return {};
  const int on = static_cast<int>(axis);
  BorderArgs args{*this, from, to, on, from.extent(on) - overlap, FramesSoFar(length)};
  args.from.konst = nullptr;
  lowering.step(kBorder, args, {from}, {to});
  return {};
}

/// A border moves in front of ops that only rearrange frames, so that what is behind them meets
/// what it would in the whole graph.
Status PulseBorder::declutter(Rewrite& rewrite) const {
  const Node& source = rewrite.producer(0);
  if (rewrite.input(0).slot != 0) return {};
  const int inner_axis = axis_in_front(source, static_cast<int>(axis));
  if (inner_axis < 0) return {};
  PulseBorder moved = *this;
  moved.axis = inner_axis;
  RILL_ASSIGN(const OutletId bordered,
              rewrite.wire1(rewrite.node().name, std::make_shared<PulseBorder>(moved),
                            {rewrite.mapped(source.inputs[0])}));
  RILL_ASSIGN(const OutletId out, rewrite.wire1(source.name, source.op, {bordered}));
  return rewrite.replace({out});
}

Status PulseBorder::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string input, ctx.in(0));
  ctx.need_registry("rill_pulse");
  ctx.assign(str_cat("rill_pulse_border(", input, ", axis = ", axis, ", overlap = ", overlap,
                     ", shown = ", shown, ", delay = ", delay, ", out_delay = ", out_delay,
                     ", before = ", before,
                     ", border = ", nnef_text(std::string_view(reflect ? "reflect" : "replicated")),
                     ", length = ", nnef_text(length), ")"));
  return {};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  PulseBorder op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  RILL_TRY(ctx.fields(op));
  RILL_ASSIGN(const std::string border, ctx.text("border"));
  if (border != "replicated" && border != "reflect") {
    return fail(Code::kArg, "border \"", border, "\": expected replicated or reflect");
  }
  op.reflect = border == "reflect";
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<PulseBorder>(op), {input}));
  return Value(out);
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_border<?>(input: tensor<?>, axis: integer, overlap: integer, "
     "shown: integer, delay: integer, out_delay: integer, before: integer, border: string, "
     "length: integer) -> (output: tensor<?>);",
     load}};

}  // namespace

extern const OpRoom border_room;
const OpRoom border_room = {"border", kOps};

}  // namespace rill::ops
