#include "ops/control/onnx_iterations.h"

#include "core/base/search.h"
#include "ops/array/axis_ops.h"
#include "ops/array/gather.h"
#include "ops/math/select.h"

namespace rill::ops {

using Kind = Scan::Input::Kind;

Iterations::Iterations(OnnxCtx& ctx, const OnnxCtx::Body& body) : ctx_(ctx), body_(body) {
  loop_body_.name = body.graph.name;
  loop_body_.scope = ctx.graph().scope;
}

void Iterations::take(OutletId given, OutletId outer, Scan::Input input) {
  const Fact fact = Scan::inner_fact(input, ctx_.fact(outer));
  const std::string name = given.valid() ? body_.graph.node(given.node).name : "runs";
  const OutletId source = loop_body_.add_source(loop_body_.unique_name(name), fact);
  if (given.valid()) copied_[given] = source;
  if (input.kind == Kind::kState) states_.push_back(source);
  scan_.inputs.push_back(input);
  outer_.push_back(outer);
}

Status Iterations::take_by_iteration(OutletId given, OutletId outer, int64_t axis, int64_t chunk) {
  take(given, outer, {Kind::kScan, axis, chunk});
  RILL_ASSIGN(copied_[given], add(make_op<RmAxis>(axis), {copied_[given]}));
  return {};
}

void Iterations::take_constant(OutletId given, Tensor value) {
  copied_[given] = loop_body_.add_const(loop_body_.unique_name("constant"),
                                        std::make_shared<const Tensor>(std::move(value)));
}

Status Iterations::take_rows_of(OutletId number, const Dim& count) {
  const Graph& graph = body_.graph;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.inputs.size() != 2 || node.inputs[1] != number) continue;
    const auto from = find(graph.inputs, node.inputs[0]);
    const size_t own = graph.inputs.size() - body_.captured.size();
    const auto at = static_cast<size_t>(from - graph.inputs.begin());
    if (from == graph.inputs.end() || at < own) continue;
    const Fact& data = graph.fact(node.inputs[0]);
    for (int axis = 0; axis < data.rank(); ++axis) {
      const Gather rows(axis);
      const bool is_it = node.op->name() == rows.name() &&
                         node.op->attributes() == rows.attributes() && data.dim(axis) == count;
      if (!is_it) continue;
      RILL_TRY(take_by_iteration({static_cast<int>(id), 0}, body_.captured[at - own], axis, 1));
    }
  }
  return {};
}

bool Iterations::is_read(OutletId given) const {
  const Graph& graph = body_.graph;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    if (copied_.contains({static_cast<int>(id), 0})) continue;
    const auto& inputs = graph.nodes[id].inputs;
    if (contains(inputs, given)) return true;
  }
  return contains(graph.outputs, given);
}

Status Iterations::copy() {
  const Graph& graph = body_.graph;
  const size_t own = graph.inputs.size() - body_.captured.size();
  for (size_t i = own; i < graph.inputs.size(); ++i) {
    const OutletId input = graph.inputs[i];
    if (copied_.contains(input)) continue;
    if (!is_read(input)) {
      copied_[input] = {};
      continue;
    }
    take(input, body_.captured[i - own], {Kind::kFull, 0, 1});
  }
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const OutletId first{static_cast<int>(id), 0};
    if (copied_.contains(first)) continue;
    const Node& node = graph.nodes[id];
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(copied_.at(input));
    Node own_node = node;
    own_node.name = loop_body_.unique_name(node.name);
    const std::vector<OutletId> outlets = loop_body_.add_known(own_node, std::move(inputs));
    for (size_t slot = 0; slot < outlets.size(); ++slot) {
      copied_[{first.node, static_cast<int>(slot)}] = outlets[slot];
    }
  }
  return {};
}

Result<OutletId> Iterations::add(OpPtr op, WireList inputs) {
  RILL_ASSIGN(const std::vector<OutletId> outlets,
              loop_body_.add(loop_body_.unique_name(op->name()), op, inputs));
  return outlets[0];
}

Result<OutletId> Iterations::chosen(OutletId condition, OutletId yes, OutletId no) {
  while (loop_body_.fact(condition).rank() < loop_body_.fact(yes).rank()) {
    RILL_ASSIGN(condition, add(make_op<AddAxis>(0), {condition}));
  }
  return add(make_op<Select>(), {condition, yes, no});
}

Status Iterations::give_state(OutletId next) {
  const size_t index = scan_.state_results.size();
  const Fact& fact = loop_body_.fact(next);
  const Fact& first = loop_body_.fact(states_[index]);
  RILL_CHECK(fact.same_type(first), "state ", index, " of the loop is ", first,
             " before an iteration and ", fact, " after it");
  const int result = static_cast<int>(loop_body_.outputs.size());
  loop_body_.add_output(str_cat("state_", index), next);
  scan_.state_results.push_back(result);
  scan_.outputs.push_back({result, true, 0, 1});
  return {};
}

Status Iterations::give_list(OutletId given, int64_t axis, int64_t chunk) {
  RILL_ASSIGN(const OutletId row, add(make_op<AddAxis>(axis), {of(given)}));
  const int result = static_cast<int>(loop_body_.outputs.size());
  loop_body_.add_output(str_cat("list_", result), row);
  scan_.outputs.push_back({result, false, axis, chunk});
  return {};
}

Result<Value> Iterations::run(std::string_view called) {
  scan_.called = std::string(called);
  scan_.body = std::make_shared<const Graph>(loop_body_);
  RILL_ASSIGN(const std::vector<OutletId> outs,
              ctx_.add(make_op<Scan>(std::move(scan_)), std::move(outer_)));
  return Value::of_wires(outs);
}

}  // namespace rill::ops
