#pragma once

#include "pulse/pulse.h"

namespace rill::pulse {

/// Make the graph whose nodes are pulsed one by one: simplified, with each attention as one node.
/// Errors: kPulse for a model that takes pulses already.
Result<Graph> ready_for_pulses(const Graph& graph, const Options& options);

}  // namespace rill::pulse
