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

/// Read what `to_text` wrote; nothing if the text is something else.
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

}  // namespace rill
