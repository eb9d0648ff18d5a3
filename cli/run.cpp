#include "cli/run.h"

#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/lanes.h"
#include "cli/op_counts.h"
#include "cli/plan_files.h"
#include "cli/reference.h"
#include "cli/say_impl.h"
#include "cli/watch.h"

namespace rill::cli {
namespace {

/// `run`: run every turn of a whole graph, or a stream through a pulsed one.
class Runner {
 public:
  Runner(const CommonOptions& common, const RunOptions& options, const Log& log, const Model& model)
      : common_(common), options_(options), log_(log), graph_(model.graph), model_(model) {}

  Status run();

 private:
  Status whole();
  Status one_turn(size_t turn);
  Status streamed();
  Status side_by_side();
  Status check_stream_zero() const;
  Status prepare_for(const Bindings& bindings);
  bool watches() const;
  Status watch(const InputValues& inputs);
  Status watch_stream();
  Status look(const Graph& graph, std::span<const WatchedValue> values);
  Status save() const;
  void print_outputs() const;
  bool shows_nothing_else() const;

  const CommonOptions& common_;
  const RunOptions& options_;
  const Log& log_;
  const Graph& graph_;
  const Model& model_;
  InputSource inputs_;
  Reference reference_;
  Ready ready_;
  Bindings ready_for_;
  std::vector<std::vector<Tensor>> turns_;
  std::vector<std::string> step_names_;
  std::vector<std::vector<Tensor>> step_turns_;
};

Status Runner::prepare_for(const Bindings& bindings) {
  if (ready_.session && bindings == ready_for_) return {};
  RILL_ASSIGN(ready_, make_ready(graph_, bindings, plan_options(common_)));
  ready_for_ = bindings;
  return {};
}

bool Runner::watches() const {
  return options_.steps || !options_.save_steps.empty() || options_.checks.check_f16_overflow ||
         options_.checks.assert_sane_floats;
}

Status Runner::look(const Graph& graph, std::span<const WatchedValue> values) {
  if (options_.steps) print_steps(graph, values);
  if (options_.checks.check_f16_overflow) {
    for (const std::string& text : half_overflows(graph, values)) log_.notice(text);
  }
  if (options_.checks.assert_sane_floats) RILL_TRY(check_sane(graph, values));
  if (options_.save_steps.empty()) return {};
  step_names_.clear();
  step_turns_.emplace_back();
  for (const WatchedValue& value : values) {
    step_names_.push_back(value.name);
    step_turns_.back().push_back(value.value);
  }
  return {};
}

Status Runner::watch(const InputValues& inputs) {
  if (!watches()) return {};
  RILL_ASSIGN(const Graph bound, bind_symbols(graph_, inputs.bindings));
  RILL_ASSIGN(const Graph graph, final_graph(common_, bound));
  RILL_ASSIGN(const std::vector<WatchedValue> values, watch_all(graph, inputs.values));
  return look(graph, values);
}

Status Runner::one_turn(size_t turn) {
  RILL_ASSIGN(const InputValues inputs, inputs_.resolve(graph_, turn));
  log_.info(str_cat("Turn ", turn, ": ", bindings_text(inputs.bindings)));
  if (!ready_.session || inputs.bindings != ready_for_) {
    RILL_ASSIGN(Graph bound, bind_symbols(graph_, inputs.bindings));
    RILL_ASSIGN(const auto shaped, shaped_by_values(bound, inputs.values));
    if (shaped) {
      RILL_ASSIGN(ready_, make_ready(shaped->graph, {}, plan_options(common_)));
      RILL_ASSIGN(std::vector<Tensor> out, run_once(ready_.session.get(), shaped->inputs));
      ready_ = {};
      ready_.graph = std::move(bound);
      turns_.push_back(std::move(out));
      return {};
    }
  }
  RILL_TRY(prepare_for(inputs.bindings));
  RILL_TRY(watch(inputs));
  RILL_ASSIGN(std::vector<Tensor> outputs, run_once(ready_.session.get(), inputs.values));
  turns_.push_back(std::move(outputs));
  return {};
}

Status Runner::whole() {
  constexpr std::string_view kConcat = "_concat";
  const size_t turns = inputs_.turns(graph_);
  Status failure;
  for (size_t turn = 0; turn < turns; ++turn) {
    RILL_TRY(one_turn(turn));
    if (reference_.any()) {
      Status status = reference_.check(ready_.graph, turns_.back(), turn, log_);
      if (failure.ok()) failure = std::move(status);
    }
    for (size_t i = 0; turns > 1 && i < graph_.output_names.size(); ++i) {
      const std::string& label = graph_.output_names[i];
      if (!label.ends_with(kConcat)) continue;
      inputs_.feed_back(label.substr(0, label.size() - kConcat.size()), turns_.back()[i]);
    }
  }
  // Save outputs even after a failed comparison.
  RILL_TRY(save());
  print_outputs();
  return failure;
}

Status Runner::streamed() {
  if (watches()) RILL_TRY(watch_stream());
  RILL_ASSIGN(InputValues inputs, inputs_.resolve(graph_, 0));
  RILL_TRY(prepare_for(inputs.bindings));
  if (common_.values.drop_partial_pulse) {
    RILL_TRY(drop_partial_pulses(*ready_.plan, &inputs.values));
  }
  const int64_t frames = stream_frames(*ready_.plan, inputs.values);
  StreamOptions options;
  options.open_end = common_.values.drop_partial_pulse;
  options.keep_turns = options_.dump_outputs || !common_.values.save_outputs.empty() ||
                       !options_.save_outputs_nnef.empty() ||
                       !options_.checks.assert_output_facts.empty();
  RILL_ASSIGN(StreamResult result,
              run_stream(ready_.session.get(), inputs.values, frames, options));
  turns_ = std::move(result.turns);
  RILL_TRY(save());
  print_outputs();
  return check_stream(reference_, graph_, *ready_.plan, result, options.open_end, log_);
}

/// Watch the wires of a pulsed graph, pulse by pulse; values during the delay are undefined.
Status Runner::watch_stream() {
  RILL_ASSIGN(const Turns turns, turns_of(common_, graph_, inputs_));
  RILL_ASSIGN(const Graph graph, final_graph(common_, turns.ready.graph));
  RILL_ASSIGN(Watcher watcher, Watcher::make(graph));
  for (const std::vector<Tensor>& turn : turns.values) {
    RILL_ASSIGN(const std::vector<WatchedValue> values, watcher.turn(turn));
    RILL_TRY(look(graph, values));
  }
  return {};
}

Status Runner::save() const {
  if (!common_.values.save_outputs.empty()) {
    RILL_TRY(write_turns(common_.values.save_outputs, graph_.output_names, turns_, log_.tract()));
  }
  if (!options_.save_outputs_nnef.empty()) {
    RILL_TRY(write_turn_files(options_.save_outputs_nnef, graph_.output_names, turns_));
  }
  if (!options_.save_steps.empty()) {
    RILL_TRY(write_turns(options_.save_steps, step_names_, step_turns_, log_.tract()));
  }
  return {};
}

/// Return whether a run has no other result: no file or comparison was requested.
bool Runner::shows_nothing_else() const {
  const RunOptions& o = options_;
  return !log_.tract() && !o.view.quiet && common_.values.save_outputs.empty() &&
         o.save_outputs_nnef.empty() && o.save_steps.empty() && !watches() && !reference_.any() &&
         !asserts_ops(o.checks) && o.checks.assert_output_count < 0 &&
         o.checks.assert_output_facts.empty();
}

void Runner::print_outputs() const {
  if (!options_.dump_outputs) {
    if (!shows_nothing_else() || model_.pulsed() || turns_.empty()) return;
    for (size_t i = 0; i < turns_.back().size(); ++i) {
      say("{} {}\n", graph_.output_names[i], value_text(turns_.back()[i]));
    }
    return;
  }
  for (size_t turn = 0; turn < turns_.size(); ++turn) {
    for (size_t i = 0; i < turns_[turn].size(); ++i) {
      const Tensor& value = turns_[turn][i];
      say("output #{}, turn #{}\n{}\n\n", i, turn,
          value_text(value, std::max<int64_t>(1, value.volume())));
    }
  }
}

/// Check stream 0 of several that ran together: all its frames, without its delay.
Status Runner::check_stream_zero() const {
  if (!reference_.any()) return {};
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const std::string& label = graph_.output_names[i];
    RILL_ASSIGN(const Bundle::Item* item,
                reference_.find(label, graph_.node(graph_.outputs[i].node).name));
    if (item == nullptr) continue;
    Tensor expected = item->turns[0];
    Tensor got = turns_.back()[i];
    const StreamingOutput stream =
        graph_.streaming ? graph_.streaming->output(i) : StreamingOutput();
    if (stream.axis >= 0) {
      std::vector<Tensor> parts;
      for (const auto& turn : turns_) parts.push_back(turn[i]);
      RILL_ASSIGN(got, joined(parts, stream.axis));
      const int64_t given = got.extent(stream.axis) - stream.delay;
      const int64_t frames = std::max<int64_t>(0, std::min(given, expected.extent(stream.axis)));
      RILL_ASSIGN(got, frames_of(got, stream.axis, stream.delay, frames));
      RILL_ASSIGN(expected, frames_of(expected, stream.axis, 0, frames));
    }
    RILL_TRY(reference_.check_output(i, expected, got).in_node(label, ""));
  }
  return {};
}

Status Runner::side_by_side() {
  if (watches()) {
    return fail(Code::kUnsupported,
                "Streams are served through their own states, which the per-node hooks of "
                "--steps and --save-steps can not reach");
  }
  RILL_ASSIGN(turns_, run_streams(common_, options_, graph_, inputs_));
  RILL_TRY(save());
  print_outputs();
  return check_stream_zero();
}

Status Runner::run() {
  if (asserts_ops(options_.checks)) {
    RILL_ASSIGN(const Graph graph, final_graph(common_, graph_));
    RILL_TRY(check_ops(options_.checks, graph));
  }
  RILL_ASSIGN(inputs_, InputSource::make(common_, log_));
  RILL_ASSIGN(reference_, Reference::read(common_, options_.checks));
  if (options_.load.streams > 1 || common_.streaming.autobatch_sessions > 0) {
    RILL_TRY(side_by_side());
  } else {
    RILL_TRY(model_.pulsed() ? streamed() : whole());
  }
  if (turns_.empty()) return check_output_facts(options_.checks, graph_);
  return check_value_facts(options_.checks, turns_[0], graph_.output_names);
}

class RunCommand final : public ModelCommand {
 public:
  RunCommand()
      : ModelCommand({"run", kOnRun, "run once, or pulse by pulse, and check",
                      "rill model.nnef.tgz run --input-from-bundle io.npz --save-outputs "
                      "out.npz"}) {}

