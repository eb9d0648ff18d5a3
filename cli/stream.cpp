#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/plan_files.h"
#include "cli/reference.h"
#include "cli/say_impl.h"
#include "cli/stream_states.h"

namespace rill::cli {
namespace {

/// For a model that was pulsed here, the whole graph defines the symbols. A part of a stream may
/// have fewer frames than the whole graph requires.
Result<InputValues> stream_inputs(const Model& model, const InputSource& source, bool in_parts) {
  return source.resolve(model.whole && !in_parts ? *model.whole : model.graph, 0);
}

/// Return the number of frames after the last whole step: a model that runs step by step gives no
/// output for them.
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

/// Options of `stream`.
struct StreamCommandOptions {
  CheckOptions checks;
  ReportOptions report;
  StreamStates states;
  int64_t step_frames = 0;  ///< 0: as the model says
  std::string filler = "zeros";
};

class StreamCommand final : public ModelCommand {
 public:
  StreamCommand()
      : ModelCommand({"stream", kOnStream, "run a whole stream, pulse by pulse",
                      "rill model.nnef.tgz --pulse S=8 stream --input-from-bundle io.npz", false}) {
  }

  void add_options(std::vector<Option>* out) override {
    add(&options_.checks, out);
    append_options(
        out, "Stream",
        {
            {"--steps", kOnStream, &options_.step_frames, "number of input frames per step"},
            {"--load-state", kOnStream | kOfPlanFiles, &options_.states.load,
             "continue from the state in this file"},
            {"--save-state", kOnStream | kOfPlanFiles, &options_.states.save,
             "write the state to this file instead of ending the stream"},
            {"--filler", kOnStream | kOfPlanFiles, &options_.filler,
             "values after the end of the stream: zeros or nan"},
        });
    add(&options_.report, out);
  }
  std::optional<std::string> wrong_value(const CommonOptions&) const override {
    if (options_.filler != "zeros" && options_.filler != "nan") {
      return invalid_value(options_.filler, "--filler", "zeros, nan");
    }
    return cli::wrong_value(options_.checks);
  }

 protected:
  Demands demands(const CommonOptions&) const override {
    Demands out;
    out.values_decide = true;
    out.step_frames = options_.step_frames;
    return out;
  }
  bool limits_plans() const override { return true; }
  bool takes_plan_files() const override { return true; }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    if (!model.pulsed()) {
      return fail(Code::kPulse, common.file, " is not pulsed, so it does not stream")
          .hint(
              "Add --pulse S=8, with the symbol of the axis that streams and the frames per step");
    }
    RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
    RILL_ASSIGN(const Reference reference, Reference::read(common, options_.checks));
    const StreamStates& states = options_.states;
    const bool in_parts = !states.load.empty() || !states.save.empty();
    RILL_ASSIGN(InputValues inputs, stream_inputs(model, source, in_parts));
    RILL_ASSIGN(const Ready ready, make_ready(model.graph, inputs.bindings,
                                              {true, common.program.threads, common.limits.plan}));
    if (common.values.drop_partial_pulse)
      RILL_TRY(drop_partial_pulses(*ready.plan, &inputs.values));
    const int64_t frames = stream_frames(*ready.plan, inputs.values);
    StreamOptions options;
    options.open_end = common.values.drop_partial_pulse;
    options.nan_filler = options_.filler == "nan";
    if (Log::terminal() && !options_.report.quiet) show_progress(&options);
    RILL_ASSIGN(
        const StreamResult result,
        in_parts ? stream_on(states, common.values.seed, ready.session.get(), inputs.values, frames)
                 : run_stream(ready.session.get(), inputs.values, frames, options));
    const int64_t left_over = frames_left_over(model.graph, result.frames);
    if (left_over > 0) {
      log.warn(escaped_format(
          "The last {} do not fill a step of {}, so they give no output: append zeros",
          str_cat(counted(left_over, "frame")), model.graph.streaming->pulse));
    }
    if (!common.values.save_outputs.empty()) {
      const std::vector<std::vector<Tensor>> turns{result.outputs};
      RILL_TRY(
          write_turns(common.values.save_outputs, model.graph.output_names, turns, log.tract()));
    }
    if (!options_.report.quiet) print_report(*ready.plan, result);
    return check_stream(reference, model.graph, *ready.plan, result, options.open_end, log);
  }
  Status run_plan_file(const CommonOptions& common, const Log& log) const override {
    RILL_ASSIGN(const plan_file::OpenedPlan opened, open_plan_file(common));
    if (opened.plan->stream_pulse == 0) {
      return fail(Code::kPulse, common.file, " does not stream")
          .hint("Compile the model with --pulse, or use run");
    }
    return run_plan(common, options_.checks,
                    {.states = options_.states, .nan_filler = options_.filler == "nan"}, log,
                    opened);
  }

 private:
  StreamCommandOptions options_;
};

}  // namespace

std::unique_ptr<Command> stream_command() { return std::make_unique<StreamCommand>(); }

}  // namespace rill::cli
