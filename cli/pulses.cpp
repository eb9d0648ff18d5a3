#include "cli/pulses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/exec.h"
#include "cli/notes.h"
#include "cli/symbols.h"

namespace rill::cli {
namespace {

// One core with wide vectors, and caches that hold the model. What counts is how work, weights that
// each step reads anew, and steps of nodes compare.
constexpr double kFmaPerUs = 48000;
constexpr double kBytesPerUs = 60000;
constexpr double kNodeUs = 0.05;

constexpr int64_t kMultiples[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr double kLittleMore = 1.25;

/// All symbols but the stream's are taken for 1: they scale the costs of all pulses alike.
Result<Graph> bound(const Graph& graph, const std::string& stream_symbol) {
  Bindings ones;
  for (const std::string& symbol : symbols_of(graph)) {
    if (symbol != stream_symbol) ones.emplace_back(symbol, 1);
  }
  return bind_symbols(graph, ones);
}

double cost_us(const Graph& graph) {
  double fma = 0;
  double bytes = 0;
  int64_t nodes = 0;
  for (const Node& node : graph.nodes) {
    if (node.op->as<Const>() || node.op->as<Source>()) continue;
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

Result<PulseChoice> choice_of(const Graph& graph, pulse::Options options, int64_t pulse) {
  options.pulse = Dim(pulse);
  pulse::Report report;
  RILL_ASSIGN(const Graph pulsed, pulse::pulsify(graph, options, &report));
  RILL_ASSIGN(const Graph ready, bound(pulsed, options.symbol));
  RILL_ASSIGN(const auto plan, prepare(ready));
  PulseChoice out;
  out.pulse = pulse;
  for (const pulse::Stream& stream : report.outputs) {
    if (stream.axis < 0) continue;
    out.delay = std::max(out.delay, symbol_frames(stream.delay, stream.pulse, pulse));
  }
  out.step_us = cost_us(ready);
  out.state_bytes = plan->state_bytes;
  out.arena_bytes = plan->arena_bytes;
  return out;
}

}  // namespace

double symbol_frames(int64_t delay, int64_t wire_pulse, int64_t pulse) {
  if (wire_pulse <= 0) return 0;
  return static_cast<double>(delay) * static_cast<double>(pulse) / static_cast<double>(wire_pulse);
}

Result<std::optional<AutoPulse>> parse_auto_pulse(std::string_view text) {
  AutoPulse out;
  if (const size_t equals = text.find('='); equals < text.find(':')) {
    out.symbol = trimmed(text.substr(0, equals));
    text = text.substr(equals + 1);
  }
  if (trimmed(text.substr(0, text.find(':'))) != "auto") return std::optional<AutoPulse>();
  const auto refuse = [&] {
    return fail(Code::kPulse, "--pulse ", text, ": expected auto, or auto:min=8,max=64");
  };
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::optional(out);
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    RILL_ASSIGN(const auto setting, parse_setting(part));
    const auto value = setting.second.to_int();
    if (!value || *value < 1) return refuse();
    if (setting.first == "min") {
      out.least = *value;
    } else if (setting.first == "max") {
      out.most = *value;
    } else {
      return refuse();
    }
  }
  if (out.least > out.most) return refuse();
  return std::optional(out);
}

Result<std::vector<PulseChoice>> pulse_choices(const Graph& graph, const pulse::Options& options,
                                               const AutoPulse& bounds) {
  RILL_ASSIGN(const int64_t unit, pulse::least_pulse(graph, options));
  const int64_t first = (bounds.least + unit - 1) / unit;
  std::vector<PulseChoice> out;
  for (const int64_t multiple : kMultiples) {
    const int64_t pulse = first * multiple * unit;
    if (pulse > bounds.most) break;
    RILL_ASSIGN(PulseChoice choice, choice_of(graph, options, pulse));
    out.push_back(choice);
  }
  if (out.empty()) {
    return fail(Code::kPulse, "no legal pulse from ", bounds.least, " to ", bounds.most,
                ": legal pulses are multiples of ", unit);
  }
  return out;
}

const PulseChoice& best_choice(const std::vector<PulseChoice>& choices) {
  double least = choices[0].us_per_frame();
  for (const PulseChoice& choice : choices) least = std::min(least, choice.us_per_frame());
  return *std::find_if(choices.begin(), choices.end(), [&](const PulseChoice& choice) {
    return choice.us_per_frame() <= kLittleMore * least;
  });
}

std::string pulse_picture(const std::vector<PulseChoice>& choices, double frame_ms,
                          const std::string& title) {
  constexpr double kLeft = 80;
  constexpr double kTop = 50;
  constexpr double kWidth = 520;
  constexpr double kHeight = 280;
  const double scale = frame_ms > 0 ? frame_ms : 1;
  // Per millisecond of stream where a frame has a length, else per frame.
  const double per = frame_ms > 0 ? 1 / frame_ms : 1;
  double most_x = 0;
  double most_y = 0;
  for (const PulseChoice& choice : choices) {
    most_x = std::max(most_x, choice.latency() * scale);
    most_y = std::max(most_y, choice.us_per_frame() * per);
  }
  most_x = most_x > 0 ? most_x : 1;
  const auto x_of = [&](double value) { return kLeft + value / most_x * kWidth; };
  const auto y_of = [&](double value) { return kTop + kHeight - value / most_y * kHeight; };
  std::string escaped;
  for (const char c : title) {
    escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"680\" height=\"400\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"680\" height=\"400\" fill=\"white\"/>\n"
      "<text x=\"{}\" y=\"24\" font-size=\"15\">{}</text>\n"
      "<path d=\"M{} {} v{} h{}\" fill=\"none\" stroke=\"#888\"/>\n",
      kLeft, escaped, kLeft, kTop, kHeight, kWidth);
  out += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">latency, {}</text>\n"
      "<text x=\"20\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {})\">{}</text>\n",
      kLeft + kWidth / 2, kTop + kHeight + 40, frame_ms > 0 ? "ms" : "frames", kTop + kHeight / 2,
      kTop + kHeight / 2, frame_ms > 0 ? "CPU, us per ms of stream" : "CPU, us per frame");
  for (int tick = 0; tick <= 4; ++tick) {
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:.4g}</text>\n"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.4g}</text>\n",
        x_of(most_x * tick / 4), kTop + kHeight + 18, most_x * tick / 4, kLeft - 8,
        y_of(most_y * tick / 4) + 4, most_y * tick / 4);
  }
  std::string line;
  const PulseChoice& best = best_choice(choices);
  for (const PulseChoice& choice : choices) {
    const double x = x_of(choice.latency() * scale);
    const double y = y_of(choice.us_per_frame() * per);
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : " L", x, y);
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        x, y, &choice == &best ? 6 : 4, &choice == &best ? "#d0402b" : "#2b6cd0", x + 8, y - 6,
        choice.pulse);
  }
  return out + fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#2b6cd0\"/>\n</svg>\n", line);
}

}  // namespace rill::cli
