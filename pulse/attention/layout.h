#pragma once

#include "core/graph/pulse.h"
#include "pulse/attention/first_keys.h"
#include "pulse/attention/rates.h"

namespace rill::pulse {

/// Queries and keys of one pulse of attention.
struct Layout {
  int64_t pulse = 0;      ///< queries
  int64_t key_pulse = 0;  ///< new keys
  int64_t keys = 0;       ///< all passing keys in memory: the new ones, and the kept ones
  int64_t reserve = 0;    ///< additional keys for pulses that begin elsewhere in the period
  int64_t query_delay = 0;
  int64_t key_delay = 0;    ///< of the streaming keys
  /// Keys before the streaming ones, known from the start, as learned prompts are. They stay in
  /// memory for the whole stream.
  int64_t front = 0;
  Dim length;  ///< of the streaming keys
  Rates rates;
  FirstKeys first;

  int64_t columns() const { return front + first.count() + keys; }
  /// Return the number of distances from queries to keys: consecutive integers, the first of which
  /// is `least_distance()`.
  int64_t distances() const { return pulse + keys - 1; }
  int64_t least_distance() const { return 1 - keys - key_delay + query_delay; }
};

/// Find the smallest delay at which every query finds the last key that it sees, and the number of
/// keys to keep. `queries`: the number of queries; `past_only`: queries may not see keys that
/// follow them.
/// Errors: kPulse if queries see keys without bound, or if the keys that they see are unknown.
Status lay_out(PulseBuilder& b, Band band, const Dim& queries, bool past_only, Layout* layout);

}  // namespace rill::pulse
