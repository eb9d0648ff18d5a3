#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/log.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Shapes of inputs, by name.
using InputShapes = std::vector<std::pair<std::string, std::vector<Dim>>>;

/// Return the shapes of --input, --input-facts-from-bundle and --override-fact.
/// Errors: kArg, kShape, kDType, with the option and the input.
Result<InputShapes> asked_input_shapes(const CommonOptions& common, const Log& log,
                                       const Graph& graph);

/// Return the shapes of the inputs with the symbols that --set binds.
Result<InputShapes> set_input_shapes(const CommonOptions& common, const Graph& graph);

/// Return the shapes of the inputs with the symbols that the values of `run` bind. Empty if values
/// are missing or do not fit, or if turns differ.
InputShapes input_shapes_of_values(const CommonOptions& common, const Log& log, const Graph& graph);

}  // namespace rill::cli
