#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Return the assertions on symbols alone, without the assumption that extents are non-negative.
SymbolScope assertions_of(const SymbolScope& scope);

/// Return whether an expression mentions the symbol and no other.
bool of_symbol_alone(const Dim& dim, std::string_view symbol);

/// Return whether an input has a constant number of frames for each unit of the symbol.
bool counts_symbol(const Dim& length, std::string_view symbol);

/// Errors: kPulse if the frames of an input's axis, which mentions the symbol, do not determine the
/// position of the stream.
Status check_length_of_input(const Graph& whole, const Fact& input, int axis,
                             std::string_view symbol);

/// List expressions of the stream symbol alone that the length of a stream must not make negative.
/// They are `needed`, and others from assertions, from inputs, from slices whose frames or rows
/// must exist, from pairs of lengths that must be equal, and from streams shorter than a window
/// that frames are added after: their whole run has other frames than the stream counts.
std::vector<Dim> asserted_of(const Graph& graph, const std::vector<Dim>& needed,
                             std::string_view symbol);

/// List expressions of the stream symbol alone that are negative at lengths of which whole runs
/// refuse a model as it was written: where wires have other frames than attributes behind them
/// count.
std::vector<Dim> asserted_as_written(const Graph& graph, std::string_view symbol);

/// Return lengths of the outputs: those that a stream counts, in `told`; at no frames those of a
/// whole run, as other windows than one longer than the stream may make frames out of none.
std::vector<Dim> lengths_from_nothing(const Graph& graph, std::vector<Dim> told,
                                      std::string_view symbol);

/// Return the knowledge about lengths at which every slice to fixed frames of the stream has them.
SymbolScope scope_of_taken_lengths(const Graph& graph);

/// Return the longest stream for which no expression is negative; nothing if there is no longest.
std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative);

}  // namespace rill::pulse
