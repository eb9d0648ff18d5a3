#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "audit/latency.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/plan_files.h"
#include "cli/plan_report.h"
#include "cli/pulses.h"
#include "cli/say_impl.h"
#include "cli/steps.h"
#include "cli/symbols.h"
#include "cli/windows.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostSecondsForDelays = 2;

using audit::OutputLatency;
using audit::WireLatency;

/// Options of `inspect`.
struct InspectOptions {
  ReportOptions report;
  double frame_ms = 0;
  std::string max_delay;
};

/// Prints the report of `inspect`: how a pulsed model streams.
class Inspection {
 public:
  Inspection(const CommonOptions& common, const InspectOptions& options, const Model& model)
      : common_(common), options_(options), model_(model) {}

  Status gather(const Log& log);
  void print_text() const;
  void print_wires() const;
  std::string json() const;
  Status check_max_delay() const;
  Status draw() const;

 private:
  std::string least_text(const OutputLatency& output) const;
  std::string latency_text(double frames) const;
  Json latency_json(double frames) const;
  Json outputs_json() const;
  Json nodes_json() const;
  Json choices_json() const;
  void print_windows() const;
  Json windows_json() const;

  const CommonOptions& common_;
  const InspectOptions& options_;
  const Model& model_;
  audit::Latency latency_;
  std::vector<SweptWindow> windows_;
};

std::string frames_text(double frames) { return escaped_format("{:.6g}", frames); }

std::string Inspection::latency_text(double frames) const {
  std::string out = escaped_format("{} input frame{}", frames_text(frames), frames == 1 ? "" : "s");
  if (options_.frame_ms > 0) out += escaped_format(", {:.6g} ms", frames * options_.frame_ms);
  return out;
}

Json Inspection::latency_json(double frames) const {
  Json out{{"input_frames", frames}};
  if (options_.frame_ms > 0) out["ms"] = frames * options_.frame_ms;
  return out;
}

std::string Inspection::least_text(const OutputLatency& output) const {
  if (!output.least) return {};
  const PlanStream& stream = output.stream;
  if (*output.least == stream.delay) {
    return "  no stream of this pulse has less: its frames depend on input that comes that late\n";
  }
  std::string out = escaped_format("  at least {} = {}, by the input that its frames depend on",
                                   *output.least, latency_text(output.least_latency));
  for (const int at : output.losing) {
    const WireLatency& row = latency_.wires[static_cast<size_t>(at)];
    out += escaped_format("{} {} ({:.6g})", at == output.losing.front() ? "; lost by" : ",",
                          row.wire.name, row.loses);
  }
  return out + "\n";
}

Status Inspection::gather(const Log& log) {
  pulse::Options options;
  options.symbol = model_.stream_symbol;
  options.backward_chunks = common_.streaming.pulse_backward == "chunk";
  // Windows have the requested latency, not one that dependences prove.
  const bool proves = model_.whole && !pulse::window_of(model_.graph);
  RILL_ASSIGN(latency_, audit::latency_of(proves ? &*model_.whole : nullptr, model_.graph,
                                          model_.report, options, kMostSecondsForDelays));
  if (!model_.whole || proves) return {};
  RILL_ASSIGN(windows_, sweep_windows(common_, log, model_));
  return {};
}

void Inspection::print_windows() const {
  if (windows_.empty()) return;
  say("\nwindows, and their difference from the whole run over {}:\n"
      "{:>8} {:>8} {:>8} {:>10} {:>12} {:>12} {:>12}\n",
      common_.values.input_bundles.empty() ? "noise (--io FILE.npz takes frames)" : "--io", "left",
      "step", "right", "latency", "largest", "mean", "us per frame");
  for (const SweptWindow& row : windows_) {
    say("{:>8} {:>8} {:>8} {:>10} {:>12.3g} {:>12.3g} {:>12.4g}\n", row.window.left,
        row.window.step, row.window.right, row.latency(), row.largest, row.mean, row.us_per_frame);
  }
}

Json Inspection::windows_json() const {
  Json out = Json::array();
  for (const SweptWindow& row : windows_) {
    out.push_back({{"left", row.window.left},
                   {"step", row.window.step},
                   {"right", row.window.right},
                   {"latency_frames", row.latency()},
                   {"largest", std::isfinite(row.largest) ? Json(row.largest) : Json("infinite")},
                   {"mean", std::isfinite(row.mean) ? Json(row.mean) : Json("infinite")},
                   {"us_per_frame", row.us_per_frame}});
  }
  return out;
}

std::string causes_text(const WireLatency& row) { return join(row.causes, "; "); }

