#include "pulse/feedback.h"

#include <algorithm>
#include <map>

#include "core/base/search.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/control/scan.h"
#include "ops/stream/delay.h"

namespace rill::pulse {
namespace {

using Kind = ops::Scan::Input::Kind;

/// The loop whose turns are the steps; its states are what is fed back.
constexpr std::string_view kCalled = "Feedback";
/// Every wire of the loop has an axis of steps in front.
constexpr int64_t kStepAxis = 0;

/// Return whether a node is the loop of the steps: only this file names a loop so.
bool is_loop(const Node& node) { return node.op->nested() && node.op->name() == kCalled; }

int find_loop(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (is_loop(graph.nodes[i])) return static_cast<int>(i);
  }
  return -1;
}

/// The graph of one step, with all inputs and outputs that it had at first; null without a loop.
const Graph* step_of(const Graph& graph) {
  const int at = find_loop(graph);
  return at < 0 ? nullptr : graph.node(at).op->nested();
}

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

/// Return whether a node outputs its input, prefixed with frames of the previous step.
bool is_context(const Graph& graph, const Node& node) {
  const auto need = node.inputs.size() == 1 ? node.op->history(0) : std::nullopt;
  if (!need || need->fill) return false;
  Fact with = graph.fact(node.inputs[0]).without_value();
  with.shape[static_cast<size_t>(need->axis)] += Dim(need->frames);
  return node.outputs.size() == 1 && node.outputs[0].same_type(with);
}

/// Return the axis of frames of a step's input or output; -1 for a scalar.
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

/// Copy the nodes of a graph to the end of another; sources are there already.
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

/// The wires that the steps of a model begin with: its inputs, with frames of the last step in
/// front where it takes these.
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

/// The model as the body of a loop: wires with an axis of steps, of extent 1, in front.
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

/// The model as a loop whose turns are steps, without states.
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

/// The operand of the loop that an input of the model becomes; -1 if it becomes something else too.
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

/// The first value of a state: zeros, or what is given, for every entry of a batch.
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
    StreamingOutput& told = streams.outputs[i];
    const auto frames = told.axis >= 0 ? fact.dim(told.axis).to_int() : std::nullopt;
    // Of a step that the stream does not fill nothing is given.
    if (streams.pulse > 0 && frames) {
      told.length = floor_div(symbol, streams.pulse) * Dim(*frames);
    }
  }
}

namespace {

/// Have a model stream whose steps are its runs.
void stream_by_steps(Graph* graph) {
  if (!graph->streaming) {
    Streaming streams;
    streams.named = graph->scope.fresh("S");
    // Outputs of a step depend on its input frames only, wherever the stream ends after them.
    streams.late_end = true;
    graph->streaming = std::move(streams);
  }
  graph->streaming->pulse = 0;
  describe_steps(graph);
}

/// An output of a loop that becomes a state: result `slot` of the loop at node `at` is its operand
/// in the next step.
struct Tie {
  size_t in = 0;   ///< the input of the model that goes
  size_t out = 0;  ///< the output that goes
  int at = 0;
  int operand = 0;
  int slot = 0;
};

/// The graph without the input and the output, with `loop`, which has the state, in its place.
Result<Graph> without_ends(const Graph& looped, const Tie& tie, const OpPtr& loop,
                           const TensorPtr& first, std::string_view input) {
  Graph tied = empty_like(looped);
  std::map<OutletId, OutletId> known;
  for (size_t i = 0; i < looped.inputs.size(); ++i) {
    if (i != tie.in) {
      known[looped.inputs[i]] =
          tied.add_source(looped.input_name(i), looped.fact(looped.inputs[i]).without_value());
    }
  }
  const Fact state =
      looped.fact(looped.node(tie.at).inputs[static_cast<size_t>(tie.operand)]).without_value();
  for (size_t id = 0; id < looped.nodes.size(); ++id) {
    const Node& node = looped.nodes[id];
    const OutletId of{static_cast<int>(id), 0};
    if (known.contains(of) || of == looped.inputs[tie.in]) continue;
    std::vector<OutletId> inputs;
    bool there = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (static_cast<int>(id) == tie.at && static_cast<int>(i) == tie.operand) {
        RILL_ASSIGN(const OutletId initial, first_value(state, first, input, &tied));
        inputs.push_back(initial);
        continue;
      }
      const auto found = known.find(node.inputs[i]);
      there &= found != known.end();
      if (there) inputs.push_back(found->second);
    }
    if (!there) continue;
    if (static_cast<int>(id) != tie.at) {
      const auto outlets = tied.add_known(node, std::move(inputs));
      for (const OutletId& outlet : outlets) known[{of.node, outlet.slot}] = outlet;
      continue;
    }
    RILL_ASSIGN(const auto outlets, tied.add(node.name, loop, inputs));
    for (const OutletId& outlet : outlets) {
      known[{of.node, outlet.slot + (outlet.slot >= tie.slot ? 1 : 0)}] = outlet;
    }
  }
  for (size_t i = 0; i < looped.outputs.size(); ++i) {
    if (i != tie.out) tied.add_output(looped.output_names[i], known.at(looped.outputs[i]));
  }
  if (tied.streaming) {
    const auto forget = [](auto* list, size_t index) {
      if (index < list->size()) list->erase(list->begin() + static_cast<ptrdiff_t>(index));
    };
    forget(&tied.streaming->input_axes, tie.in);
    forget(&tied.streaming->input_lengths, tie.in);
    forget(&tied.streaming->outputs, tie.out);
  }
  return tied;
}

