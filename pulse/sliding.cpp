#include "pulse/sliding.h"

#include <algorithm>
#include <numeric>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/fingerprint.h"
#include "core/graph/written.h"
#include "core/optim/optim.h"
#include "ops/array/axis_ops.h"
#include "ops/array/slice.h"
#include "ops/built.h"
#include "ops/stream/delay.h"
#include "ops/stream/mask.h"
#include "pulse/before/ties.h"
#include "pulse/builder.h"
#include "pulse/lengths.h"
#include "pulse/ready.h"
#include "pulse/refusals.h"

namespace rill::pulse {
namespace {

constexpr char kProperty[] = "rill.window";
/// Limits of the window that is tried before a refusal proposes windows.
constexpr int64_t kMostUnit = int64_t{1} << 16;
constexpr int64_t kTriedFrames = 24;

/// Return the axis with the symbol: -1 if there is none, -2 if there are several.
int stream_axis(const Fact& fact, std::string_view symbol) {
  int out = -1;
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (fact.dim(axis).mentions(symbol)) out = out == -1 ? axis : -2;
  }
  return out;
}

/// Refuse an input or output, whose name the caller fills in.
Status unfit(std::string what, std::string remedy) { return fail(Code::kPulse, what).hint(remedy); }

/// Builds the steps of a graph whose symbol is bound to the frames of the window.
class Slider {
 public:
  Slider(const Graph& whole, const Graph& bound, const std::string& symbol, const Window& window)
      : whole_(whole), bound_(bound), symbol_(symbol), window_(window) {
    out_ = empty_like(bound);
    out_.scope.declare(symbol);
  }

  Result<Graph> run();

 private:
  Status node(int id);
  Result<OutletId> whole_window(OutletId source, int axis, int64_t each);
  Status input(int id, size_t index);
  Status output(size_t index);
  Result<StreamingOutput> middle(const Dim& length, int axis, OutletId* outlet);
  Result<OutletId> add1(std::string_view name, OpPtr op, OutletId input) {
    RILL_ASSIGN(const auto outlets, out_.add(name, std::move(op), {input}));
    return outlets[0];
  }

