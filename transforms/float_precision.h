#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rill::transforms {

/// The nodes that a transform works on, selected by parts of their names.
struct NodeFilter {
  std::optional<std::vector<std::string>> include;  ///< all nodes where absent
  std::vector<std::string> exclude;

  bool matches(std::string_view name) const;
};

/// Parse the older syntax: "==a,b" includes, "!=a,b" excludes. Any other text means no filter.
NodeFilter filter_from_text(std::string_view text);

/// Compute in another float type: inputs, constants and operators of type `from` become `to`, with
/// casts around nodes that the filter excludes or whose operator lacks the new type. Outputs of the
/// model are of type `to`. Block-quantised weights stay unchanged. Loop bodies are converted as a
/// whole. If `to` is f16 or bf16, chains (`core/optim/precision.h`) keep the old type: norms,
/// means, and readers of constants that `to` cannot hold. Recurrent layers keep it too, with the
/// matmuls that only they read, and the products and sums of their results with constants; their
/// weights are rounded to `to`. Loops that add up frames become running sums, which round once.
/// `notes`: receives the nodes that keep their type, and the constants that cause this; may be
/// null.
/// Errors: kUnsupported for operators of streams that contain a graph.
/// Source: tract, transforms `f32_to_f16`, `f16_to_f32` and `float_precision`.
Result<Graph> with_float_type(const Graph& graph, DType from, DType to,
                              const NodeFilter& filter = {},
                              std::vector<std::string>* notes = nullptr);

}  // namespace rill::transforms
