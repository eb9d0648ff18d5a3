#include "pulse/step_loop.h"

#include <algorithm>

#include "core/base/search.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/concat.h"
#include "ops/array/slice.h"
#include "pulse/state_parts.h"

namespace rill::pulse {
namespace {

using Kind = ops::Scan::Input::Kind;

/// The loop whose iterations are the steps; its states are the values that are fed back.
constexpr std::string_view kCalled = "Feedback";

}  // namespace

bool is_loop(const Node& node) { return node.op->nested() && node.op->name() == kCalled; }

int find_loop(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (is_loop(graph.nodes[i])) return static_cast<int>(i);
  }
  return -1;
}

const Graph* step_of(const Graph& graph) {
  const int at = find_loop(graph);
  return at < 0 ? nullptr : graph.node(at).op->nested();
}

bool is_context(const Graph& graph, const Node& node) {
  const auto need = node.inputs.size() == 1 ? node.op->history(0) : std::nullopt;
  if (!need || need->pad_value) return false;
  Fact with = graph.fact(node.inputs[0]).without_value();
  with.shape[static_cast<size_t>(need->axis)] += Dim(need->frames);
  return node.outputs.size() == 1 && node.outputs[0].same_type(with);
}

Result<std::map<OutletId, OutletId>> append(const Graph& from, std::map<OutletId, OutletId> known,
                                            Graph* to) {
  for (size_t id = 0; id < from.nodes.size(); ++id) {
    const Node& node = from.nodes[id];
    if (known.contains({static_cast<int>(id), 0})) continue;
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(known.at(input));
    const auto outlets = to->add_known(node, std::move(inputs));
    for (const OutletId& outlet : outlets) {
      known[{static_cast<int>(id), outlet.slot}] = outlet;
    }
  }
  return known;
}

namespace {

/// Return the input wires of a step, with prepended frames of the previous step where the model has
/// a context.
std::vector<OutletId> step_inputs(const Graph& graph) {
  std::vector<OutletId> out = graph.inputs;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (!is_context(graph, node)) continue;
    for (OutletId& wire : out) {
      if (wire == node.inputs[0]) wire = {static_cast<int>(id), 0};
    }
  }
  return out;
}

/// Return the model as the body of a loop: wires get a leading axis of steps with extent 1.
Result<Graph> body_of(const Graph& graph, const std::vector<OutletId>& begins) {
  Graph body = empty_like(graph);
  body.name = "step";
  body.properties.clear();
  body.streaming.reset();
  std::map<OutletId, OutletId> known;
  for (size_t i = 0; i < begins.size(); ++i) {
    Fact fact = graph.fact(begins[i]).without_value();
    fact.shape.insert(fact.shape.begin(), Dim(1));
    const std::string& name = graph.input_name(i);
    const OutletId source = body.add_source(name, std::move(fact));
    RILL_ASSIGN(const auto whole,
                body.add(str_cat(name, "_step"), make_op<ops::RmAxis>(kStepAxis), {source}));
    known[begins[i]] = whole[0];
  }
  RILL_ASSIGN(known, append(graph, std::move(known), &body));
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph.output_names[i];
    RILL_ASSIGN(const auto out, body.add(str_cat(name, "_step"), make_op<ops::AddAxis>(kStepAxis),
                                         {known.at(graph.outputs[i])}));
    body.add_output(name, out[0]);
  }
  return body.stateless();
}

}  // namespace

