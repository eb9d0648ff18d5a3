#include "pulse/pulsifier.h"

#include <algorithm>

#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/course.h"
#include "core/graph/walk.h"
#include "core/graph/written.h"
#include "core/optim/optim.h"
#include "ops/built.h"
#include "ops/stream/length.h"
#include "pulse/leading.h"
#include "pulse/lengths.h"
#include "pulse/refusals.h"

namespace rill::pulse {

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
  const std::vector<OutletId>& inputs = attention_.inputs_of(whole_, id);
  bool streams = false;
  for (const OutletId& input : inputs) {
    KnownWire& wire = builder_.wire_of(input);
    if (!wire.refused.ok()) {
      refusals_.push_back(wire.refused);
      wire.refused = {};
      wire.poisoned = true;
    }
    if (wire.poisoned) return poison(id);
    streams |= wire.stream.has_value();
  }
  AtEnd known = known_at_end(inputs);
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
  Status status = add_pulsed(id);
  const bool waits =
      any_of(inputs, [&](OutletId input) { return builder_.wire_of(input).ready > 0; });
  if (status.ok() && waits && !builder_.waited()) {
    status = builder_.refuse("Use frames of the stream elementwise only, or as first frames",
                             "an input is taken from frames of the stream that arrive after its "
                             "first pulse");
  }
  if (status.ok()) status = check_axes(id);
  if (status.ok()) return;
  if (const auto length = only_length(node.outputs, options_.symbol)) {
    std::vector<std::string> facts;
    for (const OutletId& input : inputs) facts.push_back(whole_.fact(input).to_string());
    status = builder_.refuse(
        "Export it with a dynamic axis, and take sizes from the shape of the "
        "input in place of numbers",
        "the file was written for ", counted(*length, "frame"), ": its inputs are ",
        join(facts, " and "));
  }
  refusals_.push_back(std::move(status).in_node(node.name, node.op->name()).at("", node.line));
  poison(id);
}

Status Pulsifier::add_pulsed(int id) {
  if constexpr (ops::built("attention")) {
    if (const Attention* attention = attention_.at(id)) return pulsify(builder_, *attention);
  }
  return whole_.node(id).op->pulsify(builder_);
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

Pulsifier::AtEnd Pulsifier::known_at_end(const std::vector<OutletId>& inputs) {
  AtEnd out;
  for (const OutletId& input : inputs) {
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
    } else if (!attention_.is_inside(id)) {
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

}  // namespace rill::pulse
