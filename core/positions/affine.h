#pragma once

#include <optional>
#include <string_view>

#include "core/graph/graph.h"
#include "core/positions/square.h"

namespace rill {

/// A whole number at query i and key j: `start` + `row` * i + `column` * j. `start` may depend on
/// the symbols.
struct AffinePlace {
  Dim start = Dim(0);
  int64_t row = 0;
  int64_t column = 0;
  bool behind = false;  ///< it holds for keys j <= i only: a limit changes the number of others

  /// Return the number at a query and a key.
  Dim at(const Dim& query, const Dim& key) const {
    return start + Dim(row) * query + Dim(column) * key;
  }
};

/// Express a wire of whole numbers over queries and keys, `frames` of each, as an affine function
/// of both. Limits (Min, Max) that change no number are left out. The axis of queries may hold
/// several series of them, one after the other, if all have the same numbers. Nothing if the
/// operators do not determine such a function, or if the number depends on other axes.
std::optional<AffinePlace> affine_place(const Graph& graph, OutletId outlet, Square at,
                                        const Dim& frames, std::string_view symbol);

}  // namespace rill
