#pragma once

#include "pulse/pulse.h"

namespace rill::pulse {

/// Accept streams too short for the assertions if a whole run is defined and outputs no frame: then
/// a stream outputs none either. Excludes models that output frames before the end.
void take_streams_of_no_output(const Graph& whole, Graph* pulsed);

using PulseNodes = Result<Graph>(const Graph& whole, const Options& options, Report* report);

/// Pulse a graph again with slices that are empty if they end before they begin, as in a whole run,
/// instead of having a negative length; frames appended to them then count. Keep the result if it
/// accepts shorter streams and costs no delay.
void take_empty_slices(const Graph& whole, const Options& options, const PulseNodes& pulse_nodes,
                       Graph* pulsed, Report* report);

}  // namespace rill::pulse