void print_choices(const std::vector<pulse::Choice>& choices, double frame_ms) {
  if (choices.empty()) return;
  const pulse::Choice& best = pulse::best(choices);
  say("\n{:>8} {:>10} {:>10} {:>12} {:>12} {:>10}\n", "pulse", "latency",
      frame_ms > 0 ? "ms" : "", "us per step", frame_ms > 0 ? "CPU per s" : "us per frame",
      "state");
  for (const pulse::Choice& choice : choices) {
    const std::string ms =
        frame_ms > 0 ? escaped_format("{:.4g}", choice.latency() * frame_ms) : "";
    const std::string cpu = frame_ms > 0
                                ? escaped_format("{:.3f} %", choice.us_per_frame() / frame_ms / 10)
                                : escaped_format("{:.4g}", choice.us_per_frame());
    say("{:>8} {:>10.4g} {:>10} {:>12.4g} {:>12} {:>10}{}\n", choice.pulse, choice.latency(),
        ms, choice.step_us, cpu, choice.state_bytes, &choice == &best ? "  <-- chosen" : "");
  }
}

void Inspection::print_wires() const {
  size_t name = std::string_view("node").size();
  size_t op = std::string_view("operator").size();
  for (const WireLatency& row : latency_.wires) {
    name = std::max(name, row.wire.name.size());
    op = std::max(op, row.wire.op.size());
  }
  say("\n{:<{}}  {:<{}} {:>8} {:>8} {:>8} {:>8} {:>9}  {}\n", "node", name, "operator", op,
      "delay", "least", "in", "out", "state", "cause");
  for (const WireLatency& row : latency_.wires) {
    const std::string least = row.least ? std::to_string(*row.least) : "";
    say("{:<{}}  {:<{}} {:>8} {:>8} {:>8} {:>8} {:>9}  {}\n", row.wire.name, name,
        row.wire.op, op, row.wire.delay, least, frames_text(row.before),
        frames_text(row.after), row.state_bytes, causes_text(row));
  }
  for (const auto& [other, bytes] : latency_.other_states) {
    say("{:<{}}  {:<{}} {:>8} {:>8} {:>8} {:>8} {:>9}\n", other, name, "", op, "", "", "",
        "", bytes);
  }
}

void Inspection::print_text() const {
  const Plan& plan = *latency_.plan;
  say("{}: pulse {}={}", common_.file, plan.stream_symbol.view(), plan.stream_pulse);
  if (latency_.pulse_multiple > 0) {
    say("; legal pulses are the multiples of {}", latency_.pulse_multiple);
  }
  say("{}\n", latency_.others.empty() ? "" : "; with " + bindings_text(latency_.others));
  for (const OutputLatency& output : latency_.outputs) {
    const PlanStream& stream = output.stream;
    if (stream.axis < 0) {
      const bool late = stream.length.valid() && stream.length.at(0) != 0;
      const auto frames = stream.length.at(std::nullopt);
      say("output {}: {}\n", output.name,
          !late    ? "does not stream"
          : frames ? escaped_format("one value, known after {}={}", plan.stream_symbol.view(),
                                             *frames)
                   : "one value, known at the end of the stream");
      continue;
    }
    say("output {}: delay {} frame{} = {}; {} per step, the first in step {}\n", output.name,
        stream.delay, stream.delay == 1 ? "" : "s", latency_text(output.latency),
        str_cat(counted(stream.pulse, "frame")),
        stream.pulse > 0 ? stream.delay / stream.pulse + 1 : 0);
    std::string path;
    for (const int at : output.path) {
      const WireLatency& row = latency_.wires[static_cast<size_t>(at)];
      const bool end = at == output.path.front() || at == output.path.back();
      if (!end && row.added() == 0) continue;
      path += path.empty() ? "" : " > ";
      path += row.wire.name;
      if (row.added() != 0) path += escaped_format(" ({:+.6g})", row.added());
    }
    if (!path.empty()) say("  critical path: {}\n", path);
    put(stdout, {least_text(output)});
  }
  if (const auto& chunk = latency_.chunk) {
    say("pulse {}={} waits once for all layers: pushed {} at a time, its outputs lag {:.6g}\n",
        plan.stream_symbol.view(), chunk->pulse, str_cat(counted(plan.stream_pulse, "frame")),
        chunk->latency);
  }
  print_wires();
  say(
      "delay, and the least that is proven, in frames of the wire; in and out in input frames; "
      "state "
      "in bytes\n");
  int64_t io_bytes = 0;
  for (const PlanIo& io : plan.inputs) io_bytes += io.bytes;
  for (const PlanIo& io : plan.outputs) io_bytes += io.bytes;
  say("\nper session: state {} bytes, arena {} bytes, inputs and outputs {} bytes\n",
      plan.state_bytes, plan.arena_bytes, io_bytes);
  if (plan.longest < INT64_MAX) {
    say("streams of at most {} {}, by the model's tables or assertions\n",
        plan.longest, plan.stream_symbol.view());
  }
  if (!plan.late_end) {
    say("the end must be announced with the last frames: pushes hold back a full pulse\n");
  }
  print_choices(model_.choices, options_.frame_ms);
  print_windows();
}

