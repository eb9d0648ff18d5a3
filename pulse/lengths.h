#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Return the assertions on symbols, without the assumption that extents are non-negative.
SymbolScope assertions_of(const SymbolScope& scope);

/// Return whether an expression mentions the symbol and no other.
bool of_symbol_alone(const Dim& dim, std::string_view symbol);

/// Return whether an input has a constant number of frames for each unit of the symbol.
bool counts_symbol(const Dim& length, std::string_view symbol);

/// Errors: kPulse if the frames of an input's axis, which mentions the symbol, do not determine the
/// position of the stream.
Status check_length_of_input(const Graph& whole, const Fact& input, int axis,
                             std::string_view symbol);

/// List expressions in the stream symbol that must not be negative at the length of a stream. They
/// are `needed`, and expressions from assertions, inputs, slices whose frames or rows must exist,
/// and lengths that must be equal. Further expressions exclude streams that are shorter than a
/// window after which frames are added: their whole run has another number of frames than the
/// stream counts.
std::vector<Dim> asserted_of(const Graph& graph, const std::vector<Dim>& needed,
                             std::string_view symbol);

/// List expressions in the stream symbol that are negative at lengths for which whole runs refuse
/// the original model: where wires have another number of frames than downstream attributes assume.
std::vector<Dim> asserted_as_written(const Graph& graph, std::string_view symbol);

/// Return the lengths of the outputs: `lengths`, as a stream counts them; for an empty stream those
/// of a whole run, because padded windows may output frames without input.
std::vector<Dim> lengths_from_nothing(const Graph& graph, std::vector<Dim> lengths,
                                      std::string_view symbol);

/// Return the assertions that hold at lengths at which every slice to fixed frames of the stream
/// exists.
SymbolScope scope_of_taken_lengths(const Graph& graph);

/// Return the longest stream for which no expression is negative; nothing if there is no longest.
std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative);

}  // namespace rill::pulse
