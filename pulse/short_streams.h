#pragma once

#include <functional>

#include "pulse/ready.h"
#include "pulse/report.h"

namespace rill::pulse {

/// Accept streams too short for the assertions if a whole run is defined and outputs no frame: then
/// a stream outputs none either. Excludes models that output frames before the end.
void take_streams_of_no_output(const Graph& whole, Graph* pulsed);

/// Clamp negative extents of a canonical graph to 0: for windows longer than the stream, and slices
/// that end before they begin. Errors: kUnsupported if attributes depend on such extents.
Status clamp_empty_extents(Ready* ready);

using PulseAgain = std::function<Result<Graph>(Report* report)>;

/// Pulse a graph again with extents clamped to 0, as in whole runs, so that frames added after an
/// empty wire count. Keep the result if it accepts shorter streams and adds no delay.
void take_empty_extents(const Graph& whole, const PulseAgain& pulse_again, Graph* pulsed,
                        Report* report);

}  // namespace rill::pulse
