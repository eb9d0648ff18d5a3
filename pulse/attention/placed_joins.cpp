#include "pulse/attention/placed_joins.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/graph/course.h"
#include "core/graph/graph_copy.h"
#include "core/graph/walk.h"
#include "ops/array/pad.h"
#include "pulse/before/front_wires.h"
#include "pulse/before/sink_edge_padding.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;
using Wire = FrontWires::Wire;

class PlacedJoins final : public GraphCopy {
 public:
  PlacedJoins(const Graph& body, std::string_view symbol)
      : GraphCopy(body), symbol_(symbol), front_(&out_, symbol, false) {}

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
    if (node.outputs.size() == 1 && is_positional(graph_, {id, 0})) {
      RILL_ASSIGN(const Wire placed, placed_form(node, inputs));
      if (placed && out_.fact(*placed).shape == node.outputs[0].shape) {
        mapped_[{id, 0}] = *placed;
        return {};
      }
    }
    return append(id, node.op, inputs);
  }

  Result<Wire> placed_form(const Node& node, const std::vector<OutletId>& inputs) {
    if (node.op->course().is(Form::kJoined)) return joined(node, inputs);
    if (const auto* pad = pad_of(node)) return padded(node, *pad, inputs[0]);
    return Wire();
  }

  Result<Wire> joined(const Node& node, const std::vector<OutletId>& inputs) {
    FrontWires::Join join;
    join.axis = node.op->course().axis();
    if (!node.outputs[0].dim(join.axis).mentions(symbol_)) return Wire();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto extent = out_.fact(inputs[i]).dim(join.axis).to_int();
      if (!extent) {
        join.rest = inputs[i];
        return i + 1 == inputs.size() ? front_.joined(node, join) : Result<Wire>(Wire());
      }
      join.parts.emplace_back(inputs[i], *extent);
    }
    return Wire();
  }

  Result<Wire> padded(const Node& node, const ops::Pad& pad, OutletId wire) {
    if (pad.mode != "constant" || !pad.value) return Wire();
    const Fact& fact = node.outputs[0];
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const auto& [before, after] = pad.pads[static_cast<size_t>(axis)];
      if (after != 0 || (before != 0 && !fact.dim(axis).mentions(symbol_))) return Wire();
    }
    RILL_ASSIGN(Tensor one, pad.value->reshaped(std::vector<int64_t>(fact.shape.size(), 1)));
    const OutletId value = front_.konst(node, std::move(one));
    Wire out = wire;
    for (int axis = 0; axis < fact.rank() && out; ++axis) {
      const int64_t before = pad.pads[static_cast<size_t>(axis)].first;
      if (before == 0) continue;
      RILL_ASSIGN(out, front_.joined(node, {axis, {{value, before}}, *out}));
    }
    return out;
  }

  std::string_view symbol_;
  FrontWires front_;
};

}  // namespace

Result<std::shared_ptr<const Graph>> place_joins(std::shared_ptr<const Graph> body,
                                                 std::string_view symbol) {
  bool any = false;
  for (size_t id = 0; id < body->nodes.size() && !any; ++id) {
    const Node& node = body->nodes[id];
    any = (node.op->course().is(Form::kJoined) || pad_of(node)) &&
          node.outputs[0].mentions(symbol) && is_positional(*body, {static_cast<int>(id), 0});
  }
  if (!any) return body;
  RILL_ASSIGN(Graph placed, PlacedJoins(*body, symbol).run());
  return std::shared_ptr<const Graph>(std::make_shared<Graph>(std::move(placed)));
}

}  // namespace rill::pulse
