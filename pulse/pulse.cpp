#include "pulse/pulse.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/limits.h"
#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/exec/input_indices.h"
#include "core/graph/course.h"
#include "core/graph/fingerprint.h"
#include "core/graph/walk.h"
#include "core/graph/written.h"
#include "core/optim/optim.h"
#include "ops/built.h"
#include "ops/stream/delay.h"
#include "ops/stream/length.h"
#include "pulse/before/long_streams.h"
#include "pulse/builder.h"
#include "pulse/leading.h"
#include "pulse/lengths.h"
#include "pulse/ready.h"
#include "pulse/refusals.h"
#include "pulse/short_streams.h"
#include "pulse/sliding.h"
#include "pulse/unread.h"

namespace rill::pulse {
namespace {

/// The part of the time that the first run over the nodes takes; another one may follow.
constexpr double kFirstRun = 0.6;

/// Translates a graph node by node, collecting every reason to refuse.
class Pulsifier {
 public:
  /// `unread`: for every node, the number of its first output frames without a reader.
  Pulsifier(const Graph& whole, const Options& options, std::vector<int64_t> unread)
      : whole_(whole), options_(options), builder_(whole, options, &pulsed_, std::move(unread)) {
    pulsed_ = empty_like(whole);
    pulsed_.scope.declare(options.symbol);
  }

  Result<Graph> run(Report* report);
  /// Return the unit of pulses that refusals require; 1 if none did.
  int64_t unit() const { return builder_.unit(); }
  /// After a run: for each node, the number of first frames without a reader, if that reduces a
  /// delay.
  std::optional<std::vector<int64_t>> unread() const;

 private:
  /// Return the inputs of a node that are known only at the end of the stream.
  struct AtEnd {
    const KnownWire* last = nullptr;  ///< the last of these inputs
    std::optional<Dim> after;
    std::string from;  ///< the operator that makes it
  };

  Status source(int id);
  void node(int id);
  AtEnd known_at_end(const Node& node);
  void still(int id, AtEnd* known);
  Result<OutletId> still_input(const Node& node, OutletId input, AtEnd* known);
  void poison(int id);
  Status check_axes(int id) const;
  std::string remedy_for_late_value(const Node& node, const Dim& known_after) const;
  Status outputs();
  void describe(Report* report);
  std::vector<Wire> wires(std::map<OutletId, int>* places);
  Streaming streaming(const Report& report);
  void leave_out_unselected(std::vector<Read>* reads) const;

