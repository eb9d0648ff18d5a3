#include "pulse/feedback.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "core/base/search.h"
#include "ops/array/axis_ops.h"
#include "ops/array/reshape.h"
#include "ops/control/scan.h"
#include "ops/stream/delay.h"
#include "pulse/state_parts.h"
#include "pulse/step_loop.h"

namespace rill::pulse {
namespace {

using Kind = ops::Scan::Input::Kind;

Result<size_t> input_named(const Graph& graph, std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.input_name(i) == name) return i;
    names.push_back(graph.input_name(i));
  }
  if (const Graph* step = step_of(graph)) {
    for (size_t i = 0; i < step->inputs.size(); ++i) {
      if (step->input_name(i) == name) {
        return fail(Code::kArg, "input \"", name, "\" is fed back already");
      }
    }
  }
  return fail(Code::kArg, "no input \"", name, "\"")
      .hint(str_cat("The inputs are ", join(names, ", ")));
}

Result<size_t> output_named(const Graph& graph, std::string_view name) {
  const auto it = find(graph.output_names, name);
  if (it != graph.output_names.end()) {
    return static_cast<size_t>(it - graph.output_names.begin());
  }
  const Graph* step = step_of(graph);
  if (step && contains(step->output_names, name)) {
    return fail(Code::kArg, "output \"", name, "\" is fed back already");
  }
  return fail(Code::kArg, "no output \"", name, "\"")
      .hint(str_cat("The outputs are ", join(graph.output_names, ", ")));
}

/// Return the frame axis of an input or output of one step; -1 for a scalar.
int frame_axis(const Fact& fact) {
  int open = -1;
  int count = 0;
  for (int axis = 1; axis < fact.rank(); ++axis) {
    if (fact.dim(axis).is_const()) continue;
    open = axis;
    ++count;
  }
  if (count == 1) return open;
  return std::min(fact.rank() - 1, 1);
}

}  // namespace

void describe_steps(Graph* graph) {
  // A pulsed graph describes its streams itself; here a step is a run of the model.
  if (!graph->streaming || graph->streaming->pulse != 0) return;
  Streaming& streams = *graph->streaming;
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    const Fact& fact = graph->fact(graph->inputs[i]);
    if (i >= streams.input_axes.size()) streams.input_axes.push_back(frame_axis(fact));
    const int axis = streams.input_axes[i];
    const auto frames = axis >= 0 ? fact.dim(axis).to_int() : std::nullopt;
    if (streams.pulse == 0 && frames) streams.pulse = *frames;
  }
  const Dim symbol = Dim::symbol(streams.symbol());
  for (size_t i = 0; i < graph->outputs.size(); ++i) {
    const Fact& fact = graph->fact(graph->outputs[i]);
    if (i >= streams.outputs.size()) streams.outputs.push_back({frame_axis(fact), 0, {}});
    StreamingOutput& described = streams.outputs[i];
    const auto frames = described.axis >= 0 ? fact.dim(described.axis).to_int() : std::nullopt;
    // A step that the stream fills only in part outputs nothing.
    if (streams.pulse > 0 && frames) {
      described.length = floor_div(symbol, streams.pulse) * Dim(*frames);
    }
  }
}

