#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/hasher.h"
#include "core/graph/graph.h"

namespace rill {

/// Return a fingerprint of inputs, outputs, nodes, attributes and values of constants; properties
/// and assertions do not count. Equal graphs give equal fingerprints on every machine.
Fingerprint fingerprint(const Graph& graph);

/// Return a text that two graphs share if they have equal operators, attributes, types and wires:
/// nodes with such bodies can be merged. Names do not count. Large constants count by address.
std::string identity(const Graph& graph);

/// Parse a text that `to_text` wrote; nothing for any other text.
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

}  // namespace rill
