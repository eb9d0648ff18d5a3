#include "cli/windows.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "audit/deadline.h"
#include "audit/drive.h"
#include "audit/mismatch.h"
#include "audit/values.h"
#include "cli/exec.h"
#include "cli/inputs.h"
#include "cli/reference.h"
#include "cli/say_impl.h"
#include "cli/small_weights.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Inputs of a stream, with the outputs of the whole run.
struct Trial {
  std::string name;
  InputValues inputs;
  int64_t frames = 0;
  std::vector<Tensor> want;
};

/// The distance of an output from the whole run.
struct Distance {
  OutputDifference difference;
  int64_t frame = -1;  ///< the frame that differs most
  std::string trial;   ///< in which it does
  std::string problem;  ///< with the tolerance that was asked for
};

/// The distances of all outputs, and the time of the stream.
struct Measured {
  std::vector<Distance> outputs;
  double us_per_frame = 0;
};

Result<Trial> trial_of(const CommonOptions& common, const Model& model, std::string name,
                       InputValues inputs) {
  Trial out;
  out.name = std::move(name);
  out.inputs = std::move(inputs);
  for (const auto& [symbol, value] : out.inputs.bindings) {
    if (symbol == model.stream_symbol) out.frames = value;
  }
  RILL_ASSIGN(const Ready ready,
              make_ready(*model.whole, out.inputs.bindings, {true, common.program.threads, {}}));
  RILL_ASSIGN(out.want, run_drawn(ready.session.get(), out.inputs.values));
  return out;
}

/// One trial per bundle.
Result<std::vector<Trial>> trials_of(const CommonOptions& common, const Log& log,
                                     const Model& model) {
  std::vector<Trial> out;
  for (const std::string& bundle : common.values.input_bundles) {
    CommonOptions own = common;
    own.values.input_bundles = {bundle};
    RILL_ASSIGN(const InputSource source, InputSource::make(own, log));
    auto inputs = source.resolve(*model.whole, 0);
    if (!inputs.ok()) return inputs.take_status().at(bundle, 0);
    RILL_ASSIGN(Trial trial, trial_of(common, model, bundle, std::move(*inputs)));
    out.push_back(std::move(trial));
  }
  return out;
}

int64_t frame_of(const Tensor& tensor, int axis, int64_t element) {
  int64_t inner = 1;
  for (int i = axis + 1; i < tensor.rank(); ++i) inner *= tensor.extent(i);
  return element / inner % tensor.extent(axis);
}

/// Stream the trials through a windowed graph.
Result<Measured> measure(int64_t threads, const Model& model, const Graph& slid,
                         const std::vector<Trial>& trials, const Tolerance* tolerance) {
  Measured out;
  const std::vector<std::string>& names = model.whole->output_names;
  out.outputs.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) out.outputs[i].difference.name = names[i];
  double frames = 0;
  for (const Trial& trial : trials) {
    RILL_ASSIGN(const Ready ready, make_ready(slid, trial.inputs.bindings, {true, threads, {}}));
    const auto before = std::chrono::steady_clock::now();
    RILL_ASSIGN(const StreamResult got, run_stream(ready.session.get(), trial.inputs.values,
                                                   trial.frames, StreamOptions()));
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - before;
    out.us_per_frame += took.count();
    frames += static_cast<double>(got.steps * ready.plan->stream_pulse);
    for (size_t i = 0; i < names.size(); ++i) {
      const int axis = ready.plan->outputs[i].stream.axis;
      // Rows per window have no counterpart in the whole run.
      if (got.outputs[i].rank() != trial.want[i].rank()) continue;
      Distance& to = out.outputs[i];
      const double largest = to.difference.largest;
      add_difference(trial.want[i], got.outputs[i], &to.difference);
      if (to.difference.largest > largest && axis >= 0 && to.difference.at >= 0) {
        to.frame = frame_of(trial.want[i], axis, to.difference.at);
        to.trial = trial.name;
      }
      if (tolerance == nullptr || !to.problem.empty()) continue;
      const auto wrong = audit::mismatch(trial.want[i], got.outputs[i], *tolerance, true);
      if (wrong) to.problem = *wrong;
    }
  }
  out.us_per_frame /= std::max(frames, 1.0);
  return out;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json("infinite"); }

void print_json(const std::string& file, const Model& model, const Measured& measured) {
  const pulse::Window window = *pulse::window_of(model.graph);
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", file}};
  out["symbol"] = model.stream_symbol;
  out["window"] = {{"left", window.left}, {"step", window.step}, {"right", window.right}};
  out["outputs"] = Json::array();
  for (const Distance& each : measured.outputs) {
    Json entry{{"name", each.difference.name}, {"compared", each.difference.count}};
    if (each.difference.count > 0) {
      entry["largest"] = number(each.difference.largest);
      entry["mean"] = number(each.difference.mean());
      entry["largest_value"] = number(each.difference.value);
      entry["frame"] = each.frame < 0 ? Json(nullptr) : Json(each.frame);
      entry["bundle"] = each.trial;
    }
    if (!each.problem.empty()) entry["problem"] = each.problem;
    out["outputs"].push_back(std::move(entry));
  }
  say("{}\n", Escaped{safe_json(out.dump(2, ' ', false, Json::error_handler_t::replace))});
}