namespace {

/// Make a model a stream whose steps are its runs.
void stream_by_steps(Graph* graph) {
  if (!graph->streaming) {
    Streaming streams;
    streams.named = graph->scope.fresh("S");
    // Outputs of a step depend only on its input frames, not on the end of the stream.
    streams.late_end = true;
    graph->streaming = std::move(streams);
  }
  graph->streaming->pulse = 0;
  describe_steps(graph);
}

/// Refuse a stream whose steps are not runs of the model: only this module may add state.
Status expect_steps(const Graph& graph) {
  if (!graph.streaming) return {};
  bool steps = !graph.streaming->model && graph.streaming->wires.empty();
  for (const StreamingOutput& output : graph.streaming->outputs) steps &= output.delay == 0;
  for (const Node& node : graph.nodes) {
    if (node.inputs.empty() || is_loop(node)) continue;
    const bool is_input = contains(graph.inputs, node.inputs[0]);
    const bool keeps = node.op->history(0) || node.op->stateless() ||
                       node.op->state_bytes(graph.facts_of(node.inputs)) > 0;
    steps &= !keeps || (is_input && is_context(graph, node));
  }
  if (steps) return {};
  return fail(Code::kPulse, "the model is pulsed already, so it has steps")
      .hint("Feed outputs back to inputs before the model is pulsed");
}

/// Return the operators that give the output of a step the shape of an input.
Result<std::vector<OpPtr>> conversion(const Fact& gives, const Fact& takes,
                                      const std::vector<int64_t>& order) {
  RILL_ASSIGN(auto shape, reordered(gives, order));
  RILL_ASSIGN(StateShape form, state_shape(shape, takes.shape));
  if (!order.empty()) {
    if (!form.order.empty()) return fail(Code::kShape, "expected the same in this order of axes");
    form.order = order;
  }
  std::vector<OpPtr> out;
  if (!form.order.empty()) {
    std::vector<int64_t> order_of_axes = {kStepAxis};
    for (const int64_t axis : form.order) order_of_axes.push_back(axis + 1);
    out.push_back(make_op<ops::Transpose>(std::move(order_of_axes)));
  }
  if (form.reshapes) out.push_back(make_op<ops::Reshape>(1, gives.rank(), takes.shape));
  return out;
}

}  // namespace

Result<Graph> with_feedback(const Graph& model, std::string_view output, std::string_view input,
                            TensorPtr first) {
  RILL_TRY(expect_steps(model));
  Graph looped = model;
  if (find_loop(model) < 0) {
    RILL_ASSIGN(looped, as_loop(model));
  }
  StateSource source{std::string(output), {}};
  if (!contains(looped.output_names, output)) source = parse_state_source(output);
  RILL_ASSIGN(const std::string from, split_off(source.name, false, &looped));
  RILL_ASSIGN(const std::string to, split_off(input, true, &looped));
  RILL_ASSIGN(const size_t in, input_named(looped, to));
  RILL_ASSIGN(const size_t out, output_named(looped, from));
  const Fact& takes = looped.fact(looped.inputs[in]);
  const Fact& gives = looped.fact(looped.outputs[out]);
  const int at = find_loop(looped);
  const int operand = operand_of(looped, at, looped.inputs[in]);
  const int slot = slot_of(looped, at, out);
  const auto differ = [&](const Code code, std::string_view why) {
    return fail(code, "output \"", from, "\" is ", gives, ", input \"", to, "\" is ", takes, ": ",
                why);
  };
  if (takes.dtype != gives.dtype) return differ(Code::kDType, "expected the same");
  auto ops = conversion(gives, takes, source.order);
  if (!ops.ok()) {
    return differ(ops.error().code, ops.error().message)
        .hint(str_cat("Name a part, as ", from, "[0], or the order of its axes, as ", from,
                      ".transpose(1,0), or set symbols that are meant to be equal, as in --set "
                      "B=1"));
  }
  if (operand < 0 || slot < 0) {
    return fail(Code::kPulse, "output \"", from, "\" and input \"", to,
                "\" are not both of the step");
  }
  if (!ops->empty()) {
    RILL_ASSIGN(looped, with_outputs(looped, out, slot, {{from, *std::move(ops)}}));
  }
  auto loop = draft_op<ops::Scan>(static_cast<const ops::Scan&>(*looped.node(at).op));
  if (loop->inputs[static_cast<size_t>(operand)].kind != Kind::kScan) {
    return fail(Code::kArg, "input \"", to, "\" is fed back already");
  }
  const auto before = std::count_if(loop->inputs.begin(), loop->inputs.begin() + operand,
                                    [](const auto& each) { return each.kind == Kind::kState; });
  loop->inputs[static_cast<size_t>(operand)] = {Kind::kState, 0, 1};
  loop->state_results.insert(loop->state_results.begin() + before,
                             loop->outputs[static_cast<size_t>(slot)].result);
  loop->outputs.erase(loop->outputs.begin() + slot);
  if (none_of(loop->inputs, [](const auto& each) { return each.kind == Kind::kScan; })) {
    return fail(Code::kPulse, "every input is fed back: no input gives the number of steps");
  }
  RILL_ASSIGN(Graph tied, with_loop(looped, {loop, at, in, operand, {}, first, out, slot}));
  stream_by_steps(&tied);
  return tied;
}