  void add_options(std::vector<Option>* out) override {
    add(&options_.checks, out);
    append_options(
        out, "Run",
        {
            {"--dump", kOnRun | kOfPlanFiles, &options_.dump_outputs, "print outputs"},
            {"--steps", kOnRun, &options_.steps,
             "print inputs and outputs of every node to stderr"},
            {"--save-outputs-nnef", kOnRun, &options_.save_outputs_nnef,
             "write outputs as .dat to a folder"},
            {"--stream-steps", kOnRun, &options_.stream_steps,
             "number of steps of each stream; 0: all of the input"},
            {"--per-turn-diff", kOnRun, &options_.per_turn_diff,
             "print the largest difference of each step"},
            {"--assert-occupancy", kOnRun, &options_.assert_occupancy,
             "fail below this number of streams per step"},
            {"--save-steps", kOnRun, &options_.save_steps, "write every value to an npz"},
        });
    add(&options_.view, out);
    add(&options_.load, out);
  }
  std::optional<std::string> wrong_value(const CommonOptions&) const override {
    if (auto wrong = cli::wrong_value(options_.checks)) return wrong;
    if (auto wrong = cli::wrong_value(options_.load)) return wrong;
    if (options_.stream_steps < 0) return kNegative;
    return std::nullopt;
  }

 protected:
  Demands demands(const CommonOptions&) const override {
    Demands out;
    out.values_decide = true;
    out.closed_by_values = true;
    return out;
  }
  bool limits_plans() const override { return true; }
  bool takes_plan_files() const override { return true; }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    return cli::run_model(common, options_, log, model);
  }
  Status run_plan_file(const CommonOptions& common, const Log& log) const override {
    RILL_ASSIGN(const plan_file::OpenedPlan opened, open_plan_file(common));
    return run_plan(common, options_.checks, {.dump_outputs = options_.dump_outputs}, log, opened);
  }

 private:
  RunOptions options_;
};

}  // namespace

Status run_model(const CommonOptions& common, const RunOptions& options, const Log& log,
                 const Model& model) {
  return Runner(common, options, log, model).run();
}

std::unique_ptr<Command> run_command() { return std::make_unique<RunCommand>(); }

}  // namespace rill::cli
