#include "pulse/before/sink_edge_padding.h"

#include <map>
#include <optional>

#include "core/base/search.h"
#include "core/graph/graph_copy.h"
#include "core/graph/typed.h"
#include "core/graph/walk.h"
#include "ops/array/pad.h"
#include "ops/array/reshape.h"

namespace rill::pulse {

const ops::Pad* pad_of(const Node& node) { return node.op->as<ops::Pad>(); }

namespace {

/// A wire without its padding. The padding is applied later, after nodes that work frame by frame.
struct Bare {
  OutletId wire;  ///< of the new graph
  int axis = 0;
  const Node* pad = nullptr;
};

class Sinking final : public GraphCopy {
 public:
  Sinking(const Graph& graph, std::string_view symbol) : GraphCopy(graph), symbol_(symbol) {}

  static bool repeats(const Node& node) {
    const auto* pad = pad_of(node);
    return pad && pad->mode != "constant";
  }

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    const OutletId own{id, 0};
    const int axis = edge_padding_axis(node);
    if (axis >= 0 && !bare_.contains(node.inputs[0])) {
      bare_[own] = {mapped_.at(node.inputs[0]), axis, &node};
      return {};
    }
    RILL_ASSIGN(const bool passed, pass(id));
    if (passed) return {};
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) {
      RILL_ASSIGN(inputs.emplace_back(), whole(input));
    }
    return append(id, node.op, inputs);
  }

  /// Return the streaming axis if a node pads only that axis, by frames of the stream; else -1.
  int edge_padding_axis(const Node& node) const {
    if (!repeats(node)) return -1;
    const auto* pad = pad_of(node);
    int found = -1;
    for (int axis = 0; axis < node.outputs[0].rank(); ++axis) {
      if (pad->pads[static_cast<size_t>(axis)] == std::pair<int64_t, int64_t>{0, 0}) continue;
      if (found >= 0 || !graph_.fact(node.inputs[0]).dim(axis).mentions(symbol_)) return -1;
      found = axis;
    }
    return found;
  }

  /// Let a node work on the unpadded frames, if it works frame by frame. Other nodes read the
  /// padded wire, which `whole` makes.
  Result<bool> pass(int id) {
    const Node& node = graph_.node(id);
    const auto found = find_if(node.inputs, [&](OutletId input) { return bare_.contains(input); });
    if (found == node.inputs.end() || node.outputs.size() != 1) return false;
    const auto carried = static_cast<size_t>(found - node.inputs.begin());
    const OutletId from = *found;
    const Bare bare = bare_.at(from);
    const int axis = axis_after(node, carried, bare.axis);
    if (axis < 0) return false;
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) {
      inputs.push_back(input == from ? bare.wire : mapped_.at(input));
    }
    OpPtr op = node.op;
    if (op->as<ops::Reshape>()) {
      const Fact& fact = out_.fact(bare.wire);
      std::vector<Dim> shape = node.outputs[0].shape;
      shape[static_cast<size_t>(axis)] = fact.dim(bare.axis);
      op = make_op<ops::Reshape>(0, fact.rank(), std::move(shape));
    }
    RILL_ASSIGN(const auto outlets, out_.add(node.name, std::move(op), inputs, node.line));
    bare_[{id, 0}] = {outlets[0], axis, bare.pad};
    return true;
  }

  /// Return the frame axis of the output of a node that treats every frame alike; -1 for other
  /// nodes.
  int axis_after(const Node& node, size_t carried, int axis) const {
    const OpTraits traits = node.op->traits();
    const auto* pad = pad_of(node);
    const bool layout = traits.keeps_order || traits.moves == Moves::kFrames;
    if (!layout && !traits.per_element && !(pad && pad->mode == "constant")) return -1;
    Facts in;
    for (const OutletId& input : node.inputs) {
      in.push_back(graph_.fact(input));
      const bool own = in.size() - 1 == carried;
      // Other operands must be constants with extent 1 along the axis: the same for every frame.
      const bool constant = constant_of(*graph_.node(input.node).op) != nullptr;
      if (!own && (!constant || in.back().rank() <= axis || !(in.back().dim(axis) == Dim(1)))) {
        return -1;
      }
    }
    int out_axis = -1;
    for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
      if (track.in[carried] == axis) out_axis = track.out[0];
    }
    const bool same = out_axis >= 0 && node.outputs[0].dim(out_axis) == in[carried].dim(axis);
    return same ? out_axis : -1;
  }

  /// Return the wire with its padding.
  Result<OutletId> whole(OutletId outlet) override {
    if (mapped_.contains(outlet)) return mapped_.at(outlet);
    const Bare& bare = bare_.at(outlet);
    const auto* pad = pad_of(*bare.pad);
    Pads pads(static_cast<size_t>(out_.fact(bare.wire).rank()), {0, 0});
    for (const auto& amount : pad->pads) {
      if (amount.first != 0 || amount.second != 0) pads[static_cast<size_t>(bare.axis)] = amount;
    }
    RILL_ASSIGN(TensorPtr value, value_for(*pad, out_.fact(bare.wire)));
    RILL_ASSIGN(const auto outlets,
                out_.add(bare.pad->name, make_op<ops::Pad>(std::move(pads), pad->mode, value),
                         {bare.wire}, bare.pad->line));
    return mapped_[outlet] = outlets[0];
  }

  static Result<TensorPtr> value_for(const ops::Pad& pad, const Fact& wire) {
    if (pad.value && expect_type_of("value", *pad.value, wire).ok()) return pad.value;
    RILL_ASSIGN(Tensor zero, Tensor::zeros(wire.dtype, {}, wire.q));
    return std::make_shared<const Tensor>(std::move(zero));
  }

  std::string_view symbol_;
  std::map<OutletId, Bare> bare_;
};

}  // namespace

Result<Graph> sink_edge_padding(Graph graph, std::string_view symbol) {
  if (none_of(graph.nodes, Sinking::repeats)) return graph;
  return Sinking(graph, symbol).run();
}

}  // namespace rill::pulse
