#pragma once

#include <string>

#include "cli/args.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Apply `--context`, `--feedback` and `stream --steps`, in this order. Errors: kArg for texts that
/// are not NAME=NAME or NAME=FRAMES; those of pulse/feedback.h.
Status tie_steps(const Args& args, Graph* graph);

/// Return the options that tie outputs to inputs whose names or facts suggest states that a caller
/// passes on: "--feedback stateN=state". Empty if there are none.
std::string likely_feedback(const Graph& graph);

/// Describe how a model whose steps are its runs streams, once its symbols have numbers.
void settle_steps(Graph* graph);

}  // namespace rill::cli