  const Graph& whole_;
  const Graph& bound_;
  const std::string& symbol_;
  const Window window_;
  Graph out_;
  std::vector<std::vector<OutletId>> made_;  ///< by node of the bound graph
  std::vector<char> streams_;                ///< whether it depends on frames of the stream
  Streaming streaming_;
};

/// Prepend the earlier frames of the window to each step of an input with `each` frames per unit of
/// the symbol.
Result<OutletId> Slider::whole_window(OutletId source, int axis, int64_t each) {
  const Fact fact = out_.fact(source);
  const StreamFact frames{axis, Dim(each) * Dim::symbol(symbol_), 0, nullptr};
  RILL_ASSIGN(auto mask, ops::mask_around(fact, frames, false, true, Tensor::scalar(0.0F)));
  auto delay = draft_op<ops::Delay>();
  delay->axis = axis;
  delay->overlap = (window_.left + window_.right) * each;
  // The number 0 is the zero point, whose byte may not be 0.
  if (is_quantised(fact.dtype)) delay->pad_value = mask->value;
  const std::string name = out_.node(source.node).name;
  RILL_ASSIGN(source, add1(name + "_ended", std::move(mask), source));
  return add1(name + "_window", std::move(delay), source);
}

Status Slider::input(int id, size_t index) {
  const Node& node = bound_.node(id);
  const Fact& fact = whole_.fact(whole_.inputs[index]);
  const int axis = stream_axis(fact, symbol_);
  if (axis < -1 || (axis >= 0 && !counts_symbol(fact.dim(axis), symbol_))) {
    return unfit(str_cat("input ", fact, " is not proportional to ", symbol_),
                 "Windows need inputs of S frames on one axis, or of a multiple; give other axes a "
                 "fixed extent");
  }
  Fact pulsed = node.outputs[0];
  streaming_.input_axes.push_back(axis);
  streaming_.input_lengths.emplace_back();
  streams_.push_back(static_cast<char>(axis >= 0));
  const int64_t each = axis < 0 ? 0 : fact.dim(axis).eval(symbol_, 1).value_or(1);
  if (axis >= 0) pulsed.shape[static_cast<size_t>(axis)] = window_.step * each;
  OutletId made = out_.add_source(node.name, std::move(pulsed), node.line);
  if (axis >= 0) {
    RILL_ASSIGN(made, whole_window(made, axis, each));
  }
  made_.push_back({made});
  return {};
}

Status Slider::node(int id) {
  Node step = bound_.node(id);
  bool streams = false;
  for (OutletId& input : step.inputs) {
    const auto node = static_cast<size_t>(input.node);
    streams |= streams_[node] != 0;
    input = made_[node][static_cast<size_t>(input.slot)];
  }
  if (OpPtr op = step.op->stateless()) step.op = std::move(op);
  if (step.op->state_bytes(out_.facts_of(step.inputs)) > 0) {
    return unfit("it keeps state between runs, and every step is a run over another window",
                 "Compute it in the app, and make its output an input")
        .in_node(step.name, step.op->name());
  }
  std::vector<OutletId> inputs = step.inputs;
  made_.push_back(out_.add_known(step, std::move(inputs)));
  streams_.push_back(static_cast<char>(streams));
  return {};
}

/// Cut an output to the frames in the middle of the window.
Result<StreamingOutput> Slider::middle(const Dim& length, int axis, OutletId* outlet) {
  RILL_ASSIGN(const WindowRate rate, window_rate(length, symbol_));
  if (std::gcd(std::gcd(window_.left, window_.step), window_.right) % rate.unit != 0) {
    return unfit(str_cat("its length is ", length, ": windows begin between frames"),
                 str_cat("Use multiples of ", rate.unit, " as LEFT, STEP and RIGHT"));
  }
  const Dim begin(rate.of(window_.left));
  const Dim end = begin + Dim(rate.of(window_.step));
  const Dim frames = out_.fact(*outlet).dim(axis);
  if (frames.to_int() < end.to_int()) {
    // The number of frames by which the output falls short of its rate times a long input.
    const int64_t far = rate.unit << 24;
    const int64_t fewer = rate.of(far) - length.eval(symbol_, far).value_or(0);
    const int64_t least = (fewer + rate.frames - 1) / rate.frames * rate.unit;
    return unfit(str_cat("a window has ", frames, " of its frames: expected ", end, " at least"),
                 str_cat("Use a RIGHT of ", std::max(least, window_.right + 1), " or more"));
  }
  RILL_ASSIGN(*outlet, add1(out_.node(outlet->node).name + "_middle",
                            make_op<ops::Slice>(axis, begin, end), *outlet));
  return StreamingOutput{axis, rate.of(window_.right), whole_.scope.simplify(max(Dim(0), length))};
}

Status Slider::output(size_t index) {
  const OutletId from = bound_.outputs[index];
  const Fact& fact = whole_.fact(whole_.outputs[index]);
  OutletId outlet = made_[static_cast<size_t>(from.node)][static_cast<size_t>(from.slot)];
  const int axis = stream_axis(fact, symbol_);
  StreamingOutput stream;
  if (axis == -2 || value_mentions(fact.konst, symbol_)) {
    return unfit(str_cat("an output of ", fact, ", of the length of the stream, ", symbol_),
                 "Choose outputs of frames along one axis");
  }
  if (axis >= 0) {
    RILL_ASSIGN(stream, middle(fact.dim(axis), axis, &outlet));
  } else if (streams_[static_cast<size_t>(from.node)] != 0) {
    RILL_ASSIGN(outlet,
                add1(out_.node(outlet.node).name + "_rows", make_op<ops::AddAxis>(0), outlet));
    stream = {0, 0, ceil_div(Dim::symbol(symbol_), window_.step)};
  }
  streaming_.outputs.push_back(std::move(stream));
  out_.add_output(whole_.output_names[index], outlet);
  return {};
}

Result<Graph> Slider::run() {
  for (size_t i = 0; i < bound_.nodes.size(); ++i) {
    const int id = static_cast<int>(i);
    const auto at = find(bound_.inputs, OutletId{id, 0});
    const bool is_input = at != bound_.inputs.end();
    RILL_TRY(is_input ? input(id, static_cast<size_t>(at - bound_.inputs.begin())) : node(id));
  }
  for (size_t i = 0; i < bound_.outputs.size(); ++i) {
    Status status = output(i);
    if (!status.ok()) return std::move(status).in_node(whole_.output_names[i], "output");
  }
  streaming_.named = symbol_;
  streaming_.pulse = streaming_.begin_unit = window_.step;
  streaming_.late_end = true;
  streaming_.model = fingerprint(out_);
  out_.streaming = std::move(streaming_);
  const int64_t numbers[] = {window_.left, window_.step, window_.right};
  RILL_ASSIGN(out_.properties[kProperty], Tensor::of<int64_t>(DType::kI64, {3}, numbers));
  return std::move(out_).compacted();
}

}  // namespace