Json Inspection::outputs_json() const {
  Json out = Json::array();
  for (const OutputLatency& output : latency_.outputs) {
    const PlanStream& stream = output.stream;
    Json entry{{"name", output.name}, {"axis", stream.axis}};
    if (stream.axis >= 0) {
      entry["frames_per_step"] = stream.pulse;
      entry["delay"] = stream.delay;
      entry["least_delay"] = output.least ? Json(*output.least) : Json(nullptr);
      entry["lost_by"] = Json::array();
      for (const int at : output.losing) {
        const WireLatency& row = latency_.wires[static_cast<size_t>(at)];
        entry["lost_by"].push_back({{"node", row.wire.name}, {"input_frames", row.loses}});
      }
      entry["latency"] = latency_json(output.latency);
      entry["length"] = stream.length.valid() ? Json(stream.length_text.view()) : Json(nullptr);
      entry["critical_path"] = Json::array();
      for (const int at : output.path) {
        const WireLatency& row = latency_.wires[static_cast<size_t>(at)];
        entry["critical_path"].push_back({{"node", row.wire.name}, {"added", row.added()}});
      }
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Json Inspection::nodes_json() const {
  Json out = Json::array();
  for (const WireLatency& row : latency_.wires) {
    out.push_back({{"name", row.wire.name},
                   {"slot", row.wire.slot},
                   {"op", row.wire.op},
                   {"line", row.wire.line},
                   {"axis", row.wire.axis},
                   {"frames_per_step", row.wire.pulse},
                   {"delay", row.wire.delay},
                   {"least_delay", row.least ? Json(*row.least) : Json(nullptr)},
                   {"in", latency_json(row.before)},
                   {"out", latency_json(row.after)},
                   {"state_bytes", row.state_bytes},
                   {"causes", row.causes}});
  }
  return out;
}

Json Inspection::choices_json() const {
  Json out = Json::array();
  for (const pulse::Choice& choice : model_.choices) {
    Json entry{{"pulse", choice.pulse},
               {"latency_frames", choice.latency()},
               {"us_per_step", choice.step_us},
               {"us_per_frame", choice.us_per_frame()},
               {"state_bytes", choice.state_bytes},
               {"arena_bytes", choice.arena_bytes}};
    if (options_.frame_ms > 0) {
      entry["latency_ms"] = choice.latency() * options_.frame_ms;
      entry["cpu_share"] = choice.us_per_frame() / options_.frame_ms / 1e3;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

std::string Inspection::json() const {
  const Plan& plan = *latency_.plan;
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", common_.file}};
  out["symbol"] = plan.stream_symbol.view();
  out["pulse"] = plan.stream_pulse;
  const int64_t multiple = latency_.pulse_multiple;
  out["pulse_multiple_of"] = multiple > 0 ? Json(multiple) : Json(nullptr);
  if (options_.frame_ms > 0) out["frame_ms"] = options_.frame_ms;
  out["outputs"] = outputs_json();
  out["chunk"] = nullptr;
  if (const auto& chunk = latency_.chunk) {
    out["chunk"] = {{"pulse", chunk->pulse}, {"latency_frames", chunk->latency}};
  }
  out["nodes"] = nodes_json();
  out["other_states"] = Json::object();
  for (const auto& [name, bytes] : latency_.other_states) out["other_states"][name] = bytes;
  out["memory"] = {{"state_bytes", plan.state_bytes}, {"arena_bytes", plan.arena_bytes}};
  out["end_told_with_last_frames"] = !plan.late_end;
  out["longest"] = plan.longest < INT64_MAX ? Json(plan.longest) : Json(nullptr);
  if (!model_.choices.empty()) out["choices"] = choices_json();
  if (!windows_.empty()) out["windows"] = windows_json();
  return safe_json(out.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Status Inspection::check_max_delay() const {
  if (options_.max_delay.empty()) return {};
  std::string_view text = options_.max_delay;
  const bool ms = text.ends_with("ms");
  if (ms) text.remove_suffix(2);
  const auto limit = parse_number(text);
  if (!limit.ok() || *limit < 0) {
    return fail(Code::kArg, "--max-delay ", options_.max_delay,
                ": expected input frames, or milliseconds as in 60ms");
  }
  if (ms && options_.frame_ms <= 0) {
    return fail(Code::kArg, "--max-delay ", options_.max_delay,
                ": the length of a frame is unknown")
        .hint("Add --frame-ms, the milliseconds of an input frame");
  }
  const double most = ms ? *limit / options_.frame_ms : *limit;
  const OutputLatency* worst = nullptr;
  for (const OutputLatency& output : latency_.outputs) {
    if (!worst || output.latency > worst->latency) worst = &output;
  }
  if (!worst || worst->latency <= most) return {};
  constexpr size_t kMostCauses = 5;
  std::string causes;
  const auto rows = latency_.expensive();
  for (size_t i = 0; i < std::min(kMostCauses, rows.size()); ++i) {
    const pulse::Wire& wire = rows[i]->wire;
    const std::string why = causes_text(*rows[i]);
    causes += escaped_format("\n  {} ({}{}) adds {}{}{}", wire.name, wire.op,
                             wire.line > 0 ? escaped_format(", line {}", wire.line) : "",
                             latency_text(rows[i]->added()), why.empty() ? "" : ": ", why);
  }
  Status late = fail(Code::kPulse, "output ", worst->name, " lags by ",
                     latency_text(worst->latency), ": more than --max-delay ", options_.max_delay);
  late.error().message += causes;
  return std::move(late).hint("Pad these layers at the start only, or let them look ahead less");
}

Status Inspection::draw() const {
  if (options_.report.svg.empty()) return {};
  if (model_.choices.empty()) {
    return fail(Code::kArg, "--svg ", options_.report.svg,
                ": inspect draws several pulses, but there is only one")
        .hint("Add --pulse auto, which compares pulses");
  }
  std::ofstream file(options_.report.svg, std::ios::binary);
  file << pulse_picture(model_.choices, options_.frame_ms, common_.file);
  file.close();
  if (!file) return fail(Code::kIo, "cannot write ", options_.report.svg);
  return {};
}

/// Quote a text as one word of a command line.
std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,+@%").find(c) != std::string_view::npos;
  };
  if (std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Print inputs and outputs that are likely states, and the command that makes them states of a
/// stream.
void propose_states(const std::string& file, const Graph& graph) {
  const std::vector<LikelyState> states = likely_states(graph);
  if (states.empty()) return;
  std::string text = "Outputs that look like the next values of inputs:\n";
  std::string command = str_cat("rill ", shell_word(file));
  for (const LikelyState& state : states) {
    text += escaped_format("  {} {} -> {} {}{}\n", state.output, state.gives.to_string(),
                           state.input, state.takes.to_string(),
                           state.on_another_axis ? " (parts on another axis fit too)" : "");
    command += str_cat(" --feedback ", shell_word(str_cat(state.output, "=", state.input)));
  }
  put(stdout, {text + escaped_format("To feed them back:\n  {} inspect\n", command)});
}

class InspectCommand final : public ModelCommand {
 public:
  InspectCommand()
      : ModelCommand({"inspect", kOnInspect,
                      "report latency, its causes and memory of a pulsed model",
                      "rill model.nnef.tgz --set B=1 --pulse S=8 inspect --frame-ms 10", false}) {}

  void add_options(std::vector<Option>* out) override {
    add(&options_.report, out);
    append_options(out, "Latency",
                   {
                       {"--frame-ms", kOnInspect, &options_.frame_ms,
                        "duration of an input frame in milliseconds"},
                       {"--max-delay", kOnInspect, &options_.max_delay,
                        "fail above this delay, in input frames or as 60ms"},
                   });
  }

 protected:
  bool takes_plan_files() const override { return true; }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    if (!model.pulsed()) {
      if (!options_.report.json && !options_.report.quiet) propose_states(common.file, model.graph);
      return fail(Code::kPulse, common.file, " is not pulsed: there is no stream to look at")
          .hint(
              "Add --pulse S=8, with the symbol of the axis that streams and the frames per step, "
              "or "
              "--pulse auto, or make states part of the stream by --feedback OUTPUT=INPUT");
    }
    if (options_.frame_ms < 0) {
      return fail(Code::kArg, "--frame-ms ", options_.frame_ms, ": below 0");
    }
    Inspection inspection(common, options_, model);
    RILL_TRY(inspection.gather(log));
    if (options_.report.json) {
      put(stdout, {inspection.json()});
    } else if (!options_.report.quiet) {
      inspection.print_text();
    }
    RILL_TRY(inspection.draw());
    return inspection.check_max_delay();
  }
  Status run_plan_file(const CommonOptions& common, const Log&) const override {
    RILL_ASSIGN(const plan_file::OpenedPlan opened, open_plan_file(common));
    if (options_.report.json) {
      put(stdout, {plan_json(common.file, opened)});
    } else if (!options_.report.quiet) {
      print_plan(opened);
    }
    return {};
  }

 private:
  InspectOptions options_;
};

}  // namespace

std::unique_ptr<Command> inspect_command() { return std::make_unique<InspectCommand>(); }

}  // namespace rill::cli
