#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/pulses.h"
#include "cli/steps.h"
#include "cli/symbols.h"
#include "pulse/least_delay.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostSecondsForDelays = 2;

/// A wire of the whole model. Latencies are in frames of the first input that streams.
struct WireRow {
  const pulse::Wire* wire = nullptr;
  double before = 0;  ///< of the input that lags most
  double after = 0;
  std::optional<int64_t> least;  ///< delay of the wire that no stream of the pulse can be below
  double lost = 0;               ///< latency beyond that, of this wire or one in front of it
  double loses = 0;              ///< ... by its own node
  int64_t state_bytes = 0;
  std::vector<std::string> causes;
  double added() const { return after - before; }
};

struct OutputRow {
  const PlanIo* io = nullptr;
  double latency = 0;
  std::vector<int> path;  ///< from the input to the output, the slowest way; indices of wires
  std::optional<int64_t> least;  ///< proven minimum of the delay
  std::vector<int> losing;       ///< wires in front of it whose nodes lose what lies between
};

/// How a pulsed model streams: what `inspect` tells.
class Inspection {
 public:
  Inspection(const Args& args, const Model& model) : args_(args), model_(model) {}

  Status gather();
  void print_text() const;
  void print_wires() const;
  std::string json() const;
  Status check_max_delay() const;
  Status draw() const;

 private:
  void add_wires();
  void add_states();
  Status add_least();
  void add_losing(int wire, OutputRow* row) const;
  std::string least_text(const OutputRow& output) const;
  std::vector<int> path_to(size_t output) const;
  double in_frames(int64_t delay, int64_t pulse) const;
  std::string latency_text(double frames) const;
  Json latency_json(double frames) const;
  std::vector<const WireRow*> expensive() const;

  const Args& args_;
  const Model& model_;
  Bindings ones_;
  Ready ready_;
  int64_t input_pulse_ = 1;
  int64_t unit_ = 0;  ///< 0: unknown
  std::vector<WireRow> wires_;
  std::vector<OutputRow> outputs_;
  std::map<std::string, int64_t> other_states_;  ///< of nodes that are no wires of the whole model
};

double Inspection::in_frames(int64_t delay, int64_t pulse) const {
  return pulse::symbol_frames(delay, pulse, input_pulse_);
}

std::string frames_text(double frames) { return fmt::format("{:.6g}", frames); }

std::string Inspection::latency_text(double frames) const {
  std::string out = fmt::format("{} input frame{}", frames_text(frames), frames == 1 ? "" : "s");
  if (args_.frame_ms > 0) out += fmt::format(", {:.6g} ms", frames * args_.frame_ms);
  return out;
}

Json Inspection::latency_json(double frames) const {
  Json out{{"input_frames", frames}};
  if (args_.frame_ms > 0) out["ms"] = frames * args_.frame_ms;
  return out;
}

void Inspection::add_wires() {
  for (const pulse::Wire& wire : model_.report.wires) {
    WireRow row;
    row.wire = &wire;
    row.after = in_frames(wire.delay, wire.pulse);
    row.causes = wire.causes;
    int latest = -1;
    for (const int input : wire.inputs) {
      const WireRow& from = wires_[static_cast<size_t>(input)];
      if (latest < 0 || from.after > row.before) {
        row.before = from.after;
        latest = input;
      }
    }
    for (const int input : wire.inputs) {
      const double behind = row.before - wires_[static_cast<size_t>(input)].after;
      if (behind <= 0) continue;
      const pulse::Wire& slow = model_.report.wires[static_cast<size_t>(latest)];
      const pulse::Wire& quick = model_.report.wires[static_cast<size_t>(input)];
      row.causes.push_back(fmt::format("{} waits {} frame{} for {}", quick.name,
                                       frames_text(behind), behind == 1 ? "" : "s", slow.name));
    }
    wires_.push_back(std::move(row));
  }
}

/// States go to the wire of the whole model whose name theirs begins with: nodes that pulsing added
/// are named after the node that asked for them.
void Inspection::add_states() {
  const Plan& plan = *ready_.plan;
  for (const PlanState& state : plan.states) {
    const int64_t bytes = plan.buffers[state.value.ref.buffer].bytes;
    std::string name(state.name);
    if (state.node >= 0) name = plan.nodes[static_cast<size_t>(state.node)].name;
    WireRow* found = nullptr;
    for (WireRow& row : wires_) {
      const std::string& own = row.wire->name;
      const bool fits = name == own || (name.starts_with(own) && name[own.size()] == '_');
      if (fits && (!found || own.size() > found->wire->name.size())) found = &row;
    }
    if (found) {
      found->state_bytes += bytes;
    } else {
      other_states_[name] += bytes;
    }
  }
}