Result<WindowRate> window_rate(const Dim& length, std::string_view symbol) {
  const auto unit = least_even_step(length, symbol, kMostPulse);
  const auto pattern = DimPattern::of(length, symbol);
  const auto growth =
      pattern.ok() && unit.ok() && *unit ? checked_mul(pattern->growth(), **unit) : std::nullopt;
  if (!growth || *growth % pattern->period() != 0) {
    return unfit(str_cat("a length of ", length, " does not grow in proportion to ", symbol),
                 "Bind its other symbols, as in --set B=1, or choose other outputs");
  }
  return WindowRate{*growth / pattern->period(), **unit};
}

Result<Graph> slide(const Graph& graph, const std::string& symbol, const Window& window) {
  if constexpr (!ops::built("windows")) return ops::left_out("windows", "windows");
  if (std::min(window.left, window.right) < 0 || window.step < 1 ||
      std::max({window.left, window.step, window.right}) > kMostPulse / 4) {
    return unfit(
        str_cat("a window of ", window.left, ",", window.step, ",", window.right,
                " frames: expected LEFT,STEP,RIGHT, with a STEP of 1 or more, each at most ",
                kMostPulse / 4),
        "As in --window S=40,8,16");
  }
  RILL_TRY(refuse_pulsed(graph));
  // Simplify before and after binding the symbol, like a whole run, for the same bits.
  RILL_ASSIGN(Graph whole, with_ties(graph, symbol));
  RILL_ASSIGN(whole, declutter(whole));
  if (none_of(whole.inputs, [&](OutletId input) { return whole.fact(input).mentions(symbol); })) {
    return no_stream(whole, symbol);
  }
  auto bound = whole.with_symbol(symbol, Dim(window.frames()));
  if (bound.ok()) bound = declutter(*bound);
  if (!bound.ok()) return bound.take_status().hint("Give the window other frames");
  RILL_TRY(whole.scope.assert_text(symbol + " >= 1"));
  return Slider(whole, *bound, symbol, window).run();
}

Status or_windows(const Graph& graph, const std::string& symbol, Status refused) {
  if constexpr (!ops::built("windows")) return refused;
  Error& error = refused.error();
  if (wants_another_pulse(error) || error.hint.starts_with("Bind ")) return refused;
  int64_t unit = 1;
  for (const OutletId& output : graph.outputs) {
    for (const Dim& dim : graph.fact(output).shape) {
      if (!dim.mentions(symbol)) continue;
      const auto rate = window_rate(dim, symbol);
      if (rate.ok()) unit = std::lcm(unit, std::min(rate->unit, kMostUnit));
      if (!rate.ok() || unit > kMostUnit) return refused;
    }
  }
  const int64_t frames = (kTriedFrames + unit - 1) / unit * unit;
  if (!slide(graph, symbol, {frames, frames, frames}).ok()) return refused;
  if (!error.hint.empty()) error.hint += ". ";
  error.hint +=
      "If an approximation will do, --window " + symbol + "=LEFT,STEP,RIGHT computes whole windows";
  return refused;
}

std::optional<Window> window_of(const Graph& graph) {
  const auto found = graph.properties.find(kProperty);
  if (!graph.streaming || found == graph.properties.end()) return std::nullopt;
  const Tensor& numbers = found->second;
  if (numbers.dtype() != DType::kI64 || numbers.volume() != 3) return std::nullopt;
  const auto* frames = static_cast<const int64_t*>(numbers.raw());
  const Window out{frames[0], frames[1], frames[2]};
  const bool sane = out.left >= 0 && out.step == graph.streaming->pulse && out.right >= 0;
  return sane ? std::optional(out) : std::nullopt;
}

}  // namespace rill::pulse
