#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Apply `--feedback`, `--frames`, `--context` and `stream --steps`, in this order.
/// Errors: kArg for malformed texts; those of pulse/feedback.h.
Status tie_steps(const CommonOptions& common, Graph* graph);

/// An output, or a part of one, that looks like the next value of an input.
struct LikelyState {
  std::string output;
  std::string input;
  Fact gives;
  Fact takes;
  bool on_another_axis = false;  ///< parts on another axis fit as well
};
/// Find states that a caller carries, by their names and shapes. One output may contain the states
/// of several inputs, and one input those of several outputs.
std::vector<LikelyState> likely_states(const Graph& graph);

/// Describe how a model whose steps are its runs streams, once its symbols have numbers.
void settle_steps(Graph* graph);

}  // namespace rill::cli