Result<Graph> as_loop(const Graph& graph) {
  auto loop = draft_op<ops::Scan>();
  loop->called = kCalled;
  const std::vector<OutletId> begins = step_inputs(graph);
  RILL_ASSIGN(Graph body, body_of(graph, begins));
  loop->body = std::make_shared<const Graph>(std::move(body));
  Graph out = empty_like(graph);
  std::vector<OutletId> inputs;
  for (size_t i = 0; i < begins.size(); ++i) {
    OutletId wire =
        out.add_source(graph.input_name(i), graph.fact(graph.inputs[i]).without_value());
    if (!(begins[i] == graph.inputs[i])) {
      wire = out.add_known(graph.node(begins[i].node), {wire})[0];
    }
    RILL_ASSIGN(const auto step, out.add(str_cat(graph.input_name(i), "_steps"),
                                         make_op<ops::AddAxis>(kStepAxis), {wire}));
    inputs.push_back(step[0]);
    loop->inputs.push_back({Kind::kScan, kStepAxis, 1});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    loop->outputs.push_back({static_cast<int>(i), false, kStepAxis, 1});
  }
  RILL_ASSIGN(const auto outlets, out.add("feedback", std::move(loop), inputs));
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph.output_names[i];
    RILL_ASSIGN(const auto whole, out.add(name, make_op<ops::RmAxis>(kStepAxis), {outlets[i]}));
    out.add_output(name, whole[0]);
  }
  return out;
}

namespace {

/// Return the fact of the loop's output for a value of one step.
Fact with_step_axis(const Fact& fact) {
  Fact out = fact.without_value();
  out.shape.insert(out.shape.begin(), Dim(1));
  return out;
}

}  // namespace

int operand_of(const Graph& graph, int loop, OutletId source) {
  const Node& node = graph.node(loop);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    OutletId wire = node.inputs[i];
    while (!(wire == source) && graph.node(wire.node).inputs.size() == 1) {
      wire = graph.node(wire.node).inputs[0];
    }
    if (wire == source) return static_cast<int>(i);
  }
  return -1;
}

namespace {

/// Return the initial value of a state: zeros or the given value, for every entry of a batch.
Result<OutletId> first_value(const Fact& fact, TensorPtr first, std::string_view name, Graph* out) {
  Tensor value = Tensor::scalar(0.0F);
  if (first) value = *first;
  RILL_ASSIGN(Tensor typed, cast(value, fact.dtype, fact.q));
  const OutletId wire =
      out->add_const(str_cat(name, "_first"), std::make_shared<const Tensor>(std::move(typed)));
  RILL_ASSIGN(const auto whole, out->add_folded(str_cat(name, "_state"),
                                                make_op<ops::Broadcast>(fact.shape), {wire}));
  return whole[0];
}

template <class Item>
void replace_item(std::vector<Item>* list, size_t index, size_t by) {
  if (index >= list->size()) return;
  const Item own = (*list)[index];
  list->erase(list->begin() + static_cast<ptrdiff_t>(index));
  list->insert(list->begin() + static_cast<ptrdiff_t>(index), by, own);
}

/// Add the inputs of a changed graph. Return the loop's replacements of the changed operand, then
/// its additional operands.
Result<std::vector<OutletId>> add_inputs(const Graph& looped, const LoopChange& change,
                                         std::map<OutletId, OutletId>* known, Graph* out) {
  std::vector<OutletId> fresh;
  for (size_t i = 0; i < looped.inputs.size(); ++i) {
    if (i != change.in) {
      (*known)[looped.inputs[i]] =
          out->add_source(looped.input_name(i), looped.fact(looped.inputs[i]).without_value());
      continue;
    }
    for (const auto& [name, fact] : change.sources) fresh.push_back(out->add_source(name, fact));
  }
  for (size_t i = 0; i < fresh.size(); ++i) {
    RILL_ASSIGN(const auto step, out->add(str_cat(change.sources[i].first, "_steps"),
                                          make_op<ops::AddAxis>(kStepAxis), {fresh[i]}));
    fresh[i] = step[0];
  }
  if (!fresh.empty()) return fresh;
  const OutletId operand =
      looped.node(change.at).inputs[static_cast<size_t>(change.operand)];
  RILL_ASSIGN(const OutletId initial,
              first_value(looped.fact(operand).without_value(), change.first,
                          looped.input_name(change.in), out));
  return std::vector<OutletId>{initial};
}

}  // namespace

