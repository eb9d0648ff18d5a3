#include <algorithm>
#include <cstring>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/op.h"
#include "core/graph/typed.h"
#include "core/tensor/frames.h"
#include "ops/stream/pulse_pad_step.h"

namespace rill::ops {
namespace {

/// Overwrite the frames before `begin_input`, and from `end_input` once that is known. Each pulse
/// begins with `overlap` frames of the previous pulse.
/// Shapes: x -> x. Types: all plain ones.
/// Errors: kShape for a missing axis, kDType for a value of another type.
/// Stream: positions count from the start of the stream, and advance by the frames of a pulse minus
/// the overlap. Mode "replicated" repeats the first frame, which is in the same pulse as
/// `begin_input`, and the last frame.
/// Source: tract_pulse_pulse_pad.
struct PulsePad final : OpBase<PulsePad> {
  int64_t axis = 0;
  int64_t before = 0;
  Dim after = 0;
  int64_t begin_input = 0;
  Dim end_input = 0;
  int64_t overlap = 0;
  std::string border = "constant";
  TensorPtr value;

  std::string_view name() const override { return "PulsePad"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("axis", axis);
    visitor.field("before", before);
    visitor.field("after", after);
    visitor.field("begin_input", begin_input);
    visitor.field("end_input", end_input);
    visitor.field("overlap", overlap);
    visitor.field("border", border);
    visitor.field("value", value);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
    RILL_CHECK(value && value->volume() == 1, "value: expected one number");
    RILL_CHECK(before >= 0 && begin_input >= 0 && overlap >= 0, "negative frame counts");
    RILL_TRY(expect_type_of("value", *value, in[0]));
    return one_fact(in[0].without_value());
  }
  Status eval(EvalCtx&) const override {
    return fail(Code::kUnsupported, "a pulse pad counts frames: it runs in a prepared plan only");
  }
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

Status PulsePad::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  lowering.copy(from, to);
  PadStreamArgs args;
  args.axis = static_cast<int>(axis);
  args.before = before;
  args.after = lowering.extent(after);
  args.begin_input = begin_input;
  args.end_input = lowering.extent(end_input);
  args.overlap = overlap;
  args.edge = border == "replicated";
  args.value = lowering.constant(*value);
  args.view = to;
  // The last frame is saved with the strides of the output.
  int64_t reach = 1;
  for (int i = 0; i < to.rank; ++i) {
    if (i != axis) reach += (to.extent(i) - 1) * to.step(i);
  }
  args.last_frame = lowering.state(std::max<int64_t>(reach, 1) * dtype_size(to.dtype));
  const Touched constant = args.value;
  const Touched last_frame = args.last_frame;
  lowering.step(kPadStream, std::move(args), {constant}, {to, last_frame});
  return {};
}

Status PulsePad::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string input, ctx.in(0));
  RILL_ASSIGN(const std::string text, ctx.literal(*value));
  ctx.need_registry("tract_pulse");
  ctx.assign(str_cat("tract_pulse_pulse_pad(", input, ", axis = ", axis, ", before = ", before,
                     ", begin_input = ", begin_input, ", overlap = ", overlap,
                     ", after = ", ctx.dim(after), ", end_input = ", ctx.dim(end_input),
                     ", border = \"", border, "\", value = ", text, ")"));
  return {};
}

Result<Value> load(LoadCtx& ctx) {
  PulsePad op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  op.value = std::make_shared<const Tensor>(Tensor::scalar(0.0F));
  RILL_TRY(ctx.all_fields(op));
  if (op.border == "edge" || op.border == "replicate") op.border = "replicated";
  if (op.border != "constant" && op.border != "replicated") {
    return fail(Code::kArg, "border \"", op.border, "\": expected constant or replicated");
  }
  if (op.value->volume() != 1) return fail(Code::kArg, "value: expected one constant number");
  RILL_ASSIGN(const Tensor as_input, as_type_of(*op.value, ctx.fact(input)));
  RILL_ASSIGN(Tensor scalar, as_input.reshaped({}));
  op.value = std::make_shared<const Tensor>(std::move(scalar));
  return ctx.add_value(make_op<PulsePad>(op), {input});
}

const NnefOp kOps[] = {
    {"tract_pulse",
     "fragment tract_pulse_pulse_pad<?>(input: tensor<?>, axis: integer, before: integer, "
     "begin_input: integer, end_input: integer, after: integer = 0, border: string = 'constant', "
     "value: scalar = 0.0, overlap: integer = 0) -> (output: tensor<?>);",
     load}};

}  // namespace

extern const OpModule pulse_pad_module;
const OpModule pulse_pad_module = {"pulse_pad", kOps};

}  // namespace rill::ops
