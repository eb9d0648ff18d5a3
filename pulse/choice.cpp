#include "pulse/choice.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/exec/plan.h"
#include "core/optim/optim.h"

namespace rill::pulse {
namespace {

// One core with wide vectors, and caches that hold the model. What counts is how work, weights that
// each step reads anew, and steps of nodes compare.
constexpr double kFmaPerUs = 48000;
constexpr double kBytesPerUs = 60000;
constexpr double kNodeUs = 0.05;

constexpr int64_t kMultiples[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr double kLittleMore = 1.25;

Result<Graph> with_ones(Graph graph, std::string_view stream_symbol) {
  std::vector<std::string> symbols;
  for (const std::vector<OutletId>* ends : {&graph.inputs, &graph.outputs}) {
    for (const OutletId end : *ends) {
      for (const Dim& extent : graph.fact(end).shape) extent.collect_symbols(&symbols);
    }
  }
  for (const std::string& symbol : symbols) {
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
      // Weights are read once a step, however many frames it has.
      if (in.back().konst) bytes += static_cast<double>(in.back().konst->size_bytes());
    }
    const Cost cost = node.op->cost(in, node.outputs);
    fma += static_cast<double>(cost.fma.to_int().value_or(0));
    bytes += static_cast<double>(cost.bytes.to_int().value_or(0));
  }
  return fma / kFmaPerUs + bytes / kBytesPerUs + static_cast<double>(nodes) * kNodeUs;
}

Result<Choice> choice_of(const Graph& graph, Options options, int64_t pulse) {
  options.pulse = Dim(pulse);
  Report report;
  RILL_ASSIGN(Graph pulsed, pulsify(graph, options, &report));
  RILL_ASSIGN(const Graph ready, with_ones(std::move(pulsed), options.symbol));
  RILL_ASSIGN(const auto plan, prepare(ready));
  Choice out;
  out.pulse = pulse;
  for (const Stream& stream : report.outputs) {
    if (stream.axis < 0) continue;
    out.delay = std::max(out.delay, symbol_frames(stream.delay, stream.pulse, pulse));
  }
  out.step_us = cost_us(ready);
  out.state_bytes = plan->state_bytes;
  out.arena_bytes = plan->arena_bytes;
  return out;
}

/// Drop blanks at both ends.
std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Read `min=8` into the bound that it names; false if it names none.
bool read_bound(std::string_view text, Bounds* out) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = trimmed(text.substr(0, equals));
  const std::string_view digits = trimmed(text.substr(equals + 1));
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || value < (name == "max_delay" ? 0 : 1)) return false;
  int64_t* bound = name == "min"         ? &out->least
                   : name == "max"       ? &out->most
                   : name == "max_delay" ? &out->max_delay
                                         : nullptr;
  if (bound) *bound = value;
  return bound != nullptr;
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
    return fail(Code::kPulse, "pulse ", text, ": expected auto, or auto:min=8,max=64,max_delay=40")
        .hint("Each bound is optional, counts frames of the stream symbol, and min is at most max");
  }
  return std::optional(out);
}

Result<std::vector<Choice>> choices(const Graph& graph, const Options& options,
                                    const Bounds& bounds) {
  RILL_ASSIGN(const int64_t unit, least_pulse(graph, options));
  const int64_t first = (bounds.least - 1) / unit + 1;
  std::vector<Choice> out;
  double least_latency = 0;
  for (const int64_t multiple : kMultiples) {
    // A bound far beyond all memory has no multiple that fits into a number.
    if (first > bounds.most / unit / multiple) break;
    RILL_ASSIGN(const Choice choice, choice_of(graph, options, first * multiple * unit));
    if (multiple == 1) least_latency = choice.latency();
    if (choice.latency() > static_cast<double>(bounds.max_delay)) break;
    out.push_back(choice);
  }
  if (!out.empty()) return out;
  if (first > bounds.most / unit) {
    return fail(Code::kPulse, "no legal pulse from ", bounds.least, " to ", bounds.most,
                ": legal pulses are multiples of ", unit);
  }
  return fail(Code::kPulse, "no pulse has a latency of at most ", bounds.max_delay,
              " frames: the least is ", least_latency)
      .hint("`rill MODEL --pulse auto inspect` lists every pulse with its latency");
}

const Choice& best(const std::vector<Choice>& choices) {
  double least = choices[0].us_per_frame();
  for (const Choice& choice : choices) least = std::min(least, choice.us_per_frame());
  return *std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
    return choice.us_per_frame() <= kLittleMore * least;
  });
}

}  // namespace rill::pulse
