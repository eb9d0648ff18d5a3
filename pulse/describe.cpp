// The description of the streams of a pulsed graph.

#include "core/base/search.h"
#include "core/graph/fingerprint.h"
#include "ops/stream/delay.h"
#include "pulse/lengths.h"
#include "pulse/pulsifier.h"

namespace rill::pulse {
namespace {

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

}  // namespace

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
      entry.op = attention_.at(outlet.node) ? kAttentionName : node.op->name();
      entry.slot = outlet.slot;
      entry.line = node.line;
      entry.axis = wire.stream->axis;
      entry.pulse = pulsed_.fact(wire.outlet).dim(entry.axis).to_int().value_or(0);
      entry.delay = wire.stream->delay;
      for (const OutletId& input : attention_.inputs_of(whole_, outlet.node)) {
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
  lengths = lengths_from_nothing(whole_, std::move(lengths), options_.symbol, attention_);
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
  out.asserted = asserted_of(whole_, builder_.needed(), options_.symbol, attention_);
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

}  // namespace rill::pulse
