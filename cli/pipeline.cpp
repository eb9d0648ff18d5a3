#include "cli/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <random>

#include "cli/args.h"
#include "cli/edits.h"
#include "cli/input_shapes.h"
#include "cli/inputs.h"
#include "cli/load_model.h"
#include "cli/pulses.h"
#include "cli/specs.h"
#include "cli/steps.h"
#include "cli/settings.h"
#include "cli/symbols.h"
#include "core/optim/optim.h"
#include "ops/op_table.h"

namespace rill::cli {
namespace {

void warn_to(void* user, std::string_view message) { static_cast<const Log*>(user)->warn(message); }

/// The stages of one command line, and where they stop.
class Pipeline {
 public:
  Pipeline(const CommonOptions& common, const Log& log, Model* model)
      : common_(common), log_(log), model_(model) {}

  Status run();

 private:
  Status load();
  Result<Graph> load_with(std::span<const std::pair<std::string, std::vector<Dim>>> shapes,
                          Graph* read_so_far);
  Status load_with_facts();
  Status load_closed(const Graph& read_so_far, Result<Graph>* graph);
  Status declutter_stage(std::string_view name, int64_t rounds = -1);
  Result<std::pair<std::string, Dim>> pulse_spec();
  Status feedback_stage();
  Status pulse_stage();
  Status pulse();
  Status bind_other_symbols(const std::string& stream_symbol, bool* any);
  Status transforms(bool before_pulse);
  Status settings();
  Status apply_settings(bool tied);
  Status cycle();
  Status inner_graph();

  /// Record that a stage is done; return true if it is the last requested one.
  bool done(std::string_view stage);
  Status check_pass() const;

  const CommonOptions& common_;
  const Log& log_;
  Model* model_;
  size_t transformed_ = 0;  ///< how many transforms are applied
  bool facts_closed_all_ = false;  ///< extents of inputs that the model leaves open
  bool stopped_ = false;
};

bool Pipeline::done(std::string_view stage) {
  log_.info(str_cat("Ran \"", stage, "\""));
  if (common_.demands.keeps_stages) model_->stages.emplace_back(stage, model_->graph);
  stopped_ |= common_.model.pass == stage;
  return stopped_;
}

/// Add the stage to an error.
Status in_stage(std::string_view stage, Status status) {
  if (!status.ok()) {
    status.error().message = str_cat("Error at stage \"", stage, "\": ", status.error().message);
  }
  return status;
}

Status Pipeline::check_pass() const {
  const std::string& pass = common_.model.pass;
  if (pass != "analyse" && pass != "incorporate" && pass != "type") return {};
  return fail(Code::kArg, "Stage ", pass,
              " is skipped, it can not be used as stop: NNEF models "
              "have their types from the start");
}

Result<Graph> Pipeline::load_with(std::span<const std::pair<std::string, std::vector<Dim>>> shapes,
                                  Graph* read_so_far) {
  nnef::LoadOptions options = load_options(common_, log_);
  options.input_shapes = shapes;
  options.read_so_far = read_so_far;
  return load_model(common_, options);
}

namespace {

/// Let options set symbols of a graph that are already bound.
void declare_symbols(const Graph& of, Graph* graph) {
  for (const std::string& symbol : of.scope.symbols()) graph->scope.declare(symbol);
}

bool has_open_inputs(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const OutletId& input) {
    return !graph.fact(input).concrete_shape().ok();
  });
}

}  // namespace

/// Load a model with the extents that --set or the values of `run` bind, if it cannot be read
/// without them. If that does not help, keep the first failure.
Status Pipeline::load_closed(const Graph& read_so_far, Result<Graph>* graph) {
  const bool runs_whole = common_.demands.closed_by_values && !common_.streaming.by_symbol();
  InputShapes shapes;
  if (!common_.model.set.empty()) {
    RILL_ASSIGN(shapes, set_input_shapes(common_, read_so_far));
  } else if (runs_whole && !common_.values.input_bundles.empty()) {
    shapes = input_shapes_of_values(common_, log_, read_so_far);
  }
  if (shapes.empty()) return {};
  auto closed = load_with(shapes, nullptr);
  if (!closed.ok() && common_.model.set.empty()) return {};
  *graph = std::move(closed);
  if (graph->ok()) declare_symbols(read_so_far, &**graph);
  return {};
}

