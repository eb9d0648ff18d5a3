#include "ops/stream/positions.h"

#include <algorithm>
#include <cmath>

#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/positions_step.h"

namespace rill::ops {

void PulseRange::fields(FieldVisitor& visitor) {
  visitor.field("start", start);
  visitor.field("step", step);
  frames_field(visitor, "frames", frames);
  frames_field(visitor, "overlap", overlap);
  position_field(visitor, "delay", delay);
}

Result<Facts> PulseRange::infer(FactSpan in) const {
  RILL_CHECK(in.empty(), "expected no inputs, found ", in.size());
  RILL_CHECK(frames >= 0 && overlap >= 0 && frames < kMostFrames && overlap < kMostFrames &&
                 delay > -kMostFrames && delay < kMostFrames,
             "frames ", frames, ", overlap ", overlap, ", delay ", delay, " are out of range");
  return one_fact(Fact::of(DType::kI64, {Dim(frames + overlap)}));
}

Status PulseRange::eval(EvalCtx& ctx) const {
  const int64_t position = ctx.clock ? ctx.clock->position(frames) : 0;
  count_frames(start, step, position - overlap - delay, ctx.out[0]);
  return {};
}

Status PulseRange::lower(Lowering& lowering) const {
  const Operand out = lowering.make_out(0);
  lowering.step(kRange, {out, start, step, frames, overlap + delay}, {}, {out});
  return {};
}

void PulseRows::fields(FieldVisitor& visitor) {
  axis_field(visitor, "axis", axis);
  frames_field(visitor, "begin", begin);
  frames_field(visitor, "frames", frames);
}

Result<Facts> PulseRows::infer(FactSpan in) const {
  RILL_CHECK(in.size() == 1, "expected one table, found ", in.size());
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(frames >= 0 && begin >= 0 && frames < kMostFrames && begin < kMostFrames, "begin ",
             begin, ", frames ", frames, " are out of range");
  if (!is_plain(in[0].dtype)) return fail(Code::kDType, "no table of ", in[0]);
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(axis)] = Dim(frames);
  return one_fact(std::move(out));
}

Status PulseRows::eval(EvalCtx&) const {
  return fail(Code::kUnsupported,
              "rows of a table follow frames: they run in a prepared plan only");
}

Status PulseRows::lower(Lowering& lowering) const {
  const Operand& table = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(table));
  RowsArgs args{table, to, static_cast<int>(axis), begin};
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

extern const OpModule positions_module;
const OpModule positions_module = {"positions", kOps, kClasses};

}  // namespace rill::ops
