#pragma once

#include <optional>
#include <vector>

#include "pulse/report.h"

namespace rill::pulse {

/// Lower bounds on the delays of any stream of these pulses, from observed dependences of outputs.
struct LeastDelays {
  std::vector<std::optional<int64_t>>
      wires;  ///< one per wire of `Report::wires`; negative if first frames are known before the
              ///< stream begins
  std::vector<std::optional<int64_t>> outputs;  ///< one per output of `Report::outputs`
};

/// Limits of runs that measure delays.
struct RunLimits {
  double seconds = 0;  ///< no run starts after this time
  /// The maximum number of elements of a wire: long attention as a whole would exceed the memory.
  int64_t elements = int64_t{1} << 26;
};

/// Run the whole graph on a few pulses of noise; then change the noise from some pulse on, or end
/// the stream in some pulse. A frame that differs depends on that pulse, so it cannot be computed
/// earlier: this proves a bound by example. A hidden dependence, for example through a closed
/// rectifier, proves nothing. All other symbols of the graph must be bound. Not real-time: runs the
/// graph up to eighty times. Without a run within the limits, there are no bounds. Errors: those of
/// rewriting the graph.
Result<LeastDelays> least_delays(const Graph& graph, const Options& options, const Report& report,
                                 const RunLimits& limits);

}  // namespace rill::pulse
