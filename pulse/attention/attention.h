#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/square.h"

namespace rill::pulse {

class Builder;

/// Attention over a stream: the product of weights with values, and the nodes from its scores to
/// the weights. Queries attend to the keys that masks show them, and the stream keeps a fixed
/// number of keys. A wire of frames against frames cannot stream alone, because only the masks
/// bound the frames that it holds.
/// Stream: a query waits for the last key that it sees, and the keys that the latest queries see
/// are kept. Keys before the stream and after its end get the score minus infinity.
/// Source: NNEF 1.0, `matmul`, `softmax`; PyTorch, `scaled_dot_product_attention`.
struct Attention {
  /// The nodes from wires with one axis of frames to the product. Selects by position replace
  /// joins.
  std::shared_ptr<const Graph> body;
  std::vector<OutletId> inputs;  ///< of the body, as wires of the whole graph
  std::vector<OutletId> large;   ///< inputs of the body that may hold numbers that hide keys
  int weights = 0;               ///< the operand of the product with axes of queries and of keys
  Square in_weights;             ///< these axes in the weights, and in the values
  Square in_values;
  int queries = -1;  ///< the axis of queries in the result

  const Node& product() const { return body->node(body->outputs[0].node); }
  OutletId used() const { return product().inputs[static_cast<size_t>(weights)]; }
  OutletId values() const { return product().inputs[static_cast<size_t>(1 - weights)]; }
};

/// The attention of a graph.
struct AllAttention {
  std::map<int, Attention> products;  ///< by the node of the graph that is the product
  std::vector<char> inside;           ///< by node: whether only attention reads it; or empty

  bool is_inside(int id) const { return !inside.empty() && inside[static_cast<size_t>(id)] != 0; }
  /// Return whether a node is a product, or inside.
  bool has(int id) const { return is_inside(id) || at(id); }
  const Attention* at(int id) const {
    const auto found = products.find(id);
    return found == products.end() ? nullptr : &found->second;
  }
  /// Return the wires from which a node's pulsed form is made.
  const std::vector<OutletId>& inputs_of(const Graph& whole, int id) const {
    const Attention* attention = at(id);
    return attention ? attention->inputs : whole.node(id).inputs;
  }
};

/// The name of attention in messages and reports, in place of that of its product's operator.
inline constexpr std::string_view kAttentionName = "Attention";

/// Find the attention of a graph along a symbol.
AllAttention attention_of(const Graph& whole, std::string_view symbol);

/// Return, by node, whether only attention needs it: no output does if each product is made from
/// the inputs of its attention.
std::vector<char> inside_of(const Graph& whole, const AllAttention& all);

/// Add the pulsed form of attention, whose product is the node that the builder has entered.
/// Errors: kPulse if queries see keys without bound, or if a node mixes frames.
Status pulsify(Builder& builder, const Attention& attention);

/// Add expressions that must not be negative, so that every query finds at least one key in the
/// stream. Without keys, a whole run gives zeros, but a stream gives the result for hidden keys.
void add_keys(const AllAttention& all, std::vector<Dim>* non_negative);

}  // namespace rill::pulse
