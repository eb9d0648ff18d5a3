#include "pulse/choice.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "core/base/checked.h"
#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/exec/plan.h"
#include "core/optim/optim.h"

namespace rill::pulse {
namespace {

// A cost model of one core with wide vectors, whose caches hold the model. Only the ratios between
// multiply-adds, weight reads per step, and node overhead matter.
constexpr double kFmaPerUs = 48000;
constexpr double kBytesPerUs = 60000;
constexpr double kNodeUs = 0.05;

constexpr int64_t kMultiples[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr int64_t kChunks[] = {1, 2, 3, 4, 6, 8};
constexpr double kLittleMore = 1.25;

Result<Graph> with_ones(Graph graph, std::string_view stream_symbol) {
  for (const std::string& symbol : symbols_of(graph)) {
    if (symbol == stream_symbol) continue;
    RILL_ASSIGN(graph, graph.with_symbol(symbol, Dim(1)));
  }
  return declutter(graph);
}

double cost_us(const Graph& graph) {
  double fma = 0;
  double bytes = 0;
  int64_t nodes = 0;
  for (const Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    ++nodes;
    Facts in;
    for (const OutletId& input : node.inputs) {
      in.push_back(graph.fact(input));
      // Each step reads the weights once, for any number of frames.
      if (in.back().konst) bytes += static_cast<double>(in.back().konst->size_bytes());
    }
    const Cost cost = node.op->cost(in, node.outputs);
    fma += static_cast<double>(cost.fma.to_int().value_or(0));
    bytes += static_cast<double>(cost.bytes.to_int().value_or(0));
  }
  return fma / kFmaPerUs + bytes / kBytesPerUs + static_cast<double>(nodes) * kNodeUs;
}

double delay_of(const Report& report, int64_t pulse) {
  double out = 0;
  for (const Stream& stream : report.outputs) {
    if (stream.axis < 0) continue;
    out = std::max(out, symbol_frames(stream.delay, stream.pulse, pulse));
  }
  return out;
}

/// Return pulses that may fill the chunks for which wires wait, as multiples of `unit`. `report`:
/// of the stream with pulse `unit`. A wire of `pulse` frames per step waits for (1 + r) * chunk - g
/// frames: r is the number of chunks it looks ahead, and g is gcd(pulse, chunk).
std::set<int64_t> chunk_candidates(const Report& report, int64_t unit) {
  constexpr int64_t kMostToCome = 2;
  std::set<int64_t> out;
  for (const Wire& wire : report.wires) {
    if (wire.pulse <= 0) continue;
    double before = 0;
    for (const int input : wire.inputs) {
      const Wire& from = report.wires[static_cast<size_t>(input)];
      before = std::max(before, symbol_frames(from.delay, from.pulse, wire.pulse));
    }
    const auto waits = static_cast<int64_t>(static_cast<double>(wire.delay) - before);
    if (waits <= 0) continue;
    for (int64_t common = 1; common <= wire.pulse; ++common) {
      for (int64_t chunks = 1; chunks <= 1 + kMostToCome; ++chunks) {
        const int64_t chunk = (waits + common) / chunks;
        if (wire.pulse % common != 0 || (waits + common) % chunks != 0) continue;
        if (const auto pulse = checked_mul(chunk / std::gcd(chunk, wire.pulse), unit)) {
          out.insert(*pulse);
        }
      }
    }
  }
  return out;
}

Result<Choice> choice_of(const Graph& graph, Options options, int64_t pulse) {
  options.pulse = Dim(pulse);
  Report report;
  RILL_ASSIGN(Graph pulsed, pulsify(graph, options, &report));
  RILL_ASSIGN(const Graph ready, with_ones(std::move(pulsed), options.symbol));
  RILL_ASSIGN(const auto plan, prepare(ready));
  Choice out;
  out.pulse = pulse;
  out.delay = delay_of(report, pulse);
  out.step_us = cost_us(ready);
  out.state_bytes = plan->state_bytes;
  out.arena_bytes = plan->arena_bytes;
  return out;
}

/// Read `min=8` into the named bound; false if there is no such bound.
bool read_bound(std::string_view text, Bounds* out) {
  const struct {
    std::string_view name;
    int64_t least;
    int64_t* bound;
  } known[] = {{"min", 1, &out->least},
               {"max", 1, &out->most},
               {"max_delay", 0, &out->max_delay},
               {"max_latency", 0, &out->max_latency}};
  const size_t equals = text.find('=');
  for (const auto& [name, least, bound] : known) {
    if (trimmed(text.substr(0, equals)) != name || equals == std::string_view::npos) continue;
    const auto value = parse_dim(text.substr(equals + 1));
    *bound = value.ok() ? value->to_int().value_or(-1) : -1;
    return *bound >= least;
  }
  return false;
}

/// Return whether the delay and the latency are within the bounds.
bool is_early(const Choice& choice, const Bounds& bounds) {
  return choice.delay <= static_cast<double>(bounds.max_delay) &&
         choice.latency() <= static_cast<double>(bounds.max_latency);
}

}  // namespace

double symbol_frames(int64_t delay, int64_t wire_pulse, int64_t pulse) {
  if (wire_pulse <= 0) return 0;
  return static_cast<double>(delay) * static_cast<double>(pulse) / static_cast<double>(wire_pulse);
}

Result<std::optional<Bounds>> parse_bounds(std::string_view text) {
  if (trimmed(text.substr(0, text.find(':'))) != "auto") return std::optional<Bounds>();
  Bounds out;
  bool fits = true;
  for (size_t at = text.find(':'); at != std::string_view::npos && fits;) {
    const size_t next = text.find(',', at + 1);
    fits = read_bound(text.substr(at + 1, next - at - 1), &out);
    at = next;
  }
  if (!fits || out.least > out.most) {
    return fail(Code::kPulse, "pulse ", text,
                ": expected auto, or auto:min=8,max=64,max_delay=20,max_latency=40")
        .hint("Each bound is optional, counts frames of the stream symbol, and min is at most max");
  }
  return std::optional(out);
}

Result<ChunkPulse> chunk_pulse(const Graph& graph, Options options, int64_t unit) {
  constexpr size_t kMostTried = 8;
  options.pulse = Dim(unit);
  Report report;
  RILL_TRY(pulsify(graph, options, &report).status());
  double least = delay_of(report, unit);
  ChunkPulse out;
  size_t tried = 0;
  for (const int64_t pulse : chunk_candidates(report, unit)) {
    if (least <= 0 || ++tried > kMostTried) break;
    options.pulse = Dim(pulse);
    Report other;
    if (!pulsify(graph, options, &other).ok()) continue;
    const double delay = delay_of(other, pulse);
    if (delay < least) out = {pulse, delay};
    least = std::min(least, delay);
  }
  return out;
}

Result<std::vector<Choice>> choices(const Graph& graph, const Options& options,
                                    const Bounds& bounds) {
  const ProgressStage stage(Stage::kPulse);
  RILL_ASSIGN(const int64_t unit, least_pulse(graph, options));
  const int64_t first = (bounds.least - 1) / unit + 1;
  std::set<int64_t> pulses;
  for (const int64_t multiple : kMultiples) {
    // A huge bound has no multiple that fits int64.
    if (first > bounds.most / unit / multiple) break;
    pulses.insert(first * multiple * unit);
  }
  int64_t chunk = 0;
  if (!pulses.empty()) {
    RILL_ASSIGN(const ChunkPulse found, chunk_pulse(graph, options, unit));
    chunk = found.pulse;
  }
  for (const int64_t multiple : kChunks) {
    if (chunk == 0 || multiple > bounds.most / chunk) break;
    if (multiple * chunk >= bounds.least) pulses.insert(multiple * chunk);
  }
  std::vector<Choice> out;
  std::optional<Choice> earliest;
  size_t tried = 0;
  for (const int64_t pulse : pulses) {
    RILL_TRY(progress(tried++, pulses.size()));
    if (earliest && pulse - 1 > bounds.max_latency) break;
    RILL_ASSIGN(const Choice choice, choice_of(graph, options, pulse));
    // If a layer reads chunks of frames, longer pulses may have less latency than shorter ones.
    if (is_early(choice, bounds)) out.push_back(choice);
    if (!earliest || choice.latency() < earliest->latency()) earliest = choice;
  }
  if (!out.empty()) return out;
  if (!earliest) {
    return fail(Code::kPulse, "no legal pulse from ", bounds.least, " to ", bounds.most,
                ": legal pulses are multiples of ", unit);
  }
  return fail(Code::kPulse, "no pulse is within the bounds: the earliest, ", earliest->pulse,
              ", has a delay (in frames) of ", earliest->delay, " and a latency of ",
              earliest->latency())
      .hint("`rill MODEL --pulse auto inspect` lists pulses with their latency");
}

const Choice& best(const std::vector<Choice>& choices) {
  double least = choices[0].us_per_frame();
  for (const Choice& choice : choices) least = std::min(least, choice.us_per_frame());
  const Choice* out = nullptr;
  for (const Choice& choice : choices) {
    if (choice.us_per_frame() > kLittleMore * least) continue;
    if (!out || choice.latency() < out->latency()) out = &choice;
  }
  return *out;
}

}  // namespace rill::pulse