Result<Graph> with_loop(const Graph& looped, const LoopChange& change) {
  Graph out = empty_like(looped);
  std::map<OutletId, OutletId> known;
  RILL_ASSIGN(const auto fresh, add_inputs(looped, change, &known, &out));
  for (size_t id = 0; id < looped.nodes.size(); ++id) {
    const Node& node = looped.nodes[id];
    const OutletId of{static_cast<int>(id), 0};
    if (known.contains(of) || of == looped.inputs[change.in]) continue;
    const bool is_changed = of.node == change.at;
    std::vector<OutletId> inputs;
    bool complete = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_changed && static_cast<int>(i) == change.operand) {
        inputs.push_back(fresh[0]);
        continue;
      }
      const auto found = known.find(node.inputs[i]);
      complete &= found != known.end();
      if (complete) inputs.push_back(found->second);
    }
    if (!complete) continue;
    if (!is_changed) {
      const auto outlets = out.add_known(node, std::move(inputs));
      for (const OutletId& outlet : outlets) known[{of.node, outlet.slot}] = outlet;
      continue;
    }
    inputs.insert(inputs.end(), fresh.begin() + 1, fresh.end());
    RILL_ASSIGN(const auto outlets, out.add(node.name, change.loop, inputs));
    for (const OutletId& outlet : outlets) {
      const bool is_shifted = change.slot >= 0 && outlet.slot >= change.slot;
      known[{of.node, outlet.slot + (is_shifted ? 1 : 0)}] = outlet;
    }
  }
  for (size_t i = 0; i < looped.outputs.size(); ++i) {
    if (i != change.out) out.add_output(looped.output_names[i], known.at(looped.outputs[i]));
  }
  if (out.streaming) {
    replace_item(&out.streaming->input_axes, change.in, change.sources.size());
    replace_item(&out.streaming->input_lengths, change.in, change.sources.size());
    replace_item(&out.streaming->outputs, change.out, 0);
  }
  return out;
}

namespace {

/// Return a copy of a loop with another, unsimplified body.
std::shared_ptr<ops::Scan> loop_with(const ops::Scan& loop, Graph body) {
  auto out = draft_op<ops::Scan>();
  out->called = loop.called;
  out->inputs = loop.inputs;
  out->outputs = loop.outputs;
  out->state_results = loop.state_results;
  out->body = std::make_shared<const Graph>(std::move(body));
  return out;
}

}  // namespace

Result<Graph> with_outputs(const Graph& looped, size_t index, int slot,
                           const std::vector<NewOutput>& parts) {
  Graph out = looped;
  const int at = find_loop(out);
  const auto& old = static_cast<const ops::Scan&>(*out.node(at).op);
  Graph body = *old.body;
  std::vector<ops::Scan::Output> added;
  const auto result = static_cast<size_t>(old.outputs[static_cast<size_t>(slot)].result);
  const OutletId whole = body.outputs[result];
  for (size_t i = 0; i < parts.size(); ++i) {
    OutletId wire = whole;
    for (const OpPtr& op : parts[i].ops) {
      RILL_ASSIGN(const auto next, body.add(str_cat(parts[i].name, "_part"), op, {wire}));
      wire = next[0];
    }
    if (i == 0) {
      body.outputs[result] = wire;
      body.output_names[result] = parts[i].name;
      continue;
    }
    added.push_back({static_cast<int>(body.outputs.size()), false, kStepAxis, 1});
    body.add_output(parts[i].name, wire);
  }
  auto loop = loop_with(old, std::move(body));
  int next_slot = static_cast<int>(loop->outputs.size());
  loop->outputs.insert(loop->outputs.end(), added.begin(), added.end());
  Node& node = out.nodes[static_cast<size_t>(at)];
  RILL_ASSIGN(node.outputs, loop->infer(out.facts_of(node.inputs)));
  node.op = std::move(loop);
  Node& first = out.nodes[static_cast<size_t>(out.outputs[index].node)];
  RILL_ASSIGN(first.outputs, first.op->infer(out.facts_of(first.inputs)));
  first.name = out.output_names[index] = parts[0].name;
  if (out.streaming) replace_item(&out.streaming->outputs, index, parts.size());
  for (size_t i = 1; i < parts.size(); ++i) {
    RILL_ASSIGN(const auto wire, out.add(parts[i].name, make_op<ops::RmAxis>(kStepAxis),
                                         {OutletId{at, next_slot++}}));
    const auto place = static_cast<ptrdiff_t>(index + i);
    out.outputs.insert(out.outputs.begin() + place, wire[0]);
    out.output_names.insert(out.output_names.begin() + place, parts[i].name);
  }
  return out;
}