  const Graph& whole_;
  const Options& options_;
  Graph pulsed_;
  Builder builder_;
  std::vector<Status> refusals_;
  std::vector<std::pair<size_t, size_t>> made_;  ///< pulsed nodes of each node of the whole graph
};

Status Pulsifier::source(int id) {
  const Node& node = whole_.node(id);
  const Fact& fact = node.outputs[0];
  Fact pulsed = substitute(fact, options_.symbol, options_.pulse);
  std::optional<StreamFact> stream;
  for (int axis = 0; axis < fact.rank(); ++axis) {
    const Dim& dim = fact.dim(axis);
    if (!dim.mentions(options_.symbol)) continue;
    if (stream) {
      return builder_.refuse("Declare one axis with the symbol only", "input ", fact, " has ",
                             options_.symbol, " on two axes");
    }
    RILL_TRY(check_length_of_input(whole_, fact, axis, options_.symbol));
    RILL_ASSIGN(const int64_t frames, builder_.frames_per_pulse(dim));
    // Frames beyond a multiple of the pulse come at the end.
    pulsed.shape[static_cast<size_t>(axis)] = frames;
    stream = StreamFact{axis, dim, 0, nullptr};
  }
  builder_.set(0, pulsed_.add_source(node.name, std::move(pulsed), node.line), stream);
  return {};
}

void Pulsifier::poison(int id) {
  for (size_t slot = 0; slot < whole_.node(id).outputs.size(); ++slot) {
    builder_.wire_of({id, static_cast<int>(slot)}).poisoned = true;
  }
}

void Pulsifier::node(int id) {
  const Node& node = whole_.node(id);
  bool streams = false;
  for (const OutletId& input : node.inputs) {
    KnownWire& wire = builder_.wire_of(input);
    if (!wire.refused.ok()) {
      refusals_.push_back(wire.refused);
      wire.refused = {};
      wire.poisoned = true;
    }
    if (wire.poisoned) return poison(id);
    streams |= wire.stream.has_value();
  }
  AtEnd known = known_at_end(node);
  bool grows = any_of(node.outputs, [&](const Fact& f) { return f.mentions(options_.symbol); });
  grows |= node.op->with_symbol(options_.symbol, Dim(1)) != nullptr;
  if (!streams && !grows) return still(id, &known);
  if (known.last) {
    refusals_.push_back(builder_.refusal(str_cat("an input, made by ", known.from,
                                                 ", is known at the end of the stream only, "
                                                 "and meets its frames"),
                                         remedy_for_late_value(node, *known.last->known_after)));
    return poison(id);
  }
  Status status = node.op->pulsify(builder_);
  const bool waits =
      any_of(node.inputs, [&](OutletId input) { return builder_.wire_of(input).ready > 0; });
  if (status.ok() && waits && !builder_.waited()) {
    status = builder_.refuse("Use frames of the stream elementwise only, or as first frames",
                             "an input is taken from frames of the stream that arrive after its "
                             "first pulse");
  }
  if (status.ok()) status = check_axes(id);
  if (status.ok()) return;
  if (const auto length = only_length(node.outputs, options_.symbol)) {
    std::vector<std::string> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(whole_.fact(input).to_string());
    status = builder_.refuse(
        "Export it with a dynamic axis, and take sizes from the shape of the "
        "input in place of numbers",
        "the file was written for ", counted(*length, "frame"), ": its inputs are ",
        join(inputs, " and "));
  }
  refusals_.push_back(std::move(status).in_node(node.name, node.op->name()).at("", node.line));
  poison(id);
}

/// Refuse frames whose other axes grow with the stream as well.
Status Pulsifier::check_axes(int id) const {
  const Node& node = whole_.node(id);
  for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
    const KnownWire& wire = builder_.known({id, static_cast<int>(slot)});
    if (!wire.stream) continue;
    for (int axis = 0; axis < node.outputs[slot].rank(); ++axis) {
      if (axis == wire.stream->axis) continue;
      if (!node.outputs[slot].dim(axis).mentions(options_.symbol)) continue;
      return builder_.refuse("Give the other axis a fixed extent", "its output ",
                             node.outputs[slot], " grows with the stream on axes ",
                             wire.stream->axis, " and ", axis);
    }
  }
  return {};
}

Pulsifier::AtEnd Pulsifier::known_at_end(const Node& node) {
  AtEnd out;
  for (const OutletId& input : node.inputs) {
    const KnownWire& wire = builder_.wire_of(input);
    if (!wire.known_after) continue;
    // Prefer an input that depends on frames to one that depends only on their number.
    if (!out.last || !(*wire.known_after == Dim(0))) out.last = &wire;
    out.after = out.after ? max(*out.after, *wire.known_after) : *wire.known_after;
  }
  if (out.last) out.from = out.last->known_from;
  return out;
}

/// Copy a static node.
void Pulsifier::still(int id, AtEnd* known) {
  const Node& node = whole_.node(id);
  std::vector<OutletId> inputs;
  int64_t ready = 0;
  for (const OutletId& input : node.inputs) {
    auto wire = still_input(node, input, known);
    if (!wire.ok()) {
      refusals_.push_back(wire.take_status());
      return poison(id);
    }
    inputs.push_back(*wire);
    ready = std::max(ready, builder_.wire_of(input).ready);
  }
  auto outlets = builder_.add_still(inputs);
  if (!outlets.ok()) {
    refusals_.push_back(outlets.take_status());
    return poison(id);
  }
  for (size_t i = 0; i < outlets->size(); ++i) {
    (void)builder_.give(static_cast<int>(i), (*outlets)[i], {PulsedOutput::Still{ready, 0, 0}});
    KnownWire& made = builder_.wire_of({id, static_cast<int>(i)});
    made.known_after = known->after;
    made.known_from = known->from;
  }
}

/// Return the wire that a static node reads: if its value is an expression in the length of the
/// stream, a wire that is known at the end.
Result<OutletId> Pulsifier::still_input(const Node& node, OutletId input, AtEnd* known) {
  const TensorPtr& value = whole_.fact(input).konst;
  if (!value_mentions(value, options_.symbol)) return builder_.wire_of(input).outlet;
  const TensorPtr simple = simplified(value, whole_.scope);
  if (!value_mentions(simple, options_.symbol)) {
    return pulsed_.add_const(node.name, simple, node.line);
  }
  RILL_ASSIGN(const OutletId length, builder_.add1("length", make_op<ops::PulseLength>(value), {}));
  known->after = known->after.value_or(Dim(0));
  known->from = str_cat("\"", node.name, "\" (", node.op->name(),
                        "), which uses the length of "
                        "the stream, ",
                        options_.symbol, ", as a value");
  return length;
}

/// Return the remedy for a node that combines frames with a value known only at the end.
std::string Pulsifier::remedy_for_late_value(const Node& node, const Dim& known_after) const {
  const Course joined = node.op->course();
  if (joined.is(Course::Form::kJoined) &&
      node.outputs[0].dim(joined.axis()).mentions(options_.symbol)) {
    return "Repeat the end with F.pad(x, (0, n), mode='replicate'), or mirror it with "
           "mode='reflect'";
  }
  // A value of the first frames waits for the end only in short streams.
  const auto pattern = DimPattern::of(known_after, options_.symbol);
  if (pattern.ok() && pattern->growth() == 0 && pattern->settled() > 0) {
    return str_cat(
        "Assert that streams are long enough to have all frames that it takes, as in "
        "--assert '",
        options_.symbol, " >= ", pattern->settled(), "'");
  }
  return "Use windows of frames, or running values, in place of layers that need the whole stream";
}

Status Pulsifier::outputs() {
  for (size_t i = 0; i < whole_.outputs.size(); ++i) {
    KnownWire& wire = builder_.wire_of(whole_.outputs[i]);
    if (value_mentions(whole_.fact(whole_.outputs[i]).konst, options_.symbol)) {
      builder_.enter(whole_.outputs[i].node);
      return builder_.refusal(str_cat("output ", whole_.output_names[i],
                                      " depends on the length of the "
                                      "stream, ",
                                      options_.symbol),
                              "The length is known at the end: count the frames in the app, and "
                              "choose other outputs");
    }
    if (wire.stream && wire.stream->has_prefix()) {
      builder_.enter(whole_.outputs[i].node);
      StreamFact stream = *wire.stream;
      RILL_ASSIGN(wire.outlet, builder_.materialise(wire.outlet, &stream));
      wire.stream = stream;
    }
    if (wire.stream && !parse_dim(wire.stream->dim.to_string()).ok()) {
      builder_.enter(whole_.outputs[i].node);
      return builder_.refusal(
          "its length is too long an expression",
          str_cat("Assert a least length, as in --assert '", options_.symbol, " >= ",
                  shortest_regular(wire.stream->dim, options_.symbol), "'"));
    }
    if (wire.stream) {
      builder_.enter(whole_.outputs[i].node);
      // Few frames can lie beyond the end, at any length, so sessions hold them.
      RILL_TRY(builder_.least_ahead(wire.outlet, *wire.stream).status());
    }
    pulsed_.add_output(whole_.output_names[i], wire.outlet);
  }
  return {};
}

/// Return the effect on a stream of a node inserted upstream of a refused one.
std::string cause_of(const Op& op) {
  const auto* delay = op.as<ops::Delay>();
  if (!delay) return {};
  std::string out;
  const auto frames = [](int64_t count) { return count == 1 ? " frame" : " frames"; };
  if (delay->overlap > 0) {
    out = str_cat("keeps ", delay->overlap, " earlier", frames(delay->overlap));
  }
  if (delay->delay > 0) {
    out += str_cat(out.empty() ? "" : ", ", "waits ", delay->delay, frames(delay->delay));
  }
  return out;
}

std::vector<Wire> Pulsifier::wires(std::map<OutletId, int>* places) {
  std::vector<Wire> out;
  std::map<OutletId, int>& at = *places;
  for (size_t id = 0; id < whole_.nodes.size(); ++id) {
    const Node& node = whole_.nodes[id];
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const OutletId outlet{static_cast<int>(id), static_cast<int>(slot)};
      const KnownWire& wire = builder_.wire_of(outlet);
      if (!wire.stream) continue;
      Wire entry;
      entry.name = node.name;
      entry.op = node.op->name();
      entry.slot = outlet.slot;
      entry.line = node.line;
      entry.axis = wire.stream->axis;
      entry.pulse = pulsed_.fact(wire.outlet).dim(entry.axis).to_int().value_or(0);
      entry.delay = wire.stream->delay;
      for (const OutletId& input : node.inputs) {
        if (const auto known = at.find(input); known != at.end()) {
          entry.inputs.push_back(known->second);
        }
      }
      for (size_t made = made_[id].first; made < made_[id].second; ++made) {
        std::string cause = cause_of(*pulsed_.nodes[made].op);
        if (!cause.empty()) entry.causes.push_back(std::move(cause));
      }
      at[outlet] = static_cast<int>(out.size());
      out.push_back(std::move(entry));
    }
  }
  return out;
}

