#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Return whether the remedy of a refusal is another pulse.
bool wants_another_pulse(const Error& refusal);

/// Find the only length above 1 at which the extents of a node fit, such as 40 for broadcast(40,
/// S). Nothing if they fit at large lengths, or at every length up to some limit.
std::optional<int64_t> only_length(const Facts& facts, std::string_view symbol);

/// Return the least N for which the assertion S >= N gives an expression a form of a few terms. If
/// there is none, return at least 16.
int64_t shortest_regular(const Dim& dim, const std::string& symbol);

/// Make the refusal of a graph without an input that has the symbol.
Status no_stream(const Graph& whole, const std::string& symbol);

/// Refuse the nodes of a pulsed graph that compute frames from the length of the stream.
std::vector<Status> refusals_of_lengths(const Graph& pulsed, std::string_view symbol);

/// Merge one or more refusals into one error: each cause once, at its first node, with the number
/// of later nodes that have it.
Status all_of(const std::vector<Status>& refusals);

}  // namespace rill::pulse