int slot_of(const Graph& looped, int loop, size_t index) {
  const OutletId outlet = looped.outputs[index];
  const Node& node = looped.node(outlet.node);
  const bool is_alone = std::count(looped.outputs.begin(), looped.outputs.end(), outlet) == 1;
  if (!is_alone || node.inputs.size() != 1 || node.inputs[0].node != loop) return -1;
  const bool is_whole = with_step_axis(looped.fact(outlet)).same_type(looped.fact(node.inputs[0]));
  return is_whole ? node.inputs[0].slot : -1;
}

namespace {

Status not_of_the_step(std::string_view name) {
  return fail(Code::kPulse, "\"", name, "\" is not a value of the step alone");
}

Result<Graph> split_output(const Graph& looped, size_t index, size_t axis,
                           const std::vector<StatePart>& parts) {
  const int slot = slot_of(looped, find_loop(looped), index);
  if (slot < 0) return not_of_the_step(looped.output_names[index]);
  const int64_t origin = parts[0].range(axis).begin;
  std::vector<NewOutput> outputs;
  for (const StatePart& part : parts) {
    const IndexRange range = part.range(axis);
    outputs.push_back({part.text(),
                       {make_op<ops::Slice>(static_cast<int64_t>(axis) + 1, range.begin - origin,
                                            range.end - origin)}});
  }
  return with_outputs(looped, index, slot, outputs);
}

Result<Graph> split_input(const Graph& looped, size_t index, size_t axis,
                          const std::vector<StatePart>& parts) {
  LoopChange change;
  change.at = find_loop(looped);
  change.in = index;
  change.operand = operand_of(looped, change.at, looped.inputs[index]);
  const auto operand = static_cast<size_t>(change.operand);
  const Node& node = looped.node(change.at);
  const auto& old = static_cast<const ops::Scan&>(*node.op);
  // A context adds a node in between.
  const bool is_plain = change.operand >= 0 && old.inputs[operand].kind == Kind::kScan &&
                        looped.node(node.inputs[operand].node).inputs[0] == looped.inputs[index];
  if (!is_plain) return not_of_the_step(looped.input_name(index));
  Graph body = empty_like(*old.body);
  std::map<OutletId, OutletId> known;
  std::vector<OutletId> joined;
  const auto add_part = [&](const StatePart& part) {
    Fact fact = looped.fact(looped.inputs[index]).without_value();
    fact.shape[axis] = part.range(axis).end - part.range(axis).begin;
    change.sources.emplace_back(part.text(), fact);
    joined.push_back(body.add_source(part.text(), with_step_axis(fact)));
  };
  for (size_t i = 0; i < old.body->inputs.size(); ++i) {
    const OutletId own = old.body->inputs[i];
    if (i == operand) {
      add_part(parts[0]);
    } else {
      known[own] = body.add_source(old.body->input_name(i), old.body->fact(own).without_value());
    }
  }
  for (size_t i = 1; i < parts.size(); ++i) add_part(parts[i]);
  RILL_ASSIGN(const auto whole,
              body.add(str_cat(looped.input_name(index), "_parts"),
                       make_op<ops::Concat>(static_cast<int64_t>(axis) + 1), joined));
  known[old.body->inputs[operand]] = whole[0];
  RILL_ASSIGN(known, append(*old.body, std::move(known), &body));
  for (size_t i = 0; i < old.body->outputs.size(); ++i) {
    body.add_output(old.body->output_names[i], known.at(old.body->outputs[i]));
  }
  auto loop = loop_with(old, std::move(body));
  loop->inputs.insert(loop->inputs.end(), parts.size() - 1, {Kind::kScan, kStepAxis, 1});
  change.loop = std::move(loop);
  return with_loop(looped, change);
}

/// An input or output that contains a part, described as a part of the model's value.
struct Holder {
  size_t index = kNone;
  StatePart own;
};

/// Return whether a value is or contains a part. Ranges that cover an axis become the whole axis.
/// Errors: kShape if the part is not within the whole value.
Result<bool> holds(const StatePart& own, const Fact& fact, StatePart* part) {
  const auto rank = static_cast<size_t>(fact.rank());
  bool within = part->ranges.size() <= rank && own.ranges.size() <= rank;
  for (size_t axis = 0; within && axis < part->ranges.size(); ++axis) {
    IndexRange& wanted = part->ranges[axis];
    const IndexRange has = own.range(axis);
    if (has.end > 0) {
      // A name of the file may look like a part.
      if (!(fact.shape[axis] == Dim(has.end - has.begin))) return false;
      if (wanted.end == 0 || wanted.begin < has.begin || wanted.end > has.end) return false;
      continue;
    }
    if (wanted.end == 0) continue;
    const auto extent = fact.shape[axis].to_int();
    within &= extent && wanted.end <= *extent;
    if (within && wanted == IndexRange{0, *extent}) wanted = {};
  }
  if (!within && own.ranges.empty()) {
    return fail(Code::kShape, "\"", part->text(), "\" is not within \"", own.name,
                "\", which is ", fact)
        .hint("Indices count from 0. An axis that is cut has a number as its extent");
  }
  return within;
}

Result<Holder> holder_of(const Graph& graph, bool input, StatePart* part) {
  const size_t count = input ? graph.inputs.size() : graph.outputs.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = input ? graph.input_name(i) : graph.output_names[i];
    auto own = name == part->name ? StatePart{name, {}} : parse_state_part(name);
    if (!own || own->name != part->name) continue;
    const Fact& fact = graph.fact(input ? graph.inputs[i] : graph.outputs[i]);
    RILL_ASSIGN(const bool found, holds(*own, fact, part));
    if (found) return Holder{i, *std::move(own)};
  }
  return Holder{};
}

}  // namespace