/// Load with the requested shapes. Some graphs cannot be read without them. Shapes may be given by
/// position, so determine the names of the inputs first.
Status Pipeline::load_with_facts() {
  Graph read_so_far;
  auto graph = load_with({}, &read_so_far);
  if (!graph.ok()) RILL_TRY(load_closed(read_so_far, &graph));
  const bool facts = !common_.model.input_facts.empty() || !common_.model.fact_bundles.empty() ||
                     !common_.model.override_facts.empty();
  if (facts && (graph.ok() || !read_so_far.inputs.empty())) {
    const Graph& open = graph.ok() ? *graph : read_so_far;
    RILL_ASSIGN(const auto shapes, asked_input_shapes(common_, log_, open));
    auto with_facts = load_with(shapes, nullptr);
    facts_closed_all_ = with_facts.ok() && has_open_inputs(open) && !has_open_inputs(*with_facts);
    graph = std::move(with_facts);
  }
  RILL_ASSIGN(model_->graph, std::move(graph));
  return {};
}

Status Pipeline::load() {
  if (common_.file.empty()) {
    return fail(Code::kArg, "Model argument required for subcommand ", common_.demands.command)
        .hint("Name an archive, .onnx or .rill file, a folder or graph.nnef before the subcommand");
  }
  std::error_code error;
  if (!std::filesystem::exists(common_.file, error)) {
    return fail(Code::kIo, "File not found ", common_.file);
  }
  RILL_TRY(refuse_other_formats(common_.file));
  RILL_TRY(load_with_facts());
  log_.info(str_cat("Model ", common_.file, " loaded"));
  for (const std::string& name : common_.model.scenarios) model_->graph.scope.add_scenario(name);
  // ONNX files are read with these.
  if (is_onnx_model(common_.file)) return edit_interface(common_, log_, &model_->graph);
  for (const std::string& text : common_.model.asserts) {
    RILL_TRY(model_->graph.scope.assert_text(text));
  }
  return edit_interface(common_, log_, &model_->graph);
}

Status Pipeline::declutter_stage(std::string_view name, int64_t rounds) {
  auto graph = declutter(model_->graph, rounds);
  if (!graph.ok()) return in_stage(name, graph.take_status());
  model_->graph = std::move(graph).value();
  done(name);
  return {};
}

/// Return the requested pulse, or the best one.
Result<std::pair<std::string, Dim>> Pipeline::pulse_spec() {
  RILL_ASSIGN(const auto bounds, parse_auto_pulse(common_.streaming.pulse));
  if (!bounds) return parse_pulse_spec(common_.streaming.pulse);
  pulse::Options options;
  options.symbol = bounds->symbol;
  options.backward_chunks = common_.streaming.pulse_backward == "chunk";
  RILL_ASSIGN(model_->choices, pulse::choices(model_->graph, options, bounds->bounds));
  return std::pair(bounds->symbol, Dim(pulse::best(model_->choices).pulse));
}

Status Pipeline::pulse() {
  if (!common_.streaming.window.empty()) {
    RILL_ASSIGN(const auto window, parse_window_spec(common_.streaming.window));
    return apply_window(window.first, window.second, model_);
  }
  RILL_ASSIGN(const auto spec, pulse_spec());
  return apply_pulse(spec.first, spec.second, common_, log_, model_);
}