Result<Graph> with_context(const Graph& model, std::string_view input, int64_t frames) {
  RILL_TRY(expect_steps(model));
  RILL_ASSIGN(const size_t index, input_named(model, input));
  for (const Node& node : model.nodes) {
    if (is_context(model, node) && node.inputs[0] == model.inputs[index]) {
      return fail(Code::kArg, "input \"", input, "\" has frames of the step before already");
    }
  }
  const Fact& own = model.fact(model.inputs[index]);
  const bool named = model.streaming && index < model.streaming->input_axes.size();
  const int axis = named ? model.streaming->input_axes[index] : frame_axis(own);
  const Dim whole = axis < 0 ? Dim(0) : own.dim(axis);
  const auto symbol = whole.as_symbol();
  const auto number = whole.to_int();
  if (frames < 1 || axis < 0 || (!symbol && (!number || *number <= frames))) {
    return fail(Code::kShape, "a context of ", counted(frames, "frame"), " for input \"", input,
                "\" of ", own, ": expected 1 or more, and fewer than the input has");
  }
  // Loops inside a step restart in each step.
  Graph wider = model.streaming ? model : model.stateless();
  if (symbol) {
    RILL_ASSIGN(wider, wider.with_symbol(*symbol, Dim::symbol(*symbol) + Dim(frames)));
    wider.scope.declare(*symbol);
  }
  Graph out = empty_like(wider);
  std::map<OutletId, OutletId> known;
  for (size_t i = 0; i < wider.inputs.size(); ++i) {
    Fact fact = wider.fact(wider.inputs[i]).without_value();
    if (i == index) {
      fact.shape[static_cast<size_t>(axis)] = symbol ? Dim::symbol(*symbol) : whole - Dim(frames);
    }
    known[wider.inputs[i]] = out.add_source(wider.input_name(i), std::move(fact));
  }
  auto delay = draft_op<ops::Delay>();
  delay->axis = axis;
  delay->overlap = frames;
  RILL_ASSIGN(const auto joined, out.add(str_cat(input, "_context"), std::move(delay),
                                         {known.at(wider.inputs[index])}));
  known[wider.inputs[index]] = joined[0];
  RILL_ASSIGN(known, append(wider, std::move(known), &out));
  for (size_t i = 0; i < wider.outputs.size(); ++i) {
    out.add_output(wider.output_names[i], known.at(wider.outputs[i]));
  }
  stream_by_steps(&out);
  return out;
}

