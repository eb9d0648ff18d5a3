#pragma once

#include <set>
#include <string>
#include <utility>

#include "core/graph/graph.h"

namespace rill {

class Lowering;

/// The operands of indices that a plan checks after it has computed them: the path of a node, which
/// is its name after the names of the loops around it, each with a slash, and the input.
using IndexChecks = std::set<std::pair<std::string, int>>;

/// Return the operands of indices that outputs need in every run, and that may be out of range:
/// not constants, not proven to lie in their range, and not inputs of the model, which sessions
/// check before a run (`input_indices`). The graph is not fused yet.
IndexChecks computed_indices(const Graph& graph);

/// Check each axis on its own where the last axis of input `input` lists `depth` indices, of the
/// axes of input 0 from `first`. `Op::indices` states the longest of these axes only.
void check_index_lists(Lowering& lowering, int input, int first, int depth);

}  // namespace rill