/// Bind all symbols, except the stream's, whose values the command line or its inputs give.
Status Pipeline::bind_other_symbols(const std::string& stream_symbol, bool* any) {
  Bindings values;
  for (const std::string& text : common_.model.set) {
    RILL_ASSIGN(const auto setting, parse_setting(text));
    if (const auto value = setting.second.eval(values)) values.emplace_back(setting.first, *value);
  }
  // The command refuses missing inputs.
  const auto source = InputSource::make(common_, log_);
  if (source.ok() && source->has_values()) {
    const auto inputs = source->resolve(model_->graph, 0);
    if (inputs.ok()) {
      values.insert(values.end(), inputs->bindings.begin(), inputs->bindings.end());
    }
  }
  for (const auto& [symbol, value] : values) {
    const std::vector<std::string> open = symbols_of(model_->graph);
    if (symbol == stream_symbol || std::find(open.begin(), open.end(), symbol) == open.end()) {
      continue;
    }
    RILL_ASSIGN(model_->graph, model_->graph.with_symbol(symbol, Dim(value)));
    model_->graph.scope.declare(symbol);  // for the options that set it later
    *any = true;
  }
  return {};
}

/// Apply feedback, contexts and the frames per step.
Status Pipeline::feedback_stage() {
  if (stopped_ || (!common_.streaming.steps_are_runs() && common_.demands.step_frames == 0))
    return {};
  Status status = tie_steps(common_, &model_->graph);
  if (!status.ok()) return in_stage("feedback", std::move(status));
  if (done("feedback")) return {};
  return declutter_stage("feedback-declutter");
}

Status Pipeline::pulse_stage() {
  if (!common_.streaming.by_symbol() || stopped_) return {};
  if (facts_closed_all_) {
    return in_stage("pulse",
                    fail(Code::kPulse,
                         "Can not pulse a tensor with no streaming dim: the shapes "
                         "that are given leave no extent of an input open")
                        .hint("Leave out --input-facts-from-bundle, or name the extent that "
                              "streams by its symbol; --input-from-bundle gives values"));
  }
  // Inputs whose lengths mention the symbol stream with it.
  RILL_TRY(apply_settings(true));
  Status status = pulse();
  if (!status.ok() && status.code() == Code::kPulse) {
    const auto bounds = parse_auto_pulse(common_.streaming.pulse);
    const auto spec = parse_pulse_spec(common_.streaming.pulse);
    const auto window = parse_window_spec(common_.streaming.window);
    bool any = false;
    if (window.ok()) {
      RILL_TRY(bind_other_symbols(window->first, &any));
    } else if (bounds.ok() && *bounds) {
      RILL_TRY(bind_other_symbols((*bounds)->symbol, &any));
    } else if (spec.ok()) {
      RILL_TRY(bind_other_symbols(spec->first, &any));
    }
    if (any) status = pulse();
  }
  if (!status.ok()) return in_stage("pulse", std::move(status));
  if (done("pulse") || done("pulse-to-type")) return {};
  return declutter_stage("pulse-declutter");
}

/// Apply the transforms that come before the pulse, or the others.
Status Pipeline::transforms(bool before_pulse) {
  const std::vector<std::string>& all = common_.model.transforms;
  for (; transformed_ < all.size(); ++transformed_) {
    if (stopped_) return {};
    const std::string& text = all[transformed_];
    RILL_ASSIGN(const TransformSpec spec, parse_transform(text));
    if (before_pulse && !comes_before_pulse(spec)) return {};
    Status status = apply_transform(spec, common_, log_, model_);
    if (!status.ok()) return in_stage(spec.name, std::move(status));
    if (done(text)) return {};
    RILL_TRY(declutter_stage(str_cat(spec.name, "-declutter")));
  }
  return {};
}

/// Bind symbols to expressions, if `tied`, or else to numbers; without a pulse there is no
/// difference.
Status Pipeline::apply_settings(bool tied) {
  RILL_ASSIGN(const auto all, parse_settings(common_.model.set));
  for (const auto& setting : all) {
    if (common_.streaming.by_symbol() && tied == setting.second.is_const()) continue;
    Status status = apply_setting(setting.first, setting.second, log_, model_);
    if (!status.ok()) return in_stage("set", std::move(status));
  }
  return {};
}

Status Pipeline::settings() {
  if (common_.model.set.empty() || stopped_) return {};
  RILL_TRY(apply_settings(false));
  settle_steps(&model_->graph);
  if (done("set")) return {};
  return declutter_stage("set-declutter", common_.model.declutter_set_rounds);
}

