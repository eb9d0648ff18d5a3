#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"
#include "pulse/attention/band.h"

namespace rill::pulse {

/// Ticks of a common clock per query, and per key: 1 and 2 if a key covers two frames that are
/// separate queries.
struct Rates {
  int64_t query = 1;
  int64_t key = 1;

  bool alike() const { return query == key; }
};

/// A body of attention with positions on the common clock, and the wires `large` and `used` in it.
struct OnOneClock {
  Graph body;
  std::vector<OutletId> large;
  OutletId used;
};

/// A range whose step is `places` ticks of the common clock.
struct SlowRange {
  Dim start;
  int64_t step = 1;
  int64_t places = 1;
};

/// Make ranges count on a common clock. `slower`: the ranges by their nodes. Errors: kSymbol if a
/// range does not begin at a number, those of `Op::infer`.
Result<OnOneClock> on_one_clock(Graph body, const std::vector<OutletId>& large, OutletId used,
                                const std::map<int, SlowRange>& slower);

/// Convert a band on the common clock to one by the number of the query, relative to the key at its
/// position.
Band band_by_queries(const Band& clocked, const Rates& rates);

}  // namespace rill::pulse
