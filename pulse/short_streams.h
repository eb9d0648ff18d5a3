#pragma once

#include <functional>

#include "pulse/report.h"

namespace rill::pulse {

/// Accept streams too short for the assertions if a whole run is defined and outputs no frame: then
/// a stream outputs none either. Excludes models that output frames before the end.
void take_streams_of_no_output(const Graph& whole, Graph* pulsed);

/// Copy a graph that is ready for pulses, with extents that are 0 where they would be negative:
/// where a window is longer than the stream, or a slice ends before it begins.
/// Errors: kUnsupported where attributes are computed from such extents.
Result<Graph> with_empty_extents(const Graph& whole);

using PulseAgain = std::function<Result<Graph>(Report* report)>;

/// Pulse a graph again, with extents that are never negative, as those of whole runs: frames that
/// are added behind empty ones count then. Keep the result if it takes shorter streams and costs
/// no delay.
void take_empty_extents(const Graph& whole, const PulseAgain& pulse_again, Graph* pulsed,
                        Report* report);

}  // namespace rill::pulse