namespace {

/// A named frame axis, and its place.
struct NamedAxis {
  bool input = false;
  size_t index = 0;
  int axis = 0;
};

Result<NamedAxis> named_axis(const Graph& graph, const FrameAxis& given) {
  NamedAxis out{false, 0, static_cast<int>(given.axis)};
  for (size_t i = 0; i < graph.inputs.size() && !out.input; ++i) {
    out.input = graph.input_name(i) == given.name;
    out.index = i;
  }
  if (!out.input && contains(graph.output_names, given.name)) {
    RILL_ASSIGN(out.index, output_named(graph, given.name));
  } else {
    RILL_ASSIGN(out.index, input_named(graph, given.name));
  }
  const Fact& fact = graph.fact(out.input ? graph.inputs[out.index] : graph.outputs[out.index]);
  if (given.axis >= 0 && given.axis < fact.rank()) return out;
  return fail(Code::kArg, "axis ", given.axis, " of \"", given.name, "\", which is ", fact,
              ": expected one of its axes, counted from 0");
}

/// One step with its named extents replaced by symbols, `marks`.
struct Traced {
  Graph step;
  std::vector<std::string> marks;
};

/// Replace the extents of named axes by symbols, and infer the step again; nothing if it needs the
/// numbers.
std::optional<Traced> traced(const Graph& graph, const std::vector<NamedAxis>& axes) {
  const Graph* step = step_of(graph);
  const int at = find_loop(graph);
  const int shift = step == nullptr ? 0 : 1;
  if (step == nullptr) step = &graph;
  Traced out{empty_like(*step), {}};
  out.marks.push_back(out.step.scope.fresh("S"));
  out.step.scope.declare(out.marks[0]);
  std::map<OutletId, Fact> changed;
  int64_t common = 0;
  for (const NamedAxis& each : axes) {
    const Dim extent = graph.fact(graph.inputs[each.index]).dim(each.axis);
    common = std::gcd(common, extent.to_int().value_or(0));
    if (const auto symbol = extent.as_symbol()) out.marks.push_back(*symbol);
  }
  for (const NamedAxis& each : axes) {
    const int operand = at < 0 ? static_cast<int>(each.index)
                               : operand_of(graph, at, graph.inputs[each.index]);
    if (operand < 0) return std::nullopt;
    const OutletId source = step->inputs[static_cast<size_t>(operand)];
    Fact fact = step->fact(source).without_value();
    Dim& extent = fact.shape[static_cast<size_t>(each.axis + shift)];
    const auto frames = graph.fact(graph.inputs[each.index]).dim(each.axis).to_int();
    // Frames that a context prepends from earlier steps stay unchanged.
    if (frames) extent += Dim::symbol(out.marks[0]) * Dim(*frames / common) - Dim(*frames);
    changed[source] = std::move(fact);
  }
  std::map<OutletId, OutletId> known;
  for (size_t id = 0; id < step->nodes.size(); ++id) {
    const Node& node = step->nodes[id];
    const OutletId own{static_cast<int>(id), 0};
    if (contains(step->inputs, own)) {
      const auto by = changed.find(own);
      known[own] = out.step.add_source(
          node.name, by == changed.end() ? node.outputs[0].without_value() : by->second);
      continue;
    }
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(known.at(input));
    const auto outlets = out.step.add(node.name, node.op, inputs);
    if (!outlets.ok()) return std::nullopt;
    for (const OutletId& outlet : *outlets) known[{own.node, outlet.slot}] = outlet;
  }
  for (const OutletId& output : step->outputs) out.step.outputs.push_back(known.at(output));
  return out;
}

/// Return the only axis of a fact that mentions a mark; -1 if none or several do.
int marked_axis(const Fact& fact, const std::vector<std::string>& marks, int from) {
  int found = -1;
  for (int axis = from; axis < fact.rank(); ++axis) {
    const auto mentions = [&](const std::string& mark) { return fact.dim(axis).mentions(mark); };
    if (!any_of(marks, mentions)) continue;
    if (found >= 0) return -1;
    found = axis - from;
  }
  return found;
}

/// Return whether the shape determines the frame axis: it is the only axis, or the only symbolic
/// one after the first, or there is one element.
bool is_plain(const Fact& fact) {
  int open = 0;
  for (int axis = 1; axis < fact.rank(); ++axis) open += fact.dim(axis).is_const() ? 0 : 1;
  return fact.rank() <= 1 || open == 1 ||
         all_of(fact.shape, [](const Dim& extent) { return extent == Dim(1); });
}

/// Return the frame axis of an input or output with the shape of a named input; -1 if there is
/// none.
int axis_of_alike(const Graph& graph, const std::vector<NamedAxis>& inputs, const Fact& fact) {
  for (const NamedAxis& each : inputs) {
    if (graph.fact(graph.inputs[each.index]).shape == fact.shape) return each.axis;
  }
  return -1;
}

/// Return the frame axis of an unnamed output; -1 if it cannot be inferred.
int followed_axis(const Graph& graph, const std::vector<NamedAxis>& inputs,
                  const std::optional<Traced>& trace, size_t output) {
  const Fact& fact = graph.fact(graph.outputs[output]);
  if (trace) {
    const int at = find_loop(graph);
    size_t result = output;
    if (at >= 0) {
      const int slot = slot_of(graph, at, output);
      if (slot < 0) return -1;
      const auto& loop = static_cast<const ops::Scan&>(*graph.node(at).op);
      result = static_cast<size_t>(loop.outputs[static_cast<size_t>(slot)].result);
    }
    const Fact& marked = trace->step.fact(trace->step.outputs[result]);
    const int axis = marked_axis(marked, trace->marks, at >= 0 ? 1 : 0);
    if (axis >= 0) return axis;
  } else if (const int axis = axis_of_alike(graph, inputs, fact); axis >= 0) {
    return axis;
  }
  return is_plain(fact) ? frame_axis(fact) : -1;
}

Status frames_unknown(std::string_view what, std::string_view name, const Fact& fact) {
  return fail(Code::kShape, what, " \"", name, "\" is ", fact,
              ": its axis of frames cannot be inferred from the named ones")
      .hint("Name that axis too; feed states back before the axes of frames are named");
}

}  // namespace

