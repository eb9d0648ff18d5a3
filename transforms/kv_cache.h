#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Find the caches of attention: inputs whose only use is to be joined with new frames along a
/// symbolic axis, the result of which is an output. Each such output is called `<input>_concat`,
/// and the pairs come last among the inputs and the outputs, in the order of the inputs. `caches`,
/// if given, gets the names of the inputs.
/// Every shape is known before a run, so the caches stay with the caller: what tract does with
/// `detect_kv_cache` and `unfold_kv_cache` one after the other.
Result<Graph> with_unfolded_caches(const Graph& graph, std::vector<std::string>* caches = nullptr);

}  // namespace rill::transforms
