#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Make first outputs of nodes the inputs of the model, instead of its current ones. Errors: kArg
/// if there is no such node, or if a dropped input is still needed.
Result<Graph> with_inputs_at(const Graph& graph, std::span<const std::string> nodes);

/// Give an input another type and shape, and infer all others again. Errors: kArg if it is no
/// input; those of operators that the new fact does not fit.
Result<Graph> with_source_fact(const Graph& graph, std::string_view input, const Fact& fact);

/// Replace an input by a constant. Errors: kArg if it is no input.
Result<Graph> with_constant_input(const Graph& graph, std::string_view input, Tensor value);

}  // namespace rill::transforms