/// A stream whose steps are runs of the model keeps nothing but what this module adds.
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
      .hint("Tie outputs to inputs before the model is pulsed");
}

}  // namespace

Result<Graph> with_feedback(const Graph& model, std::string_view output, std::string_view input,
                            TensorPtr first) {
  RILL_TRY(expect_steps(model));
  Graph looped = model;
  if (find_loop(model) < 0) {
    RILL_ASSIGN(looped, as_loop(model));
  }
  RILL_ASSIGN(const size_t in, input_named(looped, input));
  RILL_ASSIGN(const size_t out, output_named(looped, output));
  const Fact& takes = looped.fact(looped.inputs[in]);
  const Fact& gives = looped.fact(looped.outputs[out]);
  const int at = find_loop(looped);
  const int operand = operand_of(looped, at, looped.inputs[in]);
  const OutletId result = looped.node(looped.outputs[out].node).inputs.empty()
                              ? OutletId{}
                              : looped.node(looped.outputs[out].node).inputs[0];
  if (takes.dtype != gives.dtype || !(takes.shape == gives.shape)) {
    return fail(takes.dtype != gives.dtype ? Code::kDType : Code::kShape, "output \"", output,
                "\" is ", gives, ", input \"", input, "\" is ", takes, ": expected the same")
        .hint("Set symbols that are meant to be equal, as in --set B=1");
  }
  if (operand < 0 || result.node != at) {
    return fail(Code::kPulse, "output \"", output, "\" and input \"", input,
                "\" are not both of the step");
  }
  auto loop = draft_op<ops::Scan>(static_cast<const ops::Scan&>(*looped.node(at).op));
  if (loop->inputs[static_cast<size_t>(operand)].kind != Kind::kScan) {
    return fail(Code::kArg, "input \"", input, "\" is fed back already");
  }
  const auto own = static_cast<size_t>(result.slot);
  const auto before = std::count_if(loop->inputs.begin(), loop->inputs.begin() + operand,
                                    [](const auto& each) { return each.kind == Kind::kState; });
  loop->inputs[static_cast<size_t>(operand)] = {Kind::kState, 0, 1};
  loop->state_results.insert(loop->state_results.begin() + before, loop->outputs[own].result);
  loop->outputs.erase(loop->outputs.begin() + result.slot);
  if (none_of(loop->inputs, [](const auto& each) { return each.kind == Kind::kScan; })) {
    return fail(Code::kPulse, "every input is fed back: no input gives the number of steps");
  }
  const Tie tie{in, out, at, operand, result.slot};
  RILL_ASSIGN(Graph tied, without_ends(looped, tie, loop, first, input));
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
  const int axis = frame_axis(model.fact(model.inputs[index]));
  const Dim whole = axis < 0 ? Dim(0) : model.fact(model.inputs[index]).dim(axis);
  const auto symbol = whole.as_symbol();
  const auto number = whole.to_int();
  if (frames < 1 || axis < 0 || (!symbol && (!number || *number <= frames))) {
    return fail(Code::kShape, "a context of ", frames, " frames for input \"", input, "\" of ",
                model.fact(model.inputs[index]),
                ": expected 1 or more, and fewer than the input has");
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

Result<Graph> with_step_frames(const Graph& graph, int64_t frames) {
  if (!graph.streaming) return fail(Code::kPulse, "the model is no stream");
  Graph out = graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const int axis = graph.streaming->input_axis(i);
    if (axis < 0) continue;
    const Dim own = out.fact(out.inputs[i]).dim(axis);
    if (const auto number = own.to_int()) {
      if (*number == frames) return out;
      return fail(Code::kShape, "a step takes ", *number, " frames of input \"",
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
