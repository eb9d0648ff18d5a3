#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/hasher.h"
#include "core/graph/graph.h"

namespace rill {

/// Return a fingerprint of the inputs, outputs, nodes, attributes and constants of a graph, but not
/// of its properties and assertions. Equal graphs have equal fingerprints on every platform.
Fingerprint fingerprint(const Graph& graph);

/// Return a text that is equal for graphs with equal operators, attributes, types and wires: nodes
/// with such bodies can be merged. Names do not count. Large constants count by address.
std::string identity(const Graph& graph);

/// Parse a text that `to_text` wrote; nothing for any other text.
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

}  // namespace rill