Result<Graph> with_frames(const Graph& model, std::span<const FrameAxis> axes) {
  RILL_TRY(expect_steps(model));
  Graph out = model.streaming ? model : model.stateless();
  std::vector<NamedAxis> inputs;
  std::vector<NamedAxis> outputs;
  for (const FrameAxis& each : axes) {
    RILL_ASSIGN(const NamedAxis named, named_axis(out, each));
    (named.input ? inputs : outputs).push_back(named);
  }
  if (inputs.empty()) return fail(Code::kArg, "no input whose frames are on a named axis");
  stream_by_steps(&out);
  Streaming& streams = *out.streaming;
  const auto find_named = [](const std::vector<NamedAxis>& list, size_t index) {
    const auto it = find_if(list, [&](const NamedAxis& each) { return each.index == index; });
    return it == list.end() ? -1 : it->axis;
  };
  for (size_t i = 0; i < out.inputs.size(); ++i) {
    const Fact& fact = out.fact(out.inputs[i]);
    int axis = find_named(inputs, i);
    if (axis < 0) axis = axis_of_alike(out, inputs, fact);
    if (axis < 0 && !is_plain(fact)) return frames_unknown("input", out.input_name(i), fact);
    streams.input_axes[i] = axis < 0 ? frame_axis(fact) : axis;
  }
  const std::optional<Traced> trace = traced(out, inputs);
  for (size_t i = 0; i < out.outputs.size(); ++i) {
    const int named = find_named(outputs, i);
    const int axis = named >= 0 ? named : followed_axis(out, inputs, trace, i);
    const Fact& fact = out.fact(out.outputs[i]);
    if (axis < 0 && fact.rank() > 0) return frames_unknown("output", out.output_names[i], fact);
    streams.outputs[i] = {axis, 0, {}};
  }
  stream_by_steps(&out);
  return out;
}

Result<Graph> with_step_frames(const Graph& graph, int64_t frames) {
  if (!graph.streaming) return fail(Code::kPulse, "the model does not stream");
  Graph out = graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const int axis = graph.streaming->input_axis(i);
    if (axis < 0) continue;
    const Dim own = out.fact(out.inputs[i]).dim(axis);
    if (const auto number = own.to_int()) {
      if (*number == frames) return out;
      return fail(Code::kShape, "a step takes ", counted(*number, "frame"), " of input \"",
                  graph.input_name(i), "\", not ", frames);
    }
    const auto symbol = own.as_symbol();
    if (!symbol) {
      return fail(Code::kShape, "a step takes ", own, " frames of input \"", graph.input_name(i),
                  "\"")
          .hint("Set its symbols");
    }
    RILL_ASSIGN(out, out.with_symbol(*symbol, Dim(frames)));
    describe_steps(&out);
    return out;
  }
  return fail(Code::kPulse, "no input of the model streams");
}

}  // namespace rill::pulse
