#include "cli/small_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "audit/drive.h"
#include "audit/prepared.h"
#include "cli/exec.h"
#include "cli/inputs.h"
#include "cli/symbols.h"
#include "plan_file/weights.h"

namespace rill::cli {
namespace {

/// Return the number of `--max-difference`; nothing if it is not given.
Result<std::optional<double>> limit_of(const WeightOptions& options) {
  if (options.max_difference.empty()) return std::optional<double>();
  char* end = nullptr;
  const double limit = std::strtod(options.max_difference.c_str(), &end);
  if (end == options.max_difference.c_str() || *end != 0 || !(limit >= 0) || std::isinf(limit)) {
    return fail(Code::kArg, "--max-difference ", options.max_difference,
                ": expected a number that is not negative, as in 1e-3");
  }
  return std::optional<double>(limit);
}

/// A run to compare: inputs, and the outputs of the unchanged model.
struct Trial {
  Graph graph;  ///< with its symbols bound
  std::vector<Tensor> inputs;
  int64_t frames = 0;  ///< of a stream
  std::vector<Tensor> expected;
};

class Chooser {
 public:
  Chooser(const CommonOptions& common, const WeightOptions& options, const Log& log,
          const Model& model, const kernels::Target& target)
      : common_(common), options_(options), log_(log), model_(model), target_(target) {
    if (kernels::target_rank(kernels::target_name(target)) < 0) {
      target_ = kernels::running_target();
    }
  }

  Result<SmallWeights> run();

 private:
  Status read_inputs();
  Status add_trials(const InputSource& source);
  Status add_trial(const InputValues& inputs);
  Result<std::shared_ptr<const Plan>> plan(const Graph& graph, WeightChoice* choice) const;
  Result<std::vector<Tensor>> outputs_of(const Trial& trial, WeightChoice* choice) const;
  Result<std::vector<OutputDifference>> differences(const std::set<std::string>& kept);
  Result<double> largest(const std::set<std::string>& kept);
  Status measure_layers();
  Status search(double limit);

  const CommonOptions& common_;
  const WeightOptions& options_;
  const Log& log_;
  const Model& model_;
  kernels::Target target_;
  std::vector<Trial> trials_;
  SmallWeights out_;
};

Result<std::shared_ptr<const Plan>> Chooser::plan(const Graph& graph, WeightChoice* choice) const {
  PrepareOptions options;
  options.weights = choice;
  const kernels::TargetCpu chosen(target_.tier, target_.dot_products);
  auto made = prepare(graph, options);
  if (!made.ok()) return hint_to_bind(made.take_status());
  return made;
}

Result<std::vector<Tensor>> Chooser::outputs_of(const Trial& trial, WeightChoice* choice) const {
  RILL_ASSIGN(const auto plan, this->plan(trial.graph, choice));
  RILL_ASSIGN(const auto session, Session::make(plan));
  RILL_TRY(use_threads(common_.program.threads, session.get()));
  if (!model_.pulsed()) return run_drawn(session.get(), trial.inputs);
  RILL_ASSIGN(StreamResult result, run_stream(session.get(), trial.inputs, trial.frames, {}));
  return std::move(result.outputs);
}

Status Chooser::add_trial(const InputValues& inputs) {
  Trial trial;
  RILL_ASSIGN(trial.graph, bind_symbols(model_.graph, inputs.bindings));
  trial.inputs = inputs.values;
  if (model_.pulsed()) {
    RILL_ASSIGN(const auto plan, this->plan(trial.graph, nullptr));
    trial.frames = stream_frames(*plan, inputs.values);
  }
  RILL_ASSIGN(trial.expected, outputs_of(trial, nullptr));
  trials_.push_back(std::move(trial));
  return {};
}

Status Chooser::add_trials(const InputSource& source) {
  const size_t turns = model_.pulsed() ? 1 : source.turns(model_.graph);
  for (size_t turn = 0; turn < turns; ++turn) {
    RILL_ASSIGN(const InputValues inputs, source.resolve(model_.graph, turn));
    RILL_TRY(add_trial(inputs));
  }
  return {};
}

/// Every bundle is a separate input.
Status Chooser::read_inputs() {
  for (const std::string& bundle : common_.values.input_bundles) {
    CommonOptions own = common_;
    own.values.input_bundles = {bundle};
    RILL_ASSIGN(const InputSource source, InputSource::make(own, log_));
    RILL_TRY(add_trials(source).at(bundle, 0));
  }
  if (!common_.values.input_bundles.empty()) return {};
  RILL_ASSIGN(const InputSource source, InputSource::make(common_, log_));
  return source.has_values() || common_.values.allow_random ? add_trials(source) : Status();
}

Result<std::vector<OutputDifference>> Chooser::differences(const std::set<std::string>& kept) {
  std::vector<OutputDifference> out(model_.graph.output_names.size());
  for (size_t i = 0; i < out.size(); ++i) out[i].name = model_.graph.output_names[i];
  for (const Trial& trial : trials_) {
    WeightChoice choice{out_.choice.format, kept, {}};
    RILL_ASSIGN(const std::vector<Tensor> got, outputs_of(trial, &choice));
    for (size_t i = 0; i < out.size(); ++i) add_difference(trial.expected[i], got[i], &out[i]);
  }
  return out;
}

Result<double> Chooser::largest(const std::set<std::string>& kept) {
  RILL_ASSIGN(const std::vector<OutputDifference> found, differences(kept));
  double most = 0;
  for (const OutputDifference& each : found) most = std::max(most, each.largest);
  return most;
}

/// Measure the effect of each layer on the outputs while all others stay unchanged.
Status Chooser::measure_layers() {
  const std::vector<WeightLayer>& layers = out_.choice.layers;
  out_.alone.assign(layers.size(), 0.0);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].kept.empty()) continue;
    std::set<std::string> others;
    for (size_t k = 0; k < layers.size(); ++k) {
      if (k != i) others.insert(layers[k].node);
    }
    RILL_ASSIGN(out_.alone[i], largest(others));
  }
  return {};
}

