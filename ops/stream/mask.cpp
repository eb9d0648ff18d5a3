#include "ops/stream/mask.h"

#include <algorithm>
#include <cstring>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/frames.h"

namespace rill::ops {

void PulseMask::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("begin", begin);
  visitor.field("end", end);
  visitor.field("value", value);
  visitor.field("padding", padding);
}

Result<std::shared_ptr<PulseMask>> mask_around(const Fact& wire, const StreamFact& stream,
                                               bool begin, bool end, const Tensor& value) {
  begin = begin && stream.delay > 0;
  if (!begin && !end) return std::shared_ptr<PulseMask>();
  auto op = std::make_shared<PulseMask>();
  op->axis = stream.axis;
  op->begin = begin ? stream.delay : 0;
  op->end = end ? stream.dim + Dim(stream.delay) : Dim(INT64_MAX);
  RILL_ASSIGN(Tensor scalar, cast(value, wire.dtype, wire.q));
  op->value = std::make_shared<const Tensor>(std::move(scalar));
  return op;
}

Result<Facts> PulseMask::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  bool fits = value && (value->volume() == 1 || value->rank() == in[0].rank());
  for (int i = 0; fits && value->rank() > 0 && i < value->rank(); ++i) {
    fits = value->extent(i) == 1 || (i != axis && Dim(value->extent(i)) == in[0].dim(i));
  }
  RILL_CHECK(fits, "value: expected one number, or one frame of ", in[0]);
  if (value->dtype() != in[0].dtype) {
    return fail(Code::kDType, "value of ", dtype_name(value->dtype()), " for ", in[0]);
  }
  return Facts{in[0].without_value()};
}

Status PulseMask::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a mask counts frames: it runs in a prepared plan only");
}

namespace {

struct MaskArgs {
  TensorPtr value;
  Operand view;
  int axis;
  int64_t pulse;
  int64_t begin;
  FramesSoFar end;
};
RILL_STEP_FIELDS(MaskArgs, value, view, axis, pulse, begin, end)

/// Overwrites frames [first, last) of the view.
void fill_frames(const View& view, int axis, int64_t first, int64_t last, const Tensor& value) {
  if (first >= last) return;
  View part = view;
  const auto a = static_cast<size_t>(axis);
  part.shape[a] = last - first;
  part.data = static_cast<std::byte*>(view.data) + first * view.stride[a] * dtype_size(view.dtype);
  View from = value.view();
  for (size_t i = 0; i < static_cast<size_t>(part.rank); ++i) {
    if (from.rank != part.rank || from.shape[i] == 1) from.stride[i] = 0;
    from.shape[i] = part.shape[i];
  }
  from.rank = part.rank;
  copy_view(from, part);
}

void run(const MaskArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const int64_t first = frame.clock->position(args.pulse);
  const int64_t end = args.end.now(frame);
  // In the middle of the stream there is nothing to do.
  if (first >= args.begin && end - args.pulse >= first) return;
  const View view = frame.view(args.view);
  fill_frames(view, args.axis, 0, std::clamp<int64_t>(args.begin - first, 0, args.pulse),
              *args.value);
  const int64_t tail = end <= first ? 0 : std::min(end - first, args.pulse);
  fill_frames(view, args.axis, tail, args.pulse, *args.value);
}

void touch(const MaskArgs& args, StepTouches& touches) {
  touches.has_axis(args.view, args.axis);
  touches.require(args.value != nullptr && !args.value->empty() &&
                      args.value->dtype() == args.view.dtype,
                  "a value to fill with");
  touches.within(args.begin, -kMostFrames, kMostFrames);
  if (!touches.holds()) return;
  touches.within(args.pulse, 0, args.view.extent(args.axis));
  const bool spread = args.value->rank() != args.view.rank;
  for (int i = 0; i < args.view.rank && !spread; ++i) {
    const int64_t own = args.value->extent(i);
    touches.require(own == 1 || own >= args.view.extent(i), "a value for every element");
  }
  touches.writes(args.view);
}

constexpr auto kMask = step_kind<MaskArgs, run, touch>("mask_stream");

}  // namespace

extern const StepKind mask_stream_kind;
const StepKind mask_stream_kind = kMask;

Status PulseMask::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  lowering.copy(from, to);
  RILL_ASSIGN(const int64_t first, begin.as_int());
  MaskArgs args{value,
                to,
                static_cast<int>(axis),
                from.extent(static_cast<int>(axis)),
                first,
                FramesSoFar(end)};
  args.view.konst = nullptr;
  lowering.step(kMask, args, {}, {to});
  return {};
}

Status PulseMask::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string input, ctx.in(0));
  RILL_ASSIGN(const std::string text, ctx.literal(*value));
  ctx.need_registry("tract_pulse");
  ctx.assign(str_cat("tract_pulse_mask(", input, ", axis = ", axis, ", begin = ", nnef_text(begin),
                     ", end = ", nnef_text(end), ", value = ", text, ")"));
  return {};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  PulseMask op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  RILL_ASSIGN(op.axis, ctx.integer("axis"));
  RILL_ASSIGN(op.begin, ctx.dim("begin"));
  RILL_ASSIGN(op.end, ctx.dim("end"));
  RILL_ASSIGN(const OutletId value, ctx.wire("value"));
  const TensorPtr constant = ctx.fact(value).konst;
  if (!constant) return fail(Code::kArg, "value: expected a constant");
  RILL_ASSIGN(Tensor as_input, cast(*constant, ctx.fact(input).dtype));
  if (as_input.volume() == 1) {
    RILL_ASSIGN(as_input, as_input.reshaped({}));
  }
  op.value = std::make_shared<const Tensor>(std::move(as_input));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<PulseMask>(op), {input}));
  return Value(out);
}

const NnefOp kOps[] = {{"tract_pulse",
                        "fragment tract_pulse_mask<?>(input: tensor<?>, axis: integer, "
                        "begin: integer, end: integer, value: scalar) -> (output: tensor<?>);",
                        load}};

}  // namespace

extern const OpRoom mask_room;
const OpRoom mask_room = {"mask", kOps};

}  // namespace rill::ops