/// What is proven of the delays, and which nodes lose the rest.
Status Inspection::add_least() {
  // A stream that gives up frames to come is not held to what the whole graph depends on.
  if (!model_.whole || !model_.report.approximations.empty()) return {};
  Graph whole = *model_.whole;
  for (const auto& [symbol, value] : ones_) {
    RILL_ASSIGN(whole, whole.with_symbol(symbol, Dim(value)));
  }
  pulse::Options options;
  options.symbol = model_.stream_symbol;
  options.pulse = Dim(ready_.plan->stream_pulse);
  RILL_ASSIGN(const pulse::LeastDelays least,
              pulse::least_delays(whole, options, model_.report, kMostSecondsForDelays));
  for (size_t i = 0; i < wires_.size(); ++i) {
    WireRow& row = wires_[i];
    double before = 0;
    for (const int input : row.wire->inputs) {
      before = std::max(before, wires_[static_cast<size_t>(input)].lost);
    }
    row.least = least.wires[i];
    row.lost = row.least ? in_frames(row.wire->delay - *row.least, row.wire->pulse) : before;
    row.loses = row.lost - before;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].least = least.outputs[i];
    if (least.outputs[i] && *least.outputs[i] > outputs_[i].io->stream.delay) {
      return fail(Code::kInternal, "output ", outputs_[i].io->name, " is given after ",
                  outputs_[i].io->stream.delay, " frames, and depends on frames up to ",
                  *least.outputs[i], " later: the stream does not give the frames of the whole run")
          .hint("This is an error of rill: please report it, with the model");
    }
    const int wire = model_.report.outputs[i].wire;
    if (wire >= 0 && outputs_[i].least && *outputs_[i].least < outputs_[i].io->stream.delay) {
      add_losing(wire, &outputs_[i]);
    }
  }
  return {};
}

void Inspection::add_losing(int wire, OutputRow* row) const {
  std::vector<char> seen(wires_.size());
  std::vector<int> open{wire};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (seen[static_cast<size_t>(at)]) continue;
    seen[static_cast<size_t>(at)] = 1;
    const WireRow& own = wires_[static_cast<size_t>(at)];
    if (own.loses > 0) row->losing.push_back(at);
    open.insert(open.end(), own.wire->inputs.begin(), own.wire->inputs.end());
  }
  std::sort(row->losing.begin(), row->losing.end());
}

std::string Inspection::least_text(const OutputRow& output) const {
  if (!output.least) return {};
  const PlanStream& stream = output.io->stream;
  if (*output.least == stream.delay) {
    return "  no stream of this pulse has less: its frames depend on what comes that late\n";
  }
  std::string out = fmt::format("  at least {} = {}, by what its frames depend on", *output.least,
                                latency_text(in_frames(*output.least, stream.pulse)));
  for (const int at : output.losing) {
    const WireRow& row = wires_[static_cast<size_t>(at)];
    out += fmt::format("{} {} ({:.6g})", at == output.losing.front() ? "; lost by" : ",",
                       row.wire->name, row.loses);
  }
  return out + "\n";
}

