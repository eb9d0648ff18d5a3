#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// List expressions of the stream symbol alone that a stream's length must not make negative: those
/// that are `needed`, and others from assertions, from slices whose frames or rows must be there,
/// from pairs of lengths that must be equal, and from streams shorter than a window that frames are
/// added behind, of which a whole run has other frames than the stream counts.
std::vector<Dim> asserted_of(const Graph& graph, const std::vector<Dim>& needed,
                             std::string_view symbol);

/// Lengths of the outputs, as a stream counts them in `told`, but at no frames what a whole run
/// gives: other windows than one that is longer than the stream may bring frames out of none.
std::vector<Dim> lengths_from_nothing(const Graph& graph, std::vector<Dim> told,
                                      std::string_view symbol);

/// The longest stream for which none of these is negative; nothing if there is none.
std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative);

}  // namespace rill::pulse
