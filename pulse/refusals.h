#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Return whether the remedy of a refusal is another pulse.
bool wants_another_pulse(const Error& refusal);

/// Return advice for inputs of which none has the symbol.
std::string symbols_to_stream_by(const Graph& whole, const std::string& symbol);

/// Refuse the nodes of a pulsed graph that compute frames from the length of the stream.
std::vector<Status> refusals_of_lengths(const Graph& pulsed, std::string_view symbol);

/// Merge one or more refusals into one error: each cause once, at its first node, with the number
/// of later nodes that have it.
Status all_of(const std::vector<Status>& refusals);

}  // namespace rill::pulse
