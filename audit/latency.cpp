#include "audit/latency.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "audit/prepared.h"
#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/graph/walk.h"
#include "core/run/feed.h"
#include "pulse/choice.h"
#include "pulse/least_delay.h"

namespace rill::audit {
namespace {

class Inspection {
 public:
  Inspection(const Graph* whole, const Graph& pulsed, const pulse::Report& report,
             const pulse::Options& options)
      : whole_(whole), pulsed_(pulsed), report_(report), options_(options) {}

  Result<Latency> run(double most_seconds);

 private:
  void add_wires();
  void add_states();
  /// Return the least delays; nothing without a whole run to compare with.
  Result<std::optional<pulse::LeastDelays>> least_delays(double most_seconds) const;
  Status add_least(const pulse::LeastDelays& least);
  void add_losing(int wire, OutputLatency* row) const;
  Status find_chunk();
  std::vector<int> path_to(size_t output) const;
  double in_frames(int64_t delay, int64_t pulse) const {
    return pulse::symbol_frames(delay, pulse, input_pulse_);
  }

  const Graph* whole_;
  const Graph& pulsed_;
  const pulse::Report& report_;
  const pulse::Options& options_;
  int64_t input_pulse_ = 1;
  Latency out_;
};

/// Format with at most six digits.
std::string frames_text(double frames) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", frames);
  return text;
}

void Inspection::add_wires() {
  for (const pulse::Wire& wire : report_.wires) {
    WireLatency row;
    row.wire = wire;
    row.after = in_frames(wire.delay, wire.pulse);
    row.causes = wire.causes;
    int latest = -1;
    for (const int input : wire.inputs) {
      const WireLatency& from = out_.wires[static_cast<size_t>(input)];
      if (latest < 0 || from.after > row.before) {
        row.before = from.after;
        latest = input;
      }
    }
    for (const int input : wire.inputs) {
      const double wait = row.before - out_.wires[static_cast<size_t>(input)].after;
      if (wait <= 0) continue;
      const pulse::Wire& slow = report_.wires[static_cast<size_t>(latest)];
      const pulse::Wire& quick = report_.wires[static_cast<size_t>(input)];
      row.causes.push_back(str_cat(quick.name, " waits ", frames_text(wait), " frame",
                                   wait == 1 ? "" : "s", " for ", slow.name));
    }
    out_.wires.push_back(std::move(row));
  }
}

/// Assign each state to the wire of the whole model whose name is a prefix of the state's name:
/// pulsing names new nodes after the node that needs them.
void Inspection::add_states() {
  const Plan& plan = *out_.plan;
  for (const PlanState& state : plan.states) {
    const int64_t bytes = plan.buffers[state.value.ref.buffer].bytes;
    std::string name(state.name);
    if (state.node >= 0) name = plan.nodes[static_cast<size_t>(state.node)].name;
    WireLatency* found = nullptr;
    for (WireLatency& row : out_.wires) {
      const std::string& own = row.wire.name;
      const bool fits = name == own || (name.starts_with(own) && name[own.size()] == '_');
      if (fits && (!found || own.size() > found->wire.name.size())) found = &row;
    }
    if (found) {
      found->state_bytes += bytes;
    } else {
      out_.other_states[name] += bytes;
    }
  }
}

Result<std::optional<pulse::LeastDelays>> Inspection::least_delays(double most_seconds) const {
  // A stream that drops future frames need not wait for everything that the whole graph depends on.
  if (!whole_ || !report_.approximations.empty() || !pulsed_.streaming) {
    return std::optional<pulse::LeastDelays>();
  }
  Graph whole = *whole_;
  for (const auto& [symbol, value] : out_.others) {
    RILL_ASSIGN(whole, whole.with_symbol(symbol, Dim(value)));
  }
  pulse::Options options = options_;
  options.pulse = Dim(pulsed_.streaming->pulse);
  RILL_ASSIGN(pulse::LeastDelays least,
              pulse::least_delays(whole, options, report_, {most_seconds}));
  return std::optional(std::move(least));
}

/// Add the proven minimum delays, and the nodes that delay beyond these.
Status Inspection::add_least(const pulse::LeastDelays& least) {
  for (size_t i = 0; i < out_.wires.size(); ++i) {
    WireLatency& row = out_.wires[i];
    double before = 0;
    for (const int input : row.wire.inputs) {
      before = std::max(before, out_.wires[static_cast<size_t>(input)].lost);
    }
    row.least = least.wires[i];
    row.lost = row.least ? in_frames(row.wire.delay - *row.least, row.wire.pulse) : before;
    row.loses = row.lost - before;
  }
  for (size_t i = 0; i < out_.outputs.size(); ++i) {
    if (!least.outputs[i]) continue;
    OutputLatency& row = out_.outputs[i];
    row.least = least.outputs[i];
    row.least_latency = in_frames(*row.least, row.stream.pulse);
    if (*row.least > row.stream.delay) {
      return fail(Code::kInternal, "output ", row.name, " is given after ",
                  counted(row.stream.delay, "frame"), ", and depends on frames up to ", *row.least,
                  " later: the stream does not give the frames of the whole run")
          .hint("This is an error of rill: please report it, with the model");
    }
    const int wire = report_.outputs[i].wire;
    if (wire >= 0 && *row.least < row.stream.delay) add_losing(wire, &row);
  }
  return {};
}

void Inspection::add_losing(int wire, OutputLatency* row) const {
  const auto at = [&](int id) -> const WireLatency& {
    return out_.wires[static_cast<size_t>(id)];
  };
  const auto add = [&](int id) {
    if (at(id).loses > 0) row->losing.push_back(id);
    return false;
  };
  any_reached(wire, add, [&](int id, const auto& reach) {
    for (const int input : at(id).wire.inputs) reach(input);
  });
  sort_list(row->losing);
}

/// Find the pulse that fills the chunks for which several layers wait.
Status Inspection::find_chunk() {
  const auto loses = [](const OutputLatency& output) { return !output.losing.empty(); };
  if (none_of(out_.outputs, loses) || out_.pulse_multiple == 0) return {};
  const int64_t pulse = out_.plan->stream_pulse;
  RILL_ASSIGN(const pulse::ChunkPulse found,
              pulse::chunk_pulse(*whole_, options_, out_.pulse_multiple));
  if (found.pulse <= pulse) return {};
  double latest = 0;
  for (const OutputLatency& output : out_.outputs) {
    latest = std::max(latest,
                      pulse::symbol_frames(output.stream.delay, output.stream.pulse, pulse));
  }
  // The frames of a chunk come out with the push that completes it.
  const auto waits = static_cast<double>(found.pulse - std::gcd(found.pulse, pulse));
  if (waits + found.delay < latest) out_.chunk = {found.pulse, waits + found.delay};
  return {};
}

std::vector<int> Inspection::path_to(size_t output) const {
  std::vector<int> path;
  if (!whole_ || output >= whole_->outputs.size()) return path;
  const OutletId outlet = whole_->outputs[output];
  const std::string& name = whole_->node(outlet.node).name;
  int at = -1;
  for (size_t i = 0; i < out_.wires.size(); ++i) {
    const pulse::Wire& wire = out_.wires[i].wire;
    if (wire.name == name && wire.slot == outlet.slot) at = static_cast<int>(i);
  }
  while (at >= 0) {
    path.push_back(at);
    int next = -1;
    for (const int input : out_.wires[static_cast<size_t>(at)].wire.inputs) {
      const bool later = next < 0 || out_.wires[static_cast<size_t>(input)].after >
                                         out_.wires[static_cast<size_t>(next)].after;
      if (later) next = input;
    }
    at = next;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Result<Latency> Inspection::run(double most_seconds) {
  const ProgressStage stage(Stage::kCheck);
  for (const std::string& symbol : symbols_of(pulsed_)) {
    if (symbol != options_.symbol) out_.others.emplace_back(symbol, 1);
  }
  // Before the plan is made: weights are packed for one plan at a time.
  RILL_ASSIGN(const std::optional<pulse::LeastDelays> least, least_delays(most_seconds));
  RILL_ASSIGN(const Ready ready, make_ready(pulsed_, out_.others, true));
  out_.plan = ready.plan;
  if (const int counting = counting_input(*out_.plan); counting >= 0) {
    input_pulse_ = out_.plan->inputs[static_cast<size_t>(counting)].stream.pulse;
  }
  if (whole_) {
    RILL_ASSIGN(out_.pulse_multiple, pulse::least_pulse(*whole_, options_));
  }
  add_wires();
  add_states();
  for (size_t i = 0; i < out_.plan->outputs.size(); ++i) {
    OutputLatency row;
    row.name = out_.plan->outputs[i].name;
    row.stream = out_.plan->outputs[i].stream;
    if (row.stream.axis >= 0) {
      row.latency = in_frames(row.stream.delay, row.stream.pulse);
      row.path = path_to(i);
    }
    out_.outputs.push_back(std::move(row));
  }
  if (least) {
    RILL_TRY(add_least(*least));
    RILL_TRY(find_chunk());
  }
  RILL_TRY(progress(1));
  return std::move(out_);
}

}  // namespace

std::vector<const WireLatency*> Latency::expensive() const {
  std::vector<const WireLatency*> out;
  for (const OutputLatency& output : outputs) {
    for (const int at : output.path) {
      const WireLatency* row = &wires[static_cast<size_t>(at)];
      const bool known = contains(out, row);
      if (row->added() > 0 && !known) out.push_back(row);
    }
  }
  const auto more = [](const WireLatency* a, const WireLatency* b) {
    return a->added() > b->added();
  };
  sort_list(out, more);
  return out;
}

Result<Latency> latency_of(const Graph* whole, const Graph& pulsed, const pulse::Report& report,
                           const pulse::Options& options, double most_seconds) {
  return Inspection(whole, pulsed, report, options).run(most_seconds);
}

}  // namespace rill::audit
