#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"

namespace rill::ops {

/// Return a wire of one element that is computed from dims as a dim. Undecided comparisons become
/// ge() and eq(), with value 1 or 0. Sizes may be divided and rounded in floats, as in
/// `ceil(cast(S) / 2)`. Nothing if the wire depends on more than the symbols.
std::optional<Dim> symbolic_value(const Graph& graph, OutletId outlet);

/// Return all elements of a wire that are computed from dims, each as above. Nothing if one is not,
/// or if the wire has more than 16 elements.
std::optional<std::vector<Dim>> symbolic_values(const Graph& graph, OutletId outlet);

/// Return the element of a list as a function of its index, the symbol `place`: floor(arange(n) /
/// 4) * 4 is 4 * (place / 4). Nothing if the list depends on more than ranges and numbers.
std::optional<Dim> positional_value(const Graph& graph, OutletId outlet, std::string_view place);

/// Return a dim, or the size of a wire as above, and assert that divisors of sizes are not 0.
/// Nothing for other values.
std::optional<Dim> computed_dim(LoadCtx& ctx, const Value& value);

/// As above for a list of dims and wires.
Result<std::vector<Dim>> computed_dims(LoadCtx& ctx, const char* name);

/// Decide the comparisons in a bound of a slice by assumptions, and assert these for the symbols.
/// An index into a table is assumed to be one of its rows. An index into a stream that is minus the
/// size of a wire counts from the end, because wires are assumed to have a frame. Other comparisons
/// stay undecided.
Dim presumed(Graph& graph, const Dim& bound, const Dim& extent);

/// Return an assertion that makes a size non-negative, such as S >= 20 for S - 20. If no bound is
/// found, or the size does not have exactly one symbol, the bound is 16, as an example.
std::string assertion_for(const Dim& size);

/// Assert the sign of a slice's bound if it is unknown: non-negative bounds count from the start,
/// others from the end. If `presumed` does not decide, assume that the bound counts from the start,
/// provided that this holds for some sizes. Errors: kSymbol if neither sign is possible.
Status presume_sign(Graph& graph, const Dim& bound, const Dim& extent);

}  // namespace rill::ops
