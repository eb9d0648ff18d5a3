#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"

namespace rill::transforms {

/// Replace wires of a model by NNEF statements: `x = op(y, ...);` computes from wires of the model.
/// An assignment to the name of a wire replaces that wire downstream, converted to its type and
/// shape. A name in `new_outputs` becomes an output of the model; any other new name may be used in
/// later statements only. Inputs stay, used or not.
/// `ops`: the operators that the statements may use, without enabling registries. Errors: kParse
/// with the column of the text; kArg if the last name is neither a wire nor a new output.
/// Source: tract, transform `patch`.
Result<Graph> patched(const Graph& graph, std::string_view body,
                      std::span<const std::string> new_outputs,
                      std::span<const OpModule* const> ops);

}  // namespace rill::transforms
