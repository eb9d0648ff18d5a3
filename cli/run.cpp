#include "cli/check.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/lanes.h"
#include "cli/op_counts.h"
#include "cli/say_impl.h"
#include "cli/watch.h"

namespace rill::cli {
namespace {

/// `run`: run every turn of a whole graph, or a stream through a pulsed one.
class Runner {
 public:
  Runner(const Args& args, const Log& log, const Model& model)
      : args_(args), log_(log), graph_(model.graph), model_(model) {}

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

  const Args& args_;
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
  RILL_ASSIGN(ready_, make_ready(graph_, bindings, optimizes(args_), args_.program.threads));
  ready_for_ = bindings;
  return {};
}

bool Runner::watches() const {
  return args_.run.steps || !args_.run.save_steps.empty() || args_.checks.check_f16_overflow ||
         args_.checks.assert_sane_floats;
}

Status Runner::look(const Graph& graph, std::span<const WatchedValue> values) {
  if (args_.run.steps) print_steps(graph, values);
  if (args_.checks.check_f16_overflow) {
    for (const std::string& text : half_overflows(graph, values)) log_.notice(text);
  }
  if (args_.checks.assert_sane_floats) RILL_TRY(check_sane(graph, values));
  if (args_.run.save_steps.empty()) return {};
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
  RILL_ASSIGN(const Graph graph, final_graph(args_, bound));
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
      RILL_ASSIGN(ready_, make_ready(shaped->graph, {}, optimizes(args_), args_.program.threads));
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
  if (args_.values.drop_partial_pulse) {
    RILL_TRY(drop_partial_pulses(*ready_.plan, &inputs.values));
  }
  const int64_t frames = stream_frames(*ready_.plan, inputs.values);
  StreamOptions options;
  options.open_end = args_.values.drop_partial_pulse;
  options.keep_turns = args_.run.dump_outputs || !args_.values.save_outputs.empty() ||
                       !args_.run.save_outputs_nnef.empty() ||
                       !args_.checks.assert_output_facts.empty();
  RILL_ASSIGN(StreamResult result,
              run_stream(ready_.session.get(), inputs.values, frames, options));
  turns_ = std::move(result.turns);
  RILL_TRY(save());
  print_outputs();
  return check_stream(reference_, graph_, *ready_.plan, result, options.open_end, log_);
}

/// Watch the wires of a pulsed graph, pulse by pulse; values during the delay are undefined.
Status Runner::watch_stream() {
  RILL_ASSIGN(const Turns turns, turns_of(args_, graph_, inputs_));
  RILL_ASSIGN(const Graph graph, final_graph(args_, turns.ready.graph));
  RILL_ASSIGN(Watcher watcher, Watcher::make(graph));
  for (const std::vector<Tensor>& turn : turns.values) {
    RILL_ASSIGN(const std::vector<WatchedValue> values, watcher.turn(turn));
    RILL_TRY(look(graph, values));
  }
  return {};
}

Status Runner::save() const {
  if (!args_.values.save_outputs.empty()) {
    RILL_TRY(write_turns(args_.values.save_outputs, graph_.output_names, turns_, log_.tract()));
  }
  if (!args_.run.save_outputs_nnef.empty()) {
    RILL_TRY(write_turn_files(args_.run.save_outputs_nnef, graph_.output_names, turns_));
  }
  if (!args_.run.save_steps.empty()) {
    RILL_TRY(write_turns(args_.run.save_steps, step_names_, step_turns_, log_.tract()));
  }
  return {};
}

/// Return whether a run has no other result: no file or comparison was requested.
bool Runner::shows_nothing_else() const {
  const Args& a = args_;
  return !log_.tract() && !a.view.quiet && a.values.save_outputs.empty() &&
         a.run.save_outputs_nnef.empty() && a.run.save_steps.empty() && !watches() &&
         !reference_.any() && !asserts_ops(a) && a.checks.assert_output_count < 0 &&
         a.checks.assert_output_facts.empty();
}

void Runner::print_outputs() const {
  if (!args_.run.dump_outputs) {
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
  RILL_ASSIGN(turns_, run_streams(args_, graph_, inputs_));
  RILL_TRY(save());
  print_outputs();
  return check_stream_zero();
}

Status Runner::run() {
  if (asserts_ops(args_)) {
    RILL_ASSIGN(const Graph graph, final_graph(args_, graph_));
    RILL_TRY(check_ops(args_, graph));
  }
  RILL_ASSIGN(inputs_, InputSource::make(args_, log_));
  RILL_ASSIGN(reference_, Reference::read(args_));
  if (args_.load.streams > 1 || args_.streaming.autobatch_sessions > 0) {
    RILL_TRY(side_by_side());
  } else {
    RILL_TRY(model_.pulsed() ? streamed() : whole());
  }
  if (turns_.empty()) return check_output_facts(args_, graph_);
  return check_value_facts(args_, turns_[0], graph_.output_names);
}

}  // namespace

Status run_command(const Args& args, const Log& log, const Model& model) {
  return Runner(args, log, model).run();
}

}  // namespace rill::cli