std::vector<int> Inspection::path_to(size_t output) const {
  std::vector<int> path;
  if (!model_.whole || output >= model_.whole->outputs.size()) return path;
  const OutletId outlet = model_.whole->outputs[output];
  const std::string& name = model_.whole->node(outlet.node).name;
  int at = -1;
  for (size_t i = 0; i < wires_.size(); ++i) {
    const pulse::Wire& wire = *wires_[i].wire;
    if (wire.name == name && wire.slot == outlet.slot) at = static_cast<int>(i);
  }
  while (at >= 0) {
    path.push_back(at);
    int next = -1;
    for (const int input : wires_[static_cast<size_t>(at)].wire->inputs) {
      const bool later = next < 0 || wires_[static_cast<size_t>(input)].after >
                                         wires_[static_cast<size_t>(next)].after;
      if (later) next = input;
    }
    at = next;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Status Inspection::gather() {
  for (const std::string& symbol : symbols_of(model_.graph)) {
    if (symbol != model_.stream_symbol) ones_.emplace_back(symbol, 1);
  }
  RILL_ASSIGN(ready_, make_ready(model_.graph, ones_, true));
  for (size_t i = ready_.plan->inputs.size(); i-- > 0;) {
    const PlanStream& stream = ready_.plan->inputs[i].stream;
    if (stream.axis >= 0 && stream.pulse > 0) input_pulse_ = stream.pulse;
  }
  if (model_.whole) {
    pulse::Options options;
    options.symbol = model_.stream_symbol;
    options.backward_chunks = args_.pulse_backward == "chunk";
    RILL_ASSIGN(unit_, pulse::least_pulse(*model_.whole, options));
  }
  add_wires();
  add_states();
  for (size_t i = 0; i < ready_.plan->outputs.size(); ++i) {
    OutputRow row;
    row.io = &ready_.plan->outputs[i];
    if (row.io->stream.axis >= 0) {
      row.latency = in_frames(row.io->stream.delay, row.io->stream.pulse);
      row.path = path_to(i);
    }
    outputs_.push_back(std::move(row));
  }
  return add_least();
}

/// The wires that add latency, the most expensive first; of outputs' slowest ways if they are
/// known.
std::vector<const WireRow*> Inspection::expensive() const {
  std::vector<const WireRow*> out;
  for (const OutputRow& output : outputs_) {
    for (const int at : output.path) {
      const WireRow* row = &wires_[static_cast<size_t>(at)];
      const bool known = std::find(out.begin(), out.end(), row) != out.end();
      if (row->added() > 0 && !known) out.push_back(row);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const WireRow* a, const WireRow* b) { return a->added() > b->added(); });
  return out;
}

std::string causes_text(const WireRow& row) { return join(row.causes, "; "); }

void print_choices(const std::vector<pulse::Choice>& choices, double frame_ms) {
  if (choices.empty()) return;
  const pulse::Choice& best = pulse::best(choices);
  fmt::print("\n{:>8} {:>10} {:>10} {:>12} {:>12} {:>10}\n", "pulse", "latency",
             frame_ms > 0 ? "ms" : "", "us per step", frame_ms > 0 ? "CPU per s" : "us per frame",
             "state");
  for (const pulse::Choice& choice : choices) {
    const std::string ms = frame_ms > 0 ? fmt::format("{:.4g}", choice.latency() * frame_ms) : "";
    const std::string cpu = frame_ms > 0
                                ? fmt::format("{:.3f} %", choice.us_per_frame() / frame_ms / 10)
                                : fmt::format("{:.4g}", choice.us_per_frame());
    fmt::print("{:>8} {:>10.4g} {:>10} {:>12.4g} {:>12} {:>10}{}\n", choice.pulse, choice.latency(),
               ms, choice.step_us, cpu, choice.state_bytes, &choice == &best ? "  <-- chosen" : "");
  }
}

void Inspection::print_wires() const {
  size_t name = std::string_view("node").size();
  size_t op = std::string_view("operator").size();
  for (const WireRow& row : wires_) {
    name = std::max(name, row.wire->name.size());
    op = std::max(op, row.wire->op.size());
  }
  fmt::print("\n{:<{}}  {:<{}} {:>8} {:>8} {:>8} {:>8} {:>9}  {}\n", "node", name, "operator", op,
             "delay", "least", "in", "out", "state", "cause");
  for (const WireRow& row : wires_) {
    const std::string least = row.least ? std::to_string(*row.least) : "";
    fmt::print("{:<{}}  {:<{}} {:>8} {:>8} {:>8} {:>8} {:>9}  {}\n", row.wire->name, name,
               row.wire->op, op, row.wire->delay, least, frames_text(row.before),
               frames_text(row.after), row.state_bytes, causes_text(row));
  }
  for (const auto& [other, bytes] : other_states_) {
    fmt::print("{:<{}}  {:<{}} {:>8} {:>8} {:>8} {:>8} {:>9}\n", other, name, "", op, "", "", "",
               "", bytes);
  }
}

void Inspection::print_text() const {
  const Plan& plan = *ready_.plan;
  fmt::print("{}: pulse {}={}", args_.model, plan.stream_symbol.view(), plan.stream_pulse);
  if (unit_ > 0) fmt::print("; legal pulses are the multiples of {}", unit_);
  fmt::print("{}\n", ones_.empty() ? "" : "; with " + bindings_text(ones_));
  for (const OutputRow& output : outputs_) {
    const PlanStream& stream = output.io->stream;
    if (stream.axis < 0) {
      const bool late = stream.length.valid() && stream.length.at(0) != 0;
      const auto frames = stream.length.at(std::nullopt);
      fmt::print("output {}: {}\n", output.io->name.view(),
                 !late    ? "does not stream"
                 : frames ? fmt::format("one value, known after {}={}", plan.stream_symbol.view(),
                                          *frames)
                          : "one value, known at the end of the stream");
      continue;
    }
    fmt::print("output {}: delay {} frame{} = {}; {} frames per step, the first in step {}\n",
               output.io->name.view(), stream.delay, stream.delay == 1 ? "" : "s",
               latency_text(output.latency), stream.pulse,
               stream.pulse > 0 ? stream.delay / stream.pulse + 1 : 0);
    std::string path;
    for (const int at : output.path) {
      const WireRow& row = wires_[static_cast<size_t>(at)];
      const bool end = at == output.path.front() || at == output.path.back();
      if (!end && row.added() == 0) continue;
      path += path.empty() ? "" : " > ";
      path += row.wire->name;
      if (row.added() != 0) path += fmt::format(" ({:+.6g})", row.added());
    }
    if (!path.empty()) fmt::print("  critical path: {}\n", path);
    fmt::print("{}", least_text(output));
  }
  print_wires();
  fmt::print(
      "delay, and the least that is proven, in frames of the wire; in and out in input frames; "
      "state "
      "in bytes\n");
  int64_t io_bytes = 0;
  for (const PlanIo& io : plan.inputs) io_bytes += io.bytes;
  for (const PlanIo& io : plan.outputs) io_bytes += io.bytes;
  fmt::print("\nper session: state {} bytes, arena {} bytes, inputs and outputs {} bytes\n",
             plan.state_bytes, plan.arena_bytes, io_bytes);
  if (plan.longest < INT64_MAX) {
    fmt::print("streams of {} {} at most, by the tables of the model or what is asserted\n",
               plan.longest, plan.stream_symbol.view());
  }
  if (!plan.late_end) {
    fmt::print("the end must be told with the last frames: pushes hold back a full pulse\n");
  }
  print_choices(model_.choices, args_.frame_ms);
}

std::string Inspection::json() const {
  const Plan& plan = *ready_.plan;
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", args_.model}};
  out["symbol"] = plan.stream_symbol.view();
  out["pulse"] = plan.stream_pulse;
  out["pulse_multiple_of"] = unit_ > 0 ? Json(unit_) : Json(nullptr);
  if (args_.frame_ms > 0) out["frame_ms"] = args_.frame_ms;
  out["outputs"] = Json::array();
  for (const OutputRow& output : outputs_) {
    const PlanStream& stream = output.io->stream;
    Json told{{"name", output.io->name.view()}, {"axis", stream.axis}};
    if (stream.axis >= 0) {
      told["frames_per_step"] = stream.pulse;
      told["delay"] = stream.delay;
      told["least_delay"] = output.least ? Json(*output.least) : Json(nullptr);
      told["lost_by"] = Json::array();
      for (const int at : output.losing) {
        const WireRow& row = wires_[static_cast<size_t>(at)];
        told["lost_by"].push_back({{"node", row.wire->name}, {"input_frames", row.loses}});
      }
      told["latency"] = latency_json(output.latency);
      told["length"] = stream.length.valid() ? Json(stream.length_text.view()) : Json(nullptr);
      told["critical_path"] = Json::array();
      for (const int at : output.path) {
        const WireRow& row = wires_[static_cast<size_t>(at)];
        told["critical_path"].push_back({{"node", row.wire->name}, {"added", row.added()}});
      }
    }
    out["outputs"].push_back(std::move(told));
  }
  out["nodes"] = Json::array();
  for (const WireRow& row : wires_) {
    out["nodes"].push_back({{"name", row.wire->name},
                            {"slot", row.wire->slot},
                            {"op", row.wire->op},
                            {"line", row.wire->line},
                            {"axis", row.wire->axis},
                            {"frames_per_step", row.wire->pulse},
                            {"delay", row.wire->delay},
                            {"least_delay", row.least ? Json(*row.least) : Json(nullptr)},
                            {"in", latency_json(row.before)},
                            {"out", latency_json(row.after)},
                            {"state_bytes", row.state_bytes},
                            {"causes", row.causes}});
  }
  out["other_states"] = Json::object();
  for (const auto& [name, bytes] : other_states_) out["other_states"][name] = bytes;
  out["memory"] = {{"state_bytes", plan.state_bytes}, {"arena_bytes", plan.arena_bytes}};
  out["end_told_with_last_frames"] = !plan.late_end;
  out["longest"] = plan.longest < INT64_MAX ? Json(plan.longest) : Json(nullptr);
  if (!model_.choices.empty()) {
    out["choices"] = Json::array();
    for (const pulse::Choice& choice : model_.choices) {
      Json told{{"pulse", choice.pulse},
                {"latency_frames", choice.latency()},
                {"us_per_step", choice.step_us},
                {"us_per_frame", choice.us_per_frame()},
                {"state_bytes", choice.state_bytes},
                {"arena_bytes", choice.arena_bytes}};
      if (args_.frame_ms > 0) {
        told["latency_ms"] = choice.latency() * args_.frame_ms;
        told["cpu_share"] = choice.us_per_frame() / args_.frame_ms / 1e3;
      }
      out["choices"].push_back(std::move(told));
    }
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status Inspection::check_max_delay() const {
  if (args_.max_delay.empty()) return {};
  std::string_view text = args_.max_delay;
  const bool ms = text.ends_with("ms");
  if (ms) text.remove_suffix(2);
  const auto limit = parse_number(text);
  if (!limit.ok() || *limit < 0) {
    return fail(Code::kArg, "--max-delay ", args_.max_delay,
                ": expected input frames, or milliseconds as in 60ms");
  }
  if (ms && args_.frame_ms <= 0) {
    return fail(Code::kArg, "--max-delay ", args_.max_delay, ": how long is a frame?")
        .hint("Add --frame-ms, the milliseconds of an input frame");
  }
  const double most = ms ? *limit / args_.frame_ms : *limit;
  const OutputRow* worst = nullptr;
  for (const OutputRow& output : outputs_) {
    if (!worst || output.latency > worst->latency) worst = &output;
  }
  if (!worst || worst->latency <= most) return {};
  constexpr size_t kMostCauses = 5;
  std::string causes;
  const auto rows = expensive();
  for (size_t i = 0; i < std::min(kMostCauses, rows.size()); ++i) {
    const pulse::Wire& wire = *rows[i]->wire;
    const std::string why = causes_text(*rows[i]);
    causes += fmt::format("\n  {} ({}{}) adds {}{}{}", wire.name, wire.op,
                          wire.line > 0 ? fmt::format(", line {}", wire.line) : "",
                          latency_text(rows[i]->added()), why.empty() ? "" : ": ", why);
  }
  return fail(Code::kPulse, "output ", worst->io->name, " lags by ", latency_text(worst->latency),
              ": more than --max-delay ", args_.max_delay, causes)
      .hint("Pad these layers in front only, or let them look ahead less");
}

Status Inspection::draw() const {
  if (args_.svg.empty()) return {};
  if (model_.choices.empty()) {
    return fail(Code::kArg, "--svg ", args_.svg, ": there is one pulse only")
        .hint("Add --pulse auto, which compares pulses");
  }
  std::ofstream file(args_.svg, std::ios::binary);
  file << pulse_picture(model_.choices, args_.frame_ms, args_.model);
  file.close();
  if (!file) return fail(Code::kIo, "cannot write ", args_.svg);
  return {};
}

}  // namespace

Status inspect_command(const Args& args, const Log&, const Model& model) {
  if (!model.pulsed()) {
    const std::string states = likely_feedback(model.graph);
    return fail(Code::kPulse, args.model, " is not pulsed: there is no stream to look at")
        .hint(str_cat(
            "Add --pulse S=8, with the symbol of the axis that streams and the frames per step, "
            "or --pulse auto",
            states.empty() ? "" : "; or, as its outputs look like states of its inputs, ", states));
  }
  if (args.frame_ms < 0) return fail(Code::kArg, "--frame-ms ", args.frame_ms, ": below 0");
  Inspection inspection(args, model);
  RILL_TRY(inspection.gather());
  if (args.json) {
    fmt::print("{}", inspection.json());
  } else if (!args.quiet) {
    inspection.print_text();
  }
  RILL_TRY(inspection.draw());
  return inspection.check_max_delay();
}

}  // namespace rill::cli
