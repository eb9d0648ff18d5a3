#pragma once

#include "pulse/pulse.h"

namespace rill::pulse {

/// Make the graph whose nodes are pulsed one by one: simplified, with each attention as one node.
/// Errors: kPulse for a model that takes pulses already.
Result<Graph> ready_for_pulses(const Graph& graph, const Options& options);

/// Errors: kPulse for a model that takes pulses already.
Status refuse_pulsed(const Graph& graph);

/// Replace symbols by their value in the stream symbol, from assertions: R by S/4 if S == 4*R.
Result<Graph> with_ties(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
