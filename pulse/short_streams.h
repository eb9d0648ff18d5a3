#pragma once

#include "pulse/pulse.h"

namespace rill::pulse {

/// Take streams that are too short for what is asserted where a whole run is defined and has no
/// frame in any output: then a stream has none either. Not where frames go out before the end.
void take_streams_of_no_output(const Graph& whole, Graph* pulsed);

using PulseNodes = Result<Graph>(const Graph& whole, const Options& options, Report* report);

/// Pulse a graph anew whose slices are empty where they end before they begin, as those of whole
/// runs are, rather than less than empty: frames that are added behind them count then. Keep that
/// where it takes shorter streams, and costs no delay.
void take_empty_slices(const Graph& whole, const Options& options, const PulseNodes& pulse_nodes,
                       Graph* pulsed, Report* report);

}  // namespace rill::pulse
