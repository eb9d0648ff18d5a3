#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::test {

/// Counts the results of journeys.
struct Tally {
  int64_t compared = 0;  ///< streams whose frames were compared
  int64_t moved = 0;     ///< states that went from one session to another
  int64_t stayed = 0;    ///< states that no session of another pulse could take
  std::string why;       ///< the reason why the last of these stayed
};

/// Push streams of several lengths in pieces of any size through sessions of these pulses, moving
/// between them by saved states, and compare with the frames of the whole run. Skip refused pulses.
/// Return the first problem; empty if there is none.
std::string journey_problem(const Graph& graph, const std::vector<int64_t>& pulses, uint64_t seed,
                            Tally* tally, double tolerance = 0);

}  // namespace rill::test