/// Return the description of the streams of the pulsed graph.
Streaming Pulsifier::streaming(const Report& report) {
  Streaming out;
  out.named = options_.symbol;
  out.pulse = *options_.pulse.to_int();
  for (const Stream& input : report.inputs) {
    out.input_axes.push_back(input.axis);
    const bool is_given = input.axis >= 0 && !counts_symbol(input.length, options_.symbol);
    out.input_lengths.push_back(is_given ? std::optional(input.length) : std::nullopt);
  }
  std::vector<Dim> lengths;
  for (const Stream& output : report.outputs) lengths.push_back(output.length);
  lengths = lengths_from_nothing(whole_, std::move(lengths), options_.symbol);
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    const Stream& output = report.outputs[i];
    out.outputs.push_back({output.axis, output.delay, std::nullopt});
    const bool at_end = builder_.known_after(whole_.outputs[i]).has_value();
    if (output.axis >= 0 || at_end) out.outputs.back().length = lengths[i];
  }
  for (const Wire& wire : report.wires) {
    out.wires.push_back(
        {wire.slot > 0 ? str_cat(wire.name, ":", wire.slot) : wire.name, wire.delay});
  }
  for (size_t id = 0; id < whole_.nodes.size(); ++id) {
    const Node& node = whole_.nodes[id];
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const OutletId outlet{static_cast<int>(id), static_cast<int>(slot)};
      const auto& taken = builder_.wire_of(outlet).taken_delay;
      if (taken) out.wires.push_back({str_cat(node.name, ":", slot), *taken});
    }
  }
  out.begin_unit = builder_.begin_unit();
  out.settled = builder_.settled();
  out.late_end = builder_.late_end();
  out.asserted = asserted_of(whole_, builder_.needed(), options_.symbol);
  out.longest = longest_stream(options_.symbol, out.asserted);
  out.approximations = report.approximations;
  out.model = fingerprint(whole_);
  return out;
}