/// A private folder, removed at the end. It has no path if none can be made.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    namespace fs = std::filesystem;
    constexpr int kTries = 16;
    std::error_code error;
    const fs::path root = fs::temp_directory_path(error);
    std::random_device random;
    for (int i = 0; i < kTries && !error && path_.empty(); ++i) {
      const fs::path path = root / str_cat("rill-", static_cast<int64_t>(random()));
      if (!fs::create_directory(path, error)) continue;
      fs::permissions(path, fs::perms::owner_all, error);
      path_ = path.string();
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Status Pipeline::cycle() {
  if (!common_.model.nnef_cycle || stopped_) return {};
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return fail(Code::kIo, "--nnef-cycle: no temporary folder can be made")
        .hint("Set TMPDIR to a folder that can be written");
  }
  const std::string file = folder.path() + "/cycle.nnef.tar";
  Status saved = nnef::save(model_->graph, file, nnef::Container::kTar, save_options(common_));
  if (!saved.ok()) return in_stage("nnef-cycle", std::move(saved));
  auto again = nnef::load(file, ops::op_table(), load_options(common_, log_));
  if (!again.ok()) return in_stage("nnef-cycle", again.take_status());
  model_->graph = std::move(again).value();
  if (done("nnef-cycle")) return {};
  return declutter_stage("nnef-cycle-declutter");
}

Status Pipeline::inner_graph() {
  if (common_.model.inner_graph.empty() || stopped_) return {};
  for (const Node& node : model_->graph.nodes) {
    if (node.name != common_.model.inner_graph) continue;
    const Graph* body = node.op->nested();
    if (body == nullptr) {
      return fail(Code::kArg, "--extract-decluttered-sub ", common_.model.inner_graph, ": a ",
                  node.op->name(), " has no graph inside");
    }
    model_->graph = Graph(*body);
    model_->whole.reset();
    return {};
  }
  return fail(Code::kArg, "Node ", common_.model.inner_graph, " not found");
}

Status Pipeline::run() {
  RILL_TRY(check_pass());
  std::vector<std::string> set = common_.model.set;
  set.insert(set.end(), common_.values.run_set.begin(), common_.values.run_set.end());
  RILL_TRY(parse_settings(set));
  RILL_TRY(load());
  if (done("load")) return {};
  RILL_TRY(declutter_stage("declutter", common_.model.declutter_rounds));
  RILL_TRY(feedback_stage());
  if (common_.streaming.by_symbol()) RILL_TRY(transforms(true));
  RILL_TRY(pulse_stage());
  RILL_TRY(transforms(false));
  RILL_TRY(settings());
  RILL_TRY(cycle());
  RILL_TRY(inner_graph());
  if (!stopped_) done("before-optimize");
  if (!stopped_ && !common_.model.pass.empty() && common_.model.pass != "optimize") {
    log_.warn(
        str_cat("--pass ", common_.model.pass, " was not reached: this stage was not asked for"));
  }
  log_.info("Model ready");
  return {};
}

}  // namespace

nnef::LoadOptions load_options(const CommonOptions& common, const Log& log) {
  nnef::LoadOptions options;
  options.keep_submodels = common.demands.as_in_file;
  options.map_files = !common.limits.read_file;
  options.limits = common.limits.load;
  options.tract_core = !common.model.no_tract_core;
  options.tract_names = log.tract();
  options.warn = warn_to;
  options.warn_user = const_cast<Log*>(&log);
  options.left_out = ops::ops_left_out();
  return options;
}

nnef::SaveOptions save_options(const CommonOptions& common) {
  nnef::SaveOptions options;
  options.extended_identifiers = common.model.extended_identifiers;
  options.extern_all_constants = common.model.extern_all_constants;
  options.tract_core = !common.model.no_tract_core;
  options.read_back = ops::op_table();
  options.keep_submodels = common.demands.as_in_file;
  if (common.flavor == Flavor::kTract) {
    // Scripts replace tract's version before comparing texts.
    options.declare_tract_core = true;
    options.writer = tract_version();
  }
  return options;
}

