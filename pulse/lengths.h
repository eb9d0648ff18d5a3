#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "pulse/attention/attention.h"

namespace rill::pulse {

/// Return the assertions on symbols, without the assumption that extents are non-negative.
SymbolScope assertions_of(const SymbolScope& scope);

/// Return whether an expression mentions the symbol and no other.
bool of_symbol_alone(const Dim& dim, std::string_view symbol);

/// Return whether an input has a constant number of frames for each unit of the symbol.
bool counts_symbol(const Dim& length, std::string_view symbol);

/// Check that the extent of an input's axis, which mentions the symbol, determines the position in
/// the stream. Errors: kPulse.
Status check_length_of_input(const Graph& whole, const Fact& input, int axis,
                             std::string_view symbol);

/// List expressions in the stream symbol that must not be negative at the length of a stream. They
/// are `needed`, and expressions from assertions, inputs, slices whose frames or rows must exist,
/// and lengths that must be equal. Further expressions exclude streams shorter than a window: if
/// frames are added downstream of the window, a whole run outputs more frames than the stream
/// counts. `attention`: that of the graph; its inner wires have their own rules of lengths.
std::vector<Dim> asserted_of(const Graph& graph, const std::vector<Dim>& needed,
                             std::string_view symbol, const AllAttention& attention = {});

/// List expressions in the stream symbol that are negative at lengths for which a whole run of the
/// original model fails: there a wire has another number of frames than a downstream attribute
/// assumes.
std::vector<Dim> asserted_as_written(const Graph& graph, std::string_view symbol);

/// Return `lengths`, the frames of each output that a stream counts, corrected for a stream of 0
/// frames: there a whole run may output frames, because windows see only padding.
std::vector<Dim> lengths_from_nothing(const Graph& graph, std::vector<Dim> lengths,
                                      std::string_view symbol, const AllAttention& attention = {});

/// Return the scope of the graph with a further assumption: the stream is long enough for every
/// slice with a constant end, such as `x[:50]`.
SymbolScope scope_of_taken_lengths(const Graph& graph, const AllAttention& attention);

/// Return the longest stream for which no expression is negative; nothing if streams may be of any
/// length.
std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative);

}  // namespace rill::pulse
