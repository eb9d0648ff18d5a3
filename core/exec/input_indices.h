#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// An operand of indices, and the range of its numbers.
struct Indices {
  OutletId wire;
  NumberRange range;
};

/// Return the operand from which an operator makes these indices, element by element: by casts,
/// moves and sums with constants. Nothing for other operators.
std::optional<Indices> upstream_indices(const Graph& graph, const Indices& indices);

/// Return the least and the largest element of a constant of whole numbers; nothing for other
/// constants, and if an element holds a symbol.
std::optional<NumberRange> range_of(const TensorPtr& tensor);

/// Return, for each node, whether the outputs need its result in every run. A choice may need only
/// one of its two values: the branches of an ONNX `If` become inputs of a choice.
std::vector<char> always_needed(const Graph& graph);

/// Return, for each input of a model, the range of its numbers if it holds indices: `Op::indices`
/// of the operators that read it, directly or through casts, moves and sums with constants, and
/// that outputs need in every run. The graph is not fused yet.
std::vector<std::optional<NumberRange>> input_indices(const Graph& graph);

}  // namespace rill