void Pulsifier::describe(Report* report) {
  Report own;
  const auto stream_of = [&](const std::string& name, OutletId outlet) {
    const KnownWire& wire = builder_.wire_of(outlet);
    Stream out;
    out.name = name;
    if (!wire.stream) return out;
    out.axis = wire.stream->axis;
    out.pulse = pulsed_.fact(wire.outlet).dim(out.axis).to_int().value_or(0);
    out.delay = wire.stream->delay;
    out.length = wire.stream->dim;
    return out;
  };
  for (const OutletId& input : whole_.inputs) {
    own.inputs.push_back(stream_of(whole_.node(input.node).name, input));
  }
  for (size_t i = 0; i < whole_.outputs.size(); ++i) {
    own.outputs.push_back(stream_of(whole_.output_names[i], whole_.outputs[i]));
    const std::optional<Dim> known_after = builder_.known_after(whole_.outputs[i]);
    if (known_after) own.outputs.back().length = whole_.scope.simplify(*known_after);
  }
  own.approximations = builder_.approximations();
  std::map<OutletId, int> places;
  own.wires = wires(&places);
  for (size_t i = 0; i < whole_.outputs.size(); ++i) {
    const auto found = places.find(whole_.outputs[i]);
    if (found != places.end()) own.outputs[i].wire = found->second;
  }
  pulsed_.streaming = streaming(own);
  if (report) *report = std::move(own);
}

