#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/log.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Change the interface of a newly loaded model by the options `--input-node`, `--output-node`,
/// `--override-fact`, `--constantize`, in this order.
Status edit_interface(const CommonOptions& common, const Log& log, Graph* graph);

/// Keep these outputs: names of outputs or of nodes. Errors: kArg, with the existing names.
Status keep_outputs(const std::vector<std::string>& names, Graph* graph);

/// Values that `-i` gives, under the names of the inputs.
Result<std::vector<std::pair<std::string, Tensor>>> given_values(const CommonOptions& common,
                                                                 const Graph& graph);

}  // namespace rill::cli
