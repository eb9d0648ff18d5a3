#include "ops/stream/positions.h"

#include <algorithm>
#include <cmath>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/frames.h"

namespace rill::ops {

void PulseRange::fields(FieldVisitor& visitor) {
  visitor.field("start", start);
  visitor.field("step", step);
  visitor.field("frames", frames);
  visitor.field("overlap", overlap);
  visitor.field("delay", delay);
}

Result<Facts> PulseRange::infer(FactSpan) const {
  RILL_CHECK(frames >= 0 && overlap >= 0 && frames < kMostFrames && overlap < kMostFrames &&
                 delay > -kMostFrames && delay < kMostFrames,
             "frames ", frames, ", overlap ", overlap, ", delay ", delay, " are out of range");
  return Facts{Fact::of(DType::kI64, {Dim(frames + overlap)})};
}

Status PulseRange::eval(EvalCtx& ctx) const {
  const View& out = ctx.out[0];
  const int64_t position = ctx.clock ? ctx.clock->position(frames) : 0;
  auto value = static_cast<uint64_t>(start) +
               static_cast<uint64_t>(step) * static_cast<uint64_t>(position - overlap - delay);
  for (int64_t i = 0; i < out.extent(0); ++i, value += static_cast<uint64_t>(step)) {
    out.as<int64_t>()[i * out.step(0)] = static_cast<int64_t>(value);
  }
  return {};
}

void PulseRows::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("begin", begin);
  visitor.field("frames", frames);
}

Result<Facts> PulseRows::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(frames >= 0 && begin >= 0 && frames < kMostFrames && begin < kMostFrames, "begin ",
             begin, ", frames ", frames, " are out of range");
  if (!is_plain(in[0].dtype)) return fail(Code::kDType, "no table of ", in[0]);
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(axis)] = Dim(frames);
  return Facts{std::move(out)};
}

Status PulseRows::eval(EvalCtx&) const {
  return fail(Code::kUnsupported,
              "rows of a table follow frames: they run in a prepared plan only");
}

namespace {

struct RowsArgs {
  Operand table;
  Operand to;
  int axis;
  int64_t begin;
};
RILL_STEP_FIELDS(RowsArgs, table, to, axis, begin)

void fill_missing(const View& view) {
  uint64_t bits = 0;
  if (view.dtype == DType::kF32) bits = 0x7FC00000U;
  if (view.dtype == DType::kF64) bits = 0x7FF8000000000000U;
  if (view.dtype == DType::kF16) bits = 0x7E00U;
  if (view.dtype == DType::kBF16) bits = 0x7FC0U;
  View from = view;
  from.data = &bits;
  from.stride.fill(0);
  copy_view(from, view);
}

void run_rows(const RowsArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING {
  const View table = frame.view(args.table);
  const View to = frame.view(args.to);
  const int64_t count = to.extent(args.axis);
  const int64_t first = args.begin + frame.clock->position(count);
  const int64_t there = std::clamp<int64_t>(table.extent(args.axis) - first, 0, count);
  if (there > 0) {
    copy_view(frames_of(table, args.axis, first, there), frames_of(to, args.axis, 0, there));
  }
  if (there < count) fill_missing(frames_of(to, args.axis, there, count - there));
}

void touch_rows(const RowsArgs& args, StepTouches& touches) {
  touches.has_axis(args.to, args.axis);
  touches.alike(args.table, args.to, args.axis);
  touches.within(args.begin, 0, kMostFrames);
  touches.reads(args.table);
  touches.writes(args.to);
}

constexpr auto kRows = step_kind<RowsArgs, run_rows, touch_rows>("rows_stream");

}  // namespace

extern const StepKind rows_stream_kind;
const StepKind rows_stream_kind = kRows;

Status PulseRows::lower(Lowering& lowering) const {
  const Operand& table = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(table));
  RowsArgs args{table, to, static_cast<int>(axis), begin};
  args.table.konst = nullptr;
  lowering.step(kRows, args, {table}, {to});
  return {};
}

namespace {

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_range(start: integer, step: integer, frames: integer, "
     "overlap: integer = 0, delay: integer = 0) -> (output: tensor<?>);",
     load_declared<PulseRange>},
    {"rill_pulse",
     "fragment rill_pulse_rows<?>(table: tensor<?>, axis: integer, begin: integer, "
     "frames: integer) -> (output: tensor<?>);",
     load_declared<PulseRows>}};

constexpr OpClass kClasses[] = {op_class<PulseRange>("PulseRange")};

}  // namespace

Status PulseRange::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }
Status PulseRows::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[1]); }

extern const OpRoom positions_room;
const OpRoom positions_room = {"positions", kOps, kClasses};

}  // namespace rill::ops
