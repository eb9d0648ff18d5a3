#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Return whether a node computes a softmax over one axis.
bool is_softmax(const Node& node, int axis);

/// The axes of one input of a product that sums over the stream.
struct ProductInput {
  std::vector<int> kept;  ///< by axis of the output: the axis of the input; -1 if it has none
  int summed = -1;
};

/// Return the axes of an input of a product; nothing unless it sums over one axis, of the stream.
std::optional<ProductInput> product_input(const Graph& graph, const Node& node, size_t input,
                                          std::string_view symbol);

/// A matmul that sums frames over the stream, weighted by a softmax.
struct WeighedProduct {
  OutletId scores;
  std::vector<OpPtr> moves;  ///< move whole frames of the weights; valid for the scores too
  OutletId frames;
  ProductInput of_scores;
  ProductInput of_frames;
};

/// Return the weighted product that a node computes; nothing for other nodes.
std::optional<WeighedProduct> weighed_product(const Graph& graph, const Node& node,
                                              std::string_view symbol);

}  // namespace rill::pulse