Result<Graph> Pulsifier::run(Report* report) {
  bool any_stream = false;
  for (size_t i = 0; i < whole_.nodes.size(); ++i) {
    const int id = static_cast<int>(i);
    const Node& each = whole_.nodes[i];
    RILL_TRY(progress(i, whole_.nodes.size()));
    builder_.enter(id);
    made_.emplace_back(pulsed_.nodes.size(), pulsed_.nodes.size());
    if (source_of(*each.op)) {
      Status status = source(id);
      any_stream |= !status.ok() || builder_.wire_of({id, 0}).stream.has_value();
      if (!status.ok()) {
        refusals_.push_back(std::move(status));
        poison(id);
      }
    } else if (TensorPtr constant = constant_of(*each.op)) {
      builder_.set(0, pulsed_.add_const(each.name, std::move(constant), each.line), std::nullopt);
    } else {
      node(id);
    }
    made_.back().second = pulsed_.nodes.size();
  }
  if (whole_.outputs.empty()) {
    return fail(Code::kPulse, "the model has no outputs, so that nothing streams")
        .hint(
            "Give the graph of graph.nnef a result, or keep a wire as one with --output-node NAME");
  }
  if (!any_stream) return no_stream(whole_, options_.symbol);
  for (const OutletId& output : whole_.outputs) {
    KnownWire& wire = builder_.wire_of(output);
    if (!wire.refused.ok()) refusals_.push_back(wire.refused);
  }
  if (!refusals_.empty()) return all_of(refusals_);
  RILL_TRY(outputs());
  describe(report);
  const auto streams = [&](const OutletId& outlet) {
    const KnownWire& wire = builder_.wire_of(outlet);
    return wire.stream.has_value() || wire.known_after.has_value();
  };
  if (none_of(whole_.outputs, streams)) {
    const OutletId output = whole_.outputs[0];
    const Node& made = whole_.node(output.node);
    return fail(Code::kPulse, "no output of the model streams along ", options_.symbol, ": \"",
                whole_.output_names[0], "\" is ", whole_.fact(output),
                " for any length of the stream")
        .in_node(made.name, made.op->name())
        .at(made.line > 0 ? "graph.nnef" : "", made.line)
        .hint(
            "An upstream slice, reshape or table may have been exported for one length: write it "
            "by the shape of its input");
  }
  const Graph pulsed = pulsed_.compacted();
  refusals_ = refusals_of_lengths(pulsed, options_.symbol);
  if (!refusals_.empty()) return all_of(refusals_);
  return declutter(pulsed);
}

/// Record that a selection by position reads no frame of a branch before the first chosen one.
void Pulsifier::leave_out_unselected(std::vector<Read>* reads) const {
  constexpr size_t kMostChoices = 256;  // each runs a plan
  std::map<int, std::optional<Leading>> leading;
  for (const int id : builder_.choices()) {
    if (leading.size() == kMostChoices) break;
    const KnownWire& condition = builder_.known(whole_.node(id).inputs[0]);
    if (!condition.stream) continue;
    leading[id] = leading_frames(pulsed_, condition.outlet, *condition.stream, options_.symbol);
  }
  for (Read& read : *reads) {
    const auto found = leading.find(read.node);
    if (found == leading.end() || !found->second || read.input == 0) continue;
    if (found->second->value == (read.input == 2)) read.least = found->second->count;
  }
}

