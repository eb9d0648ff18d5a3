#pragma once

#include "core/graph/graph.h"
#include "pulse/report.h"

namespace rill::pulse {

/// Return the least legal pulse; its multiples are legal too. Ignores `options.pulse`. Errors:
/// kPulse, those of `pulsify`.
Result<int64_t> least_pulse(const Graph& graph, const Options& options);

/// Rewrite a graph to run a few frames at a time: the stream symbol becomes the pulse, and delays
/// and states keep the frames that the next step needs. The outputs of all steps, concatenated and
/// without the delay, are the frames of the whole run.
/// `Graph::streaming` describes how the result streams. Errors: kPulse, with every reason in one
/// message, one per line: node, operator, axis, cause, remedy; and the pulses that would work, if
/// any.
Result<Graph> pulsify(const Graph& graph, const Options& options, Report* report = nullptr);

}  // namespace rill::pulse
