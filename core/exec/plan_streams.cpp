#include "core/exec/plan_streams.h"

#include <algorithm>

#include "core/dim/bound.h"
#include "core/dim/pattern.h"
#include "core/dim/quotient.h"
#include "core/exec/extents.h"
#include "core/graph/ends.h"

namespace rill {
namespace {

/// Return the maximum number of frames after the last valid frame of `out` that a stream may output
/// before the program announces the end. Steps begin at multiples of `unit`, in units of the stream
/// symbol.
Result<int64_t> early_frames(const Plan& plan, const PlanStream& out, const Dim& length,
                             int64_t unit) {
  const auto frames_beyond = [&](const Dim& stepped, const Dim& frames) {
    const Dim given = Dim(out.pulse * unit / plan.stream_pulse) * stepped - Dim(out.delay);
    return (out.most < INT64_MAX ? min(given, Dim(out.most)) : given) - frames;
  };
  RILL_ASSIGN(const std::optional<int64_t> most,
              most_frames_beyond(length, plan.stream_symbol, unit, plan.late_end, frames_beyond));
  if (!most) {
    return fail(Code::kShape, "an output of ", length, " frames has ", out.pulse,
                " frames per pulse of ", plan.stream_pulse, " ", plan.stream_symbol,
                ": the pulses exceed its length without bound");
  }
  return *most;
}

/// Set the number of output frames that are held until the end is known. Also set `begin_unit`: at
/// its multiples, another plan may continue the stream and hold no more frames.
Status hold_early_frames(const Dim& length, Plan* plan, PlanStream* out) {
  if (!length.valid() || plan->stream_pulse <= 0) return {};
  RILL_ASSIGN(out->early, early_frames(*plan, *out, length, plan->stream_pulse));
  plan->begin_unit = least_begin_unit(
      plan->stream_pulse, plan->begin_unit, [&](int64_t unit) {
        if (out->pulse % (plan->stream_pulse / unit) != 0) return false;
        const auto early = early_frames(*plan, *out, length, unit);
        return early.ok() && *early <= out->early;
      });
  return {};
}

/// Set how far inputs may run ahead of the others if they end at different lengths, such as x of S
/// frames and z of S + 3: a step runs only when all of them have a pulse.
Status let_inputs_run_ahead(const Streaming& streaming, Plan* plan) {
  const int64_t unit = plan->stream_pulse;
  const Dim symbol = Dim::symbol(streaming.symbol());
  int64_t lag = 0;  // by how much the last input lags, in the stream symbol
  for (size_t i = 0; i < plan->inputs.size(); ++i) {
    PlanStream& stream = plan->inputs[i].stream;
    const std::optional<Dim> length = streaming.input_length(i);
    if (!length || stream.axis < 0) continue;
    // `unit` times the difference between the input's length and symbol * pulse / unit, its length
    // at a pulse per step.
    const Dim more = Dim(unit) * *length - Dim(stream.pulse) * symbol;
    RILL_ASSIGN(const DimPattern pattern, DimPattern::of(more, streaming.symbol()));
    RILL_ASSIGN(const std::optional<int64_t> least, pattern.least(0));
    RILL_ASSIGN(const std::optional<int64_t> most, pattern.greatest(0));
    if (!least || !most || stream.pulse <= 0) {
      return fail(Code::kShape, "the length of an input, ", *length,
                  ", and the frames of its pulses differ without bound");
    }
    lag = std::max(lag, -floored_quotient(*least, stream.pulse));
    stream.early = *most;
  }
  for (PlanIo& io : plan->inputs) {
    PlanStream& stream = io.stream;
    if (stream.axis < 0) continue;
    const int64_t more = stream.early + stream.pulse * lag;
    stream.early = std::max<int64_t>(0, -floored_quotient(-more, unit));
  }
  return {};
}

/// Set the streaming axis of an input or output, before its length is known.
Status set_axis(int axis, PlanIo* io) {
  if (axis < 0) return {};
  if (axis >= static_cast<int>(io->shape.size())) {
    return fail(Code::kShape, "\"", io->name, "\" is declared to stream along axis ", axis,
                ", but has rank ", io->shape.size())
        .hint("Pulse the model again: its file describes other inputs and outputs than it has");
  }
  io->stream.axis = axis;
  io->stream.pulse = io->shape[static_cast<size_t>(axis)];
  io->stream.length = Extent();
  return {};
}

}  // namespace

Status describe_streams(const Streaming& streaming, Plan* plan) {
  plan->stream_symbol = streaming.symbol();
  plan->stream_pulse = streaming.pulse;
  plan->late_end = streaming.late_end;
  plan->longest = streaming.longest.value_or(INT64_MAX);
  for (const Dim& dim : streaming.asserted) {
    RILL_ASSIGN(Extent asserted, extent_of(dim));
    plan->asserted.push_back(std::move(asserted));
    plan->asserted_texts.push_back(dim.to_string());
  }
  for (const StreamingWire& wire : streaming.wires) {
    plan->wires.push_back(wire.name);
    plan->wire_delays.push_back(wire.delay);
  }
  plan->begin_unit = streaming.begin_unit;
  plan->settled = streaming.settled;
  bool has_lengths = false;
  for (size_t i = 0; i < plan->inputs.size(); ++i) {
    PlanIo& io = plan->inputs[i];
    RILL_TRY(set_axis(streaming.input_axis(i), &io));
    // If the file does not state the pulse, it is the extent of the first streaming input along its
    // axis.
    if (plan->stream_pulse == 0) plan->stream_pulse = io.stream.pulse;
    const std::optional<Dim> length = streaming.input_length(i);
    if (!length || io.stream.axis < 0) continue;
    RILL_ASSIGN(io.stream.length, extent_of(*length));
    io.stream.length_text = length->to_string();
    has_lengths = true;
  }
  if (has_lengths) RILL_TRY(let_inputs_run_ahead(streaming, plan));
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    PlanStream& stream = plan->outputs[i].stream;
    const StreamingOutput described = streaming.output(i);
    RILL_TRY(set_axis(described.axis, &plan->outputs[i]));
    stream.delay = described.delay;
    if (!described.length) continue;
    RILL_ASSIGN(stream.length, extent_of(*described.length));
    stream.length_text = described.length->to_string();
    if (stream.axis < 0) continue;
    stream.most = bound_of(*described.length).value_or(INT64_MAX);
    RILL_TRY(hold_early_frames(*described.length, plan, &stream));
  }
  return {};
}

}  // namespace rill