void print_text(const Model& model, const Measured& measured) {
  const pulse::Window window = *pulse::window_of(model.graph);
  say("windows of {},{},{} frames of {}, a latency of {}\n", window.left, window.step,
      window.right, model.stream_symbol, window.right + window.step - 1);
  for (const Distance& each : measured.outputs) {
    const OutputDifference& found = each.difference;
    if (found.count == 0) {
      say("output {}: not compared, since it has a row for each window\n", found.name);
      continue;
    }
    say("output {}: largest difference {:.3g}, mean {:.3g}, largest value {:.3g}", found.name,
        found.largest, found.mean(), found.value);
    if (each.frame >= 0) say("; the largest is in frame {} of {}", each.frame, each.trial);
    say("\n");
  }
}

/// Return contexts from a quarter to twice of a given one, in multiples of `unit`, including 0 and
/// the given one.
std::set<int64_t> contexts(int64_t frames, int64_t unit) {
  std::set<int64_t> out{0, frames};
  for (const int64_t each : {frames / 4, frames / 2, 2 * frames}) out.insert(each / unit * unit);
  return out;
}

}  // namespace

Status check_windows(const CommonOptions& common, const CheckOptions& checks,
                     const ReportOptions& report, const Log& log, const Model& model) {
  RILL_ASSIGN(const std::vector<Trial> trials, trials_of(common, log, model));
  if (trials.empty()) {
    return fail(Code::kArg, "check of a windowed model needs inputs")
        .hint("Add --io FILE.npz, once for each stream");
  }
  RILL_ASSIGN(const Tolerance tolerance, tolerance_of(checks));
  const bool bounded = !checks.approx.empty() || tolerance.custom;
  RILL_ASSIGN(const Measured measured, measure(common.program.threads, model, model.graph, trials,
                                               bounded ? &tolerance : nullptr));
  if (report.json) {
    print_json(common.file, model, measured);
  } else if (!report.quiet) {
    print_text(model, measured);
  }
  bool compared = false;
  for (const Distance& each : measured.outputs) {
    compared |= each.difference.count > 0;
    if (each.problem.empty()) continue;
    return fail(Code::kState, "output ", each.difference.name,
                " of the windows is not within the tolerance: ", each.problem)
        .hint("Give --window more frames of context; inspect shows the effect");
  }
  if (!compared) {
    return fail(
        Code::kState,
        "no output was compared: each output has a row for each window, but the whole run gives "
        "one value");
  }
  return {};
}

Result<std::vector<SweptWindow>> sweep_windows(const CommonOptions& common, const Log& log,
                                               const Model& model) {
  constexpr double kSeconds = 10;
  const audit::Deadline until(kSeconds);
  const pulse::Window asked = *pulse::window_of(model.graph);
  RILL_ASSIGN(std::vector<Trial> trials, trials_of(common, log, model));
  if (trials.empty()) {
    audit::Draw draw(static_cast<uint64_t>(common.values.seed) + 1);
    InputValues inputs;
    for (const std::string& symbol : symbols_of(*model.whole)) {
      if (symbol != model.stream_symbol) inputs.bindings.emplace_back(symbol, 1);
    }
    Graph whole = *model.whole;
    for (const auto& [symbol, value] : inputs.bindings) {
      RILL_ASSIGN(whole, whole.with_symbol(symbol, Dim(value)));
    }
    const int64_t frames = (4 * asked.frames() / asked.step + 1) * asked.step;
    inputs.bindings.emplace_back(model.stream_symbol, frames);
    RILL_ASSIGN(inputs.values,
                audit::noise_inputs(whole, model.stream_symbol, frames, &draw));
    RILL_ASSIGN(Trial trial, trial_of(common, model, "noise", std::move(inputs)));
    trials.push_back(std::move(trial));
  }
  int64_t unit = 1;
  for (const OutletId output : model.whole->outputs) {
    for (const Dim& dim : model.whole->fact(output).shape) {
      if (!dim.mentions(model.stream_symbol)) continue;
      const auto rate = pulse::window_rate(dim, model.stream_symbol);
      if (rate.ok()) unit = std::lcm(unit, rate->unit);
    }
  }
  std::vector<SweptWindow> out;
  for (const int64_t right : contexts(asked.right, unit)) {
    for (const int64_t left : contexts(asked.left, unit)) {
      if (until.passed()) return out;
      SweptWindow row;
      row.window = {left, asked.step, right};
      const auto slid = pulse::slide(*model.whole, model.stream_symbol, row.window);
      if (!slid.ok()) continue;
      auto measured = measure(common.program.threads, model, *slid, trials, nullptr);
      if (!measured.ok()) continue;
      row.us_per_frame = measured->us_per_frame;
      for (const Distance& each : measured->outputs) {
        row.largest = std::max(row.largest, each.difference.largest);
        row.mean = std::max(row.mean, each.difference.mean());
      }
      out.push_back(row);
    }
  }
  return out;
}

}  // namespace rill::cli
