#include "pulse/attention/front_keys.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/graph_copy.h"
#include "core/graph/walk.h"
#include "core/tensor/uniform.h"
#include "ops/array/broadcast.h"
#include "ops/array/concat.h"
#include "ops/array/pad.h"
#include "pulse/before/sink_edge_padding.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;

/// A wire split into constant frames and the frames of the stream that follow them.
struct Split {
  int axis = 0;
  Dim count;
  OutletId front;
  OutletId rest;
};

class LateFront final : public GraphCopy {
 public:
  LateFront(const Graph& graph, const AllAttention& attention, std::string_view symbol, bool pads)
      : GraphCopy(graph),
        attention_(attention),
        symbol_(symbol),
        pads_(pads),
        moving_(graph.nodes.size(), 0) {
    for (const auto& [product, each] : attention.products) {
      for (const OutletId& input : each.inputs) products_.emplace(input, product);
    }
    for (size_t id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      moving_[id] = source_of(*node.op) != nullptr || any_of(node.inputs, [&](OutletId input) {
                      return moving_[static_cast<size_t>(input.node)] != 0;
                    });
    }
  }

  /// Return whether an attention has keys before the stream, after `run`.
  bool found() const { return !joined_.empty(); }
  /// Return the attention of the copy, after `run`.
  AllAttention attention(const Graph& copied) const {
    std::vector<int> ids;  // of the nodes in the copy, which has no unused ones
    int next = 0;
    for (const char unused : inside_of(out_, {})) ids.push_back(unused ? -1 : next++);
    const auto place = [&](OutletId outlet) {
      return OutletId{ids[static_cast<size_t>(outlet.node)], outlet.slot};
    };
    AllAttention out;
    for (const auto& [product, each] : attention_.products) {
      Attention own = each;
      for (OutletId& input : own.inputs) {
        const auto joined = joined_.find(input);
        input = place(joined == joined_.end() ? mapped_.at(input) : joined->second);
      }
      out.products.emplace(place(mapped_.at({product, 0})).node, std::move(own));
    }
    out.inside = inside_of(copied, out);
    return out;
  }

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    std::vector<OutletId> inputs;
    if (attention_.has(id)) {
      for (const OutletId& input : node.inputs) {
        RILL_ASSIGN(inputs.emplace_back(), joined(input));
      }
      for (const OutletId& each : out_.add_known(node, std::move(inputs))) {
        mapped_[{id, each.slot}] = each;
      }
      // The bodies of attention were made for the facts of its nodes.
      if (const Attention* attention = attention_.at(id)) {
        out_.nodes.back().outputs = one_fact(attention->body->fact(attention->body->outputs[0]));
      }
      return {};
    }
    for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
    RILL_TRY(append(id, node.op, inputs));
    if (node.outputs.size() != 1) return {};
    RILL_ASSIGN(const auto split, split_of(node));
    if (split) splits_.emplace(OutletId{id, 0}, *split);
    return {};
  }

  /// Return a wire that attention reads. If it is an input of attention, its front is joined last.
  Result<OutletId> joined(OutletId wire) {
    const auto product = products_.find(wire);
    if (product == products_.end() || !splits_.contains(wire)) return mapped_.at(wire);
    // The inputs of attention have the order of the graph, so that those before `wire` are copied.
    for (const OutletId& input : attention_.at(product->second)->inputs) {
      if (joined_.contains(wire)) break;
      const auto split = splits_.find(input);
      if (split == splits_.end() || joined_.contains(input)) continue;
      const auto& [axis, count, front, rest] = split->second;
      RILL_ASSIGN(const OutletId out, add(graph_.node(product->second), "keys",
                                          make_op<ops::Concat>(axis), {front, rest}));
      joined_.emplace(input, out);
    }
    return joined_.at(wire);
  }

  Result<std::optional<Split>> split_of(const Node& node) {
    if (node.op->course().is(Form::kJoined)) return split_join(node);
    if (const auto* pad = pad_of(node); pad && pads_) return split_pad(node, *pad);
    return split_frames(node);
  }

  /// Split a stream that is joined to constants before it.
  Result<std::optional<Split>> split_join(const Node& node) {
    Split out;
    out.axis = node.op->course().axis();
    std::vector<OutletId> parts;
    for (size_t i = 0; i + 1 < node.inputs.size(); ++i) {
      const OutletId input = node.inputs[i];
      if (moving_[static_cast<size_t>(input.node)] || graph_.fact(input).mentions(symbol_)) {
        return std::optional<Split>();
      }
      out.count += graph_.fact(input).dim(out.axis);
      parts.push_back(mapped_.at(input));
    }
    const OutletId rest = node.inputs.back();
    if (parts.empty() || !graph_.fact(rest).dim(out.axis).mentions(symbol_)) {
      return std::optional<Split>();
    }
    out.rest = mapped_.at(rest);
    out.front = parts[0];
    if (parts.size() > 1) {
      RILL_ASSIGN(out.front, add(node, "front", make_op<ops::Concat>(out.axis), parts));
    }
    return std::optional(out);
  }

  Result<std::optional<Split>> split_pad(const Node& node, const ops::Pad& pad) {
    if (pad.mode != "constant" || !pad.value) return std::optional<Split>();
    const Fact& fact = node.outputs[0];
    std::optional<Split> out;
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const auto& [before, after] = pad.pads[static_cast<size_t>(axis)];
      if (before == 0 && after == 0) continue;
      if (out || after != 0 || !fact.dim(axis).mentions(symbol_)) return std::optional<Split>();
      out = Split{axis, Dim(before), {}, mapped_.at(node.inputs[0])};
    }
    if (!out) return out;
    std::vector<Dim> shape = fact.shape;
    shape[static_cast<size_t>(out->axis)] = out->count;
    RILL_ASSIGN(Tensor one, pad.value->reshaped(std::vector<int64_t>(shape.size(), 1)));
    const OutletId value = out_.add_const(
        str_cat(node.name, "_value"), std::make_shared<const Tensor>(std::move(one)), node.line);
    auto repeated = make_op<ops::Broadcast>(std::move(shape));
    RILL_ASSIGN(out->front, add(node, "front", std::move(repeated), {value}));
    return out;
  }

  /// Split the result of an operator that works frame by frame on split inputs.
  Result<std::optional<Split>> split_frames(const Node& node) {
    std::optional<Split> out;
    if (!any_of(node.inputs, [&](OutletId input) { return splits_.contains(input); }) ||
        !node.op->repeatable() || node.op->with_symbol(symbol_, Dim(1))) {
      return out;
    }
    const Facts in = graph_.facts_of(node.inputs);
    for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
      if (!node.outputs[0].dim(track.out[0]).mentions(symbol_)) continue;
      return split_along(node, in, track);
    }
    return out;
  }

  Result<std::optional<Split>> split_along(const Node& node, const Facts& in,
                                           const AxisTrack& track) {
    std::optional<Split> out;
    std::vector<OutletId> front;
    std::vector<OutletId> rest;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int axis = track.in[i];
      front.push_back(mapped_.at(node.inputs[i]));
      rest.push_back(front.back());
      if (axis < 0 || in[i].dim(axis) == Dim(1)) {
        // Constant frames may only meet constants, so that the front is known before the stream
        // begins.
        if (moving_[static_cast<size_t>(node.inputs[i].node)] || in[i].mentions(symbol_)) {
          return std::optional<Split>();
        }
        continue;
      }
      const auto split = splits_.find(node.inputs[i]);
      if (split == splits_.end() || split->second.axis != axis ||
          (out && !(out->count == split->second.count))) {
        return std::optional<Split>();
      }
      out = split->second;
      front.back() = out->front;
      rest.back() = out->rest;
    }
    if (!out) return out;
    out->axis = track.out[0];
    const auto in_front = out_.add(str_cat(node.name, "_front"), node.op, front, node.line);
    const auto after = out_.add(str_cat(node.name, "_frames"), node.op, rest, node.line);
    if (!in_front.ok() || !after.ok()) return std::optional<Split>();
    out->front = (*in_front)[0];
    out->rest = (*after)[0];
    return out;
  }

  /// Append a node. Nodes of the graph keep their names, by which reports find them.
  Result<OutletId> add(const Node& node, std::string_view suffix, OpPtr op,
                       const std::vector<OutletId>& inputs) {
    const std::string name = str_cat(node.name, "_", suffix);
    RILL_ASSIGN(const auto out, out_.add(name, std::move(op), inputs, node.line));
    return out[0];
  }

  const AllAttention& attention_;
  std::string_view symbol_;
  bool pads_;
  std::vector<char> moving_;  ///< by node: whether it depends on an input of the model
  std::map<OutletId, int> products_;  ///< the inputs of attention, each with its product
  std::map<OutletId, Split> splits_;
  std::map<OutletId, OutletId> joined_;
};

}  // namespace

Result<std::optional<Ready>> join_front_late(const Ready& ready, std::string_view symbol,
                                             bool pads) {
  if (ready.attention.products.empty()) return std::optional<Ready>();
  LateFront late(ready.whole, ready.attention, symbol, pads);
  RILL_ASSIGN(Graph joined, late.run());
  if (!late.found()) return std::optional<Ready>();
  AllAttention attention = late.attention(joined);
  return std::optional(Ready{std::move(joined), std::move(attention)});
}

}  // namespace rill::pulse