Result<std::string> split_off(std::string_view text, bool input, Graph* looped) {
  const auto names_it = [&](size_t i) {
    return (input ? looped->input_name(i) : looped->output_names[i]) == text;
  };
  for (size_t i = 0; i < (input ? looped->inputs : looped->outputs).size(); ++i) {
    if (names_it(i)) return std::string(text);
  }
  auto part = parse_state_part(text);
  while (part) {
    RILL_ASSIGN(const Holder holder, holder_of(*looped, input, &*part));
    if (holder.index == kNone) break;
    size_t axis = 0;
    while (axis < part->ranges.size() && part->range(axis) == holder.own.range(axis)) ++axis;
    if (axis == part->ranges.size()) {
      return input ? looped->input_name(holder.index) : looped->output_names[holder.index];
    }
    const IndexRange wanted = part->range(axis);
    IndexRange has = holder.own.range(axis);
    const auto& ends = input ? looped->inputs : looped->outputs;
    if (has.end == 0) {
      has.end = looped->fact(ends[holder.index]).shape[axis].to_int().value_or(0);
    }
    std::vector<StatePart> parts;
    for (const IndexRange& range : {IndexRange{has.begin, wanted.begin}, wanted,
                                    IndexRange{wanted.end, has.end}}) {
      if (range.begin == range.end) continue;
      parts.push_back(holder.own);
      parts.back().ranges.resize(std::max(axis + 1, holder.own.ranges.size()));
      parts.back().ranges[axis] = range;
    }
    RILL_ASSIGN(*looped, input ? split_input(*looped, holder.index, axis, parts)
                               : split_output(*looped, holder.index, axis, parts));
  }
  return std::string(text);
}

}  // namespace rill::pulse
