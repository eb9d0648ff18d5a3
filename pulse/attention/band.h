#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/positions/square.h"

namespace rill::pulse {

/// The keys that a query sees: those from `first` to `last`, relative to its own position, which
/// depend on the position modulo `period`.
struct Band {
  int64_t period = 1;
  std::vector<int64_t> first;  ///< INT64_MIN: all earlier keys
  std::vector<int64_t> last;   ///< INT64_MAX: all later keys
  /// The number of first keys of the stream that queries may see at any distance; `first` and
  /// `last` leave them out.
  int64_t sinks = 0;
  /// The last sink that each of the first `sinks` queries sees; -1 for none.
  std::vector<int64_t> last_sink;
  /// A query whose keys may all be hidden by a finite number; it then weighs all keys alike.
  std::optional<int64_t> blind;
  /// Whether a limit after the softmax removes weights. A query that sees no key gives NaN, but may
  /// then have weight 0 at some keys.
  bool zeroed = false;
  /// Why the search for visible keys ended early; empty if it did not.
  std::string gave_up;
  std::string unread;  ///< why a mask is unknown, for messages
  /// The node that gives weight to keys at any distance, for messages
  std::string fading;
};

/// Why the stream cannot keep the keys of a query, and the remedy.
struct Unlimited {
  std::string cause;
  std::string remedy;
};

/// Return why a query sees an unbounded number of keys; nothing if all are bounded. `most`: the
/// maximum number of keys of a stream, if bounded; all earlier keys are then kept.
std::optional<Unlimited> unlimited(const Band& band, std::optional<int64_t> most,
                                   std::string_view symbol);

/// Find the keys that the masks downstream of the scores show; all keys if there are no masks.
/// `used`: the operand of the product with the values; `large`: inputs that may hold numbers which
/// hide keys; `fewer`: how many of the query's keys may be missing if the stream ends with it.
Band band_of(const Graph& graph, std::span<const OutletId> large, OutletId used, Square at,
             int64_t fewer, std::string_view symbol);

}  // namespace rill::pulse
