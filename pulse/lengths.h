#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// What is asserted of the symbols alone, without what is taken for granted of extents.
SymbolScope assertions_of(const SymbolScope& scope);

/// Return whether an expression has the symbol, and no other.
bool of_symbol_alone(const Dim& dim, std::string_view symbol);

/// Return whether an input has as many frames for each unit of the symbol.
bool counts_symbol(const Dim& length, std::string_view symbol);

/// Errors: kPulse where frames of the axis of an input, which mentions the symbol, do not tell how
/// far the stream is.
Status check_length_of_input(const Graph& whole, const Fact& input, int axis,
                             std::string_view symbol);

/// List expressions of the stream symbol alone that a stream's length must not make negative: those
/// that are `needed`, and others from assertions, from inputs, from slices whose frames or rows
/// must be there, from pairs of lengths that must be equal, and from streams shorter than a window
/// that frames are added behind, of which a whole run has other frames than the stream counts.
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
