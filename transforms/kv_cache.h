#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Find the caches of attention: inputs whose only reader concatenates them with new frames along a
/// symbolic axis to an output. Rename each such output to `<input>_concat`, and move the pairs to
/// the end of the inputs and outputs, in the order of the inputs. `caches`, if given, receives the
/// names of the inputs. Shapes must be known before a run, so the caller owns the caches. This is
/// tract's `detect_kv_cache` followed by `unfold_kv_cache`.
Result<Graph> with_unfolded_caches(const Graph& graph, std::vector<std::string>* caches = nullptr);

}  // namespace rill::transforms
