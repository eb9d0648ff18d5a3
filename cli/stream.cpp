#include "cli/check.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/say_impl.h"
#include "cli/stream_states.h"

namespace rill::cli {
namespace {

/// For a model that was pulsed here, the whole graph defines the symbols. A part of a stream may
/// have fewer frames than the whole graph requires.
Result<InputValues> stream_inputs(const Model& model, const InputSource& source, bool in_parts) {
  return source.resolve(model.whole && !in_parts ? *model.whole : model.graph, 0);
}

/// Frames after the last whole step, for which a model that runs step by step outputs nothing.
int64_t frames_left_over(const Graph& graph, int64_t frames) {
  const Streaming& streams = *graph.streaming;
  if (!streams.late_end || streams.pulse <= 0) return 0;
  const Dim steps = floor_div(Dim::symbol(streams.symbol()), streams.pulse);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const StreamingOutput output = streams.output(i);
    if (output.axis < 0 || !output.length) continue;
    const Dim each = graph.fact(graph.outputs[i]).dim(output.axis);
    if (*output.length == steps * each) return frames % streams.pulse;
  }
  return 0;
}

void print_report(const Plan& plan, const StreamResult& result) {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const PlanIo& io = plan.outputs[i];
    if (io.stream.axis < 0) {
      say("output {}: static\n", io.name.view());
      continue;
    }
    say("output {}: delay {}, {} per step, {}{}\n", io.name.view(),
        str_cat(counted(io.stream.delay, "frame")), str_cat(counted(io.stream.pulse, "frame")),
        str_cat(counted(result.outputs[i].extent(io.stream.axis), "frame")),
        result.exact_length[i] ? "" : " at most: the archive does not say");
  }
  say("{}={}{}\n", plan.stream_symbol.view(), str_cat(counted(result.frames, "frame")),
      result.steps > 0 ? str_cat(" in ", counted(result.steps, "step")) : "");
}

}  // namespace

Status stream_command(const Args& args, const Log& log, const Model& model) {
  if (!model.pulsed()) {
    return fail(Code::kPulse, args.file, " is not pulsed: there is nothing to stream by")
        .hint("Add --pulse S=8, with the symbol of the axis that streams and the frames per step");
  }
  RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
  RILL_ASSIGN(const Reference reference, Reference::read(args));
  const bool in_parts = !args.stream.load_state.empty() || !args.stream.save_state.empty();
  RILL_ASSIGN(InputValues inputs, stream_inputs(model, source, in_parts));
  RILL_ASSIGN(const Ready ready,
              make_ready(model.graph, inputs.bindings, true, args.program.threads));
  if (args.values.drop_partial_pulse) RILL_TRY(drop_partial_pulses(*ready.plan, &inputs.values));
  const int64_t frames = stream_frames(*ready.plan, inputs.values);
  StreamOptions options;
  options.open_end = args.values.drop_partial_pulse;
  options.nan_filler = args.stream.filler == "nan";
  if (Log::terminal() && !args.view.quiet) show_progress(&options);
  RILL_ASSIGN(const StreamResult result,
              in_parts ? stream_on(args, ready.session.get(), inputs.values, frames)
                       : run_stream(ready.session.get(), inputs.values, frames, options));
  const int64_t left_over = frames_left_over(model.graph, result.frames);
  if (left_over > 0) {
    log.warn(escaped_format("The last {} fill no step of {} and give nothing: append zeros",
                            str_cat(counted(left_over, "frame")), model.graph.streaming->pulse));
  }
  if (!args.values.save_outputs.empty()) {
    const std::vector<std::vector<Tensor>> turns{result.outputs};
    RILL_TRY(write_turns(args.values.save_outputs, model.graph.output_names, turns, log.tract()));
  }
  if (!args.view.quiet) print_report(*ready.plan, result);
  return check_stream(reference, model.graph, *ready.plan, result, options.open_end, log);
}

}  // namespace rill::cli
