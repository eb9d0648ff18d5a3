#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Replace the inputs of the model by the first outputs of these nodes. Errors: kArg if there is no
/// such node, or if a dropped input is still needed.
Result<Graph> with_inputs_at(const Graph& graph, std::span<const std::string> nodes);

/// Change the type and shape of an input, and infer all facts again. Errors: kArg if it is not an
/// input; those of operators that refuse the new fact.
Result<Graph> with_source_fact(const Graph& graph, std::string_view input, const Fact& fact);

/// Replace an input by a constant. Errors: kArg if it is not an input.
Result<Graph> with_constant_input(const Graph& graph, std::string_view input, Tensor value);

}  // namespace rill::transforms
