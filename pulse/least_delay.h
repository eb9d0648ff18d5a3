#pragma once

#include <optional>
#include <vector>

#include "pulse/pulse.h"

namespace rill::pulse {

/// Delays below which no stream of these pulses can be, by what outputs are seen to depend on.
struct LeastDelays {
  std::vector<std::optional<int64_t>>
      wires;  ///< of `Report::wires`, below 0 for known first frames
  std::vector<std::optional<int64_t>> outputs;  ///< of `Report::outputs`
};

/// Run the whole graph on a few pulses of noise, then with other noise from some pulse on, and with
/// an end in some pulse. A frame that differs can not be out before that pulse is in: a proof by
/// example, of frames that do depend. What does not show, as behind a rectifier that is closed, is
/// not claimed. The other symbols of the graph are bound. Not real-time: runs it up to twenty
/// times, and begins no further run after `most_seconds`. Nothing is known where it does not run.
/// Errors: those of rewriting the graph.
Result<LeastDelays> least_delays(const Graph& graph, const Options& options, const Report& report,
                                 double most_seconds);

}  // namespace rill::pulse