std::optional<std::vector<int64_t>> Pulsifier::unread() const {
  if (builder_.asked().empty()) return std::nullopt;
  std::vector<Read> reads = builder_.reads();
  leave_out_unselected(&reads);
  std::vector<int64_t> unread = unread_frames(whole_, reads);
  const bool gains =
      any_of(builder_.asked(), [&](int node) { return unread[static_cast<size_t>(node)] > 0; });
  return gains ? std::optional(std::move(unread)) : std::nullopt;
}

std::vector<int64_t> all_read(const Graph& whole) {
  return std::vector<int64_t>(whole.nodes.size(), 0);
}

/// Tries the multiples that refusals require, starting at a pulse: each refusal names the multiple
/// for its node.
Result<int64_t> unit_of(const Graph& whole, Options options, int64_t unit) {
  constexpr int kTries = 64;
  Status refusal;
  for (int i = 0; i < kTries; ++i) {
    options.pulse = Dim(unit);
    Pulsifier pulsifier(whole, options, all_read(whole));
    const auto pulsed = pulsifier.run(nullptr);
    if (pulsed.ok()) return unit;
    refusal = pulsed.status();
    if (pulsifier.unit() == 1) return refusal;
    const int64_t next = std::lcm(unit, pulsifier.unit());
    unit = next > unit ? next : unit + 1;
    if (unit > kMostPulse) return refusal;
  }
  return refusal;
}

Result<int64_t> least_pulse_of(const Graph& graph, const Options& options) {
  RILL_ASSIGN(const Graph whole, ready_for_pulses(graph, options));
  const auto unit = unit_of(whole, options, 1);
  if (unit.ok()) return unit;
  RILL_ASSIGN(const auto joined, with_front_keys(whole, options, true));
  return joined ? unit_of(*joined, options, 1) : unit;
}

Result<Graph> pulse_ready(const Graph& whole, const Options& options, Report* report) {
  Pulsifier pulsifier(whole, options, all_read(whole));
  const auto run = [&](Pulsifier* each, double begin, double end) {
    const ProgressPart part(begin, end);
    return each->run(report);
  };
  auto pulsed = run(&pulsifier, 0, kFirstRun);
  if (pulsed.ok()) {
    // The reads of frames are known after every node was pulsed.
    auto unread = pulsifier.unread();
    if (!unread) return pulsed;
    Pulsifier again(whole, options, *std::move(unread));
    auto earlier = run(&again, kFirstRun, 1);
    return earlier.ok() ? std::move(earlier) : std::move(pulsed);
  }
  if (pulsifier.unit() == 1) return pulsed;
  // The first node that refuses the pulse hides later ones.
  const auto unit = unit_of(whole, options, pulsifier.unit());
  if (!unit.ok()) return pulsed;
  Error error = pulsed.error();
  error.hint = str_cat("Use a pulse that is a multiple of ", *unit);
  return error;
}

/// Return the sum of the delays of all outputs.
int64_t delays_of(const Graph& pulsed) {
  int64_t sum = 0;
  for (const StreamingOutput& output : pulsed.streaming->outputs) sum += output.delay;
  return sum;
}

/// Pulse with constant keys before the stream, if the first attempt was refused or is later. Not
/// inlined, so that the first attempt at deep graphs has a small stack.
[[gnu::noinline]] Result<Graph> pulse_front_keys(const Graph& whole, const Options& options,
                                                 Report* report, Result<Graph> first) {
  RILL_ASSIGN(const auto joined, with_front_keys(whole, options, !first.ok()));
  if (!joined) return first;
  Report own;
  auto other = pulse_ready(*joined, options, &own);
  if (first.ok() && (!other.ok() || delays_of(*other) >= delays_of(*first))) return first;
  if (report) *report = std::move(own);
  return other;
}