/// Keep layers in f32, in order of error per saved byte, until the outputs are close enough; then
/// quantise layers that turn out harmless, the largest first.
Status Chooser::search(double limit) {
  const std::vector<WeightLayer>& layers = out_.choice.layers;
  std::vector<size_t> order;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].kept.empty()) order.push_back(i);
  }
  const auto saved = [&](size_t i) {
    return static_cast<double>(std::max<int64_t>(1, layers[i].f32_bytes - layers[i].bytes));
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return out_.alone[a] / saved(a) > out_.alone[b] / saved(b);
  });
  std::set<std::string> kept = out_.choice.kept;
  std::vector<size_t> added;
  RILL_ASSIGN(double most, largest(kept));
  for (size_t i = 0; i < order.size() && !(most <= limit); ++i) {
    kept.insert(layers[order[i]].node);
    added.push_back(order[i]);
    RILL_ASSIGN(most, largest(kept));
  }
  if (!added.empty()) added.pop_back();
  std::stable_sort(added.begin(), added.end(),
                   [&](size_t a, size_t b) { return saved(a) > saved(b); });
  for (const size_t i : added) {
    std::set<std::string> fewer = kept;
    fewer.erase(layers[i].node);
    RILL_ASSIGN(const double then, largest(fewer));
    if (then <= limit) kept = std::move(fewer);
  }
  const bool none = std::all_of(order.begin(), order.end(),
                                [&](size_t i) { return kept.contains(layers[i].node); });
  if (none) {
    const size_t best = order.back();
    return fail(Code::kUnsupported, "--max-difference ", options_.max_difference,
                ": every layer would have to stay in f32; \"", layers[best].node,
                "\" alone makes a difference of ", out_.alone[best])
        .hint("Allow more, or choose weights of more bits");
  }
  out_.choice.kept = std::move(kept);
  return {};
}

Result<SmallWeights> Chooser::run() {
  const bool by_name = !options_.format.empty();
  const auto format = plan_file::weight_format(by_name ? options_.format : "int8");
  if (!format) {
    return fail(Code::kArg, "--weights ", options_.format, ": expected f32, f16, q8, q4 or int8");
  }
  if (options_.int8 && *format != WeightFormat::kInt8) {
    return fail(Code::kArg, "--int8 and --weights ", options_.format, " name two formats")
        .hint("Keep one of them");
  }
  out_.choice.format = *format;
  RILL_ASSIGN(const std::optional<double> limit, limit_of(options_));
  out_.choice.kept.insert(options_.keep.begin(), options_.keep.end());
  RILL_TRY(plan(model_.graph, &out_.choice));
  const std::string request = by_name ? str_cat("--weights ", options_.format) : "--int8";
  RILL_TRY(plan_file::check_weights(out_.choice, request, "--keep-weights"));
  RILL_TRY(read_inputs());
  if (trials_.empty()) {
    if (!limit) return std::move(out_);
    return fail(Code::kArg, "--max-difference: no inputs to measure differences over")
        .hint("Add --input-from-bundle FILE.npz");
  }
  RILL_TRY(measure_layers());
  if (limit) RILL_TRY(search(*limit));
  RILL_ASSIGN(out_.outputs, differences(out_.choice.kept));
  out_.runs = trials_.size();
  out_.choice.layers.clear();
  RILL_TRY(plan(model_.graph, &out_.choice));
  for (WeightLayer& layer : out_.choice.layers) {
    const bool by_hand =
        std::find(options_.keep.begin(), options_.keep.end(), layer.node) != options_.keep.end();
    if (out_.choice.kept.contains(layer.node) && !by_hand) layer.kept = "for --max-difference";
  }
  return std::move(out_);
}

}  // namespace

void add_difference(const Tensor& expected, const Tensor& got, OutputDifference* to) {
  const auto as_f32 = cast(expected, DType::kF32), other = cast(got, DType::kF32);
  if (!as_f32.ok() || !other.ok() || as_f32->volume() != other->volume()) {
    to->largest = std::numeric_limits<double>::infinity();
    return;
  }
  const auto a = as_f32->values<float>(), b = other->values<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    double difference = same ? 0.0 : std::abs(static_cast<double>(a[i]) - b[i]);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    if (difference > to->largest) {
      to->largest = difference;
      to->at = static_cast<int64_t>(i);
    }
    to->sum += difference;
    if (std::isfinite(a[i])) to->value = std::max(to->value, std::abs(static_cast<double>(a[i])));
  }
  to->count += static_cast<int64_t>(a.size());
}

Result<SmallWeights> choose_weights(const CommonOptions& common, const WeightOptions& options,
                                    const Log& log, const Model& model,
                                    const kernels::Target& target) {
  return Chooser(common, options, log, model, target).run();
}

}  // namespace rill::cli