const Graph* Model::stage(std::string_view name) const {
  for (const auto& [stage, graph_there] : stages) {
    if (stage == name) return &graph_there;
  }
  return nullptr;
}

Status apply_pulse(const std::string& symbol, const Dim& pulse, const CommonOptions& common,
                   const Log& log, Model* model) {
  pulse::Options options;
  options.symbol = symbol;
  options.pulse = pulse;
  options.backward_chunks = log.tract() || common.streaming.pulse_backward == "chunk";
  pulse::Report report;
  RILL_ASSIGN(Graph pulsed, pulse::pulsify(model->graph, options, &report));
  if (!report.approximations.empty()) {
    log.notice(
        str_cat("the streamed model is not the whole one: ", join(report.approximations, "; ")));
  }
  model->whole = std::move(model->graph);
  model->streamed = pulsed;
  model->graph = std::move(pulsed);
  model->report = std::move(report);
  model->stream_symbol = symbol;
  return {};
}

namespace {

/// Describe inputs, outputs and their delays as `pulsify` does.
pulse::Report report_of_windows(const Graph& slid, const pulse::Window& window) {
  pulse::Report out;
  std::vector<int> sources;
  for (size_t i = 0; i < slid.inputs.size(); ++i) {
    const Node& node = slid.node(slid.inputs[i].node);
    const int axis = slid.streaming->input_axis(i);
    out.inputs.push_back({node.name, axis, 0, 0, Dim(), -1});
    if (axis < 0) continue;
    const int64_t frames = node.outputs[0].dim(axis).to_int().value_or(0);
    out.inputs.back().pulse = frames;
    sources.push_back(static_cast<int>(out.wires.size()));
    const auto kept = counted(frames / window.step * (window.left + window.right), "earlier frame");
    out.wires.push_back({node.name,
                         std::string(node.op->name()),
                         0,
                         node.line,
                         axis,
                         frames,
                         0,
                         {},
                         {str_cat("keeps ", kept)}});
  }
  for (size_t i = 0; i < slid.outputs.size(); ++i) {
    const Node& node = slid.node(slid.outputs[i].node);
    const StreamingOutput stream = slid.streaming->output(i);
    out.outputs.push_back(
        {slid.output_names[i], stream.axis, 0, stream.delay, stream.length.value_or(Dim()), -1});
    if (stream.axis < 0) continue;
    out.outputs.back().pulse = node.outputs[0].dim(stream.axis).to_int().value_or(0);
    out.outputs.back().wire = static_cast<int>(out.wires.size());
    out.wires.push_back({slid.output_names[i],
                         std::string(node.op->name()),
                         0,
                         node.line,
                         stream.axis,
                         out.outputs.back().pulse,
                         stream.delay,
                         sources,
                         {str_cat("waits ", counted(stream.delay, "frame"))}});
  }
  return out;
}

}  // namespace

Status apply_window(const std::string& symbol, const pulse::Window& window, Model* model) {
  RILL_ASSIGN(Graph slid, pulse::slide(model->graph, symbol, window));
  model->report = report_of_windows(slid, window);
  model->whole = std::move(model->graph);
  model->streamed = slid;
  model->graph = std::move(slid);
  model->stream_symbol = symbol;
  return {};
}

Status apply_setting(const std::string& symbol, const Dim& value, const Log& log, Model* model) {
  const std::vector<std::string> known = known_symbols(model->graph);
  if (std::find(known.begin(), known.end(), symbol) == known.end()) {
    return unknown_name(log, no_such_symbol(symbol, known));
  }
  RILL_ASSIGN(model->graph, model->graph.with_symbol(symbol, value));
  if (model->whole && symbol != model->stream_symbol) {
    RILL_ASSIGN(model->whole, model->whole->with_symbol(symbol, value));
  }
  return {};
}

Result<Model> make_model(const CommonOptions& common, const Log& log) {
  Model model;
  RILL_TRY(Pipeline(common, log, &model).run());
  return model;
}

}  // namespace rill::cli
