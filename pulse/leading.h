#pragma once

#include <optional>
#include <string>

#include "core/graph/pulse.h"

namespace rill::pulse {

/// The leading frames of a condition, whose elements all have one value.
struct Leading {
  bool value = false;
  int64_t count = 0;  ///< at most a few thousand
};

/// Find the first frames of a condition that depends only on positions; nothing for others. `wire`:
/// the bool condition in a pulsed graph, which streams as `stream` describes.
std::optional<Leading> leading_frames(const Graph& pulsed, OutletId wire, const StreamFact& stream,
                                      const std::string& symbol);

}  // namespace rill::pulse