Result<Graph> pulse_nodes(const Graph& graph, const Options& options, Report* report) {
  RILL_ASSIGN(const Graph whole, ready_for_pulses(graph, options));
  return pulse_front_keys(whole, options, report, pulse_ready(whole, options, report));
}

/// As above, with extents that are never negative.
Result<Graph> pulse_empty_extents(const Graph& graph, const Options& options, Report* report) {
  RILL_ASSIGN(Graph whole, ready_for_pulses(graph, options));
  RILL_ASSIGN(whole, with_empty_extents(whole));
  return pulse_front_keys(whole, options, report, pulse_ready(whole, options, report));
}

/// Attempt a task for streams of any length. If it is refused, attempt it for streams that are no
/// longer than the tables of positions, then for streams of a least length.
template <class Try>
auto for_some_streams_at_least(const Graph& graph, const Options& options, const Try& attempt) {
  auto refused = attempt(graph);
  if constexpr (ops::built("long_streams")) {
    if (refused.ok() || graph.streaming) return refused;
    if (const auto bounded = of_streams_within_tables(graph, options.symbol)) {
      auto again = attempt(*bounded);
      if (again.ok() || wants_another_pulse(again.error())) return again;
    }
    const auto longer = of_long_streams(graph, options.symbol);
    if (!longer.ok() || !*longer) return refused;
    auto again = attempt(**longer);
    if (again.ok()) return again;
    // If only the pulse prevents streaming, report that.
    if (wants_another_pulse(again.error()) && least_pulse_of(**longer, options).ok()) return again;
  }
  return refused;
}

/// Count the frames that a whole run of the given model gives without input: the pulsed graph knows
/// streams of a frame or more only.
void take_frames_of_nothing(const Graph& graph, std::string_view symbol, Streaming* streaming) {
  std::vector<Dim> lengths;
  for (const StreamingOutput& output : streaming->outputs) {
    lengths.push_back(output.axis >= 0 && output.length ? *output.length : Dim(kMostPulse));
  }
  lengths = lengths_from_nothing(graph, std::move(lengths), symbol);
  for (size_t i = 0; i < lengths.size(); ++i) {
    StreamingOutput& output = streaming->outputs[i];
    if (output.axis >= 0 && output.length) output.length = lengths[i];
  }
}

}  // namespace

Result<int64_t> least_pulse(const Graph& graph, const Options& options) {
  const ProgressStage stage(Stage::kPulse);
  auto least = for_some_streams_at_least(graph, options, [&](const Graph& each) {
    return least_pulse_of(each, options);
  });
  if (!least.ok()) return or_windows(graph, options.symbol, least.take_status());
  return least;
}

Result<Graph> pulsify(const Graph& graph, const Options& options, Report* report) {
  const ProgressStage stage(Stage::kPulse);
  const auto pulse = options.pulse.to_int();
  if (!pulse) {
    return fail(Code::kPulse, "pulse ", options.pulse, ": expected a number of frames");
  }
  if (*pulse < 1 || *pulse > kMostPulse) {
    return fail(Code::kPulse, "pulse ", *pulse, ": expected 1 to ", kMostPulse, " frames");
  }
  auto pulsed = for_some_streams_at_least(graph, options, [&](const Graph& each) {
    return pulse_nodes(each, options, report);
  });
  if (!pulsed.ok()) return or_windows(graph, options.symbol, pulsed.take_status());
  if constexpr (ops::built("long_streams")) {
    const auto again = [&](Report* own) { return pulse_empty_extents(graph, options, own); };
    take_empty_extents(graph, again, &*pulsed, report);
    take_streams_of_no_output(graph, &*pulsed);
  }
  take_frames_of_nothing(graph, options.symbol, &*pulsed->streaming);
  pulsed->streaming->indices = input_indices(graph);
  RILL_TRY(progress(1));
  return pulsed;
}

}  // namespace rill::pulse
