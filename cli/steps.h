#pragma once

#include <string>

#include "cli/args.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Do what `--context`, `--feedback` and `stream --steps` ask for, in this order.
/// Errors: kArg for texts that are not NAME=NAME or NAME=FRAMES; those of pulse/feedback.h.
Status tie_steps(const Args& args, Graph* graph);

/// The options that tie outputs to inputs where names or facts tell of states that a caller hands
/// on: "--feedback stateN=state". Empty if none do.
std::string likely_feedback(const Graph& graph);

/// Report how a model whose steps are its runs streams, once its symbols have numbers.
void settle_steps(Graph* graph);

}  // namespace rill::cli
