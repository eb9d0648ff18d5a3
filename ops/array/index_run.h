#pragma once

#include <optional>

#include "core/graph/graph.h"

namespace rill::ops {

/// Indices begin, begin + step, ... before end, clamped to [`low`, `high`].
struct IndexRun {
  Dim begin;
  Dim end;
  int64_t step = 1;
  std::optional<Dim> low;
  std::optional<Dim> high;

  bool is_clamped() const { return low || high; }
  IndexRun moved(const Dim& by) const { return {begin + by, end + by, step, {}, {}}; }
};

/// Return whether a type can index the rows of any table: dims, and integers that are wide enough.
bool counts_rows(DType dtype);

/// Return the run that a wire of indices has in row-major order; nothing for other wires.
std::optional<IndexRun> index_run_of(const Graph& graph, OutletId indices);

/// Indices that are a wire plus constant offsets.
struct OffsetIndices {
  TensorPtr offsets;
  OutletId from;
};

/// Split a wire into constant offsets plus another wire; nothing for other wires.
std::optional<OffsetIndices> offset_indices_of(const Graph& graph, OutletId indices);

/// The indices i * hop for i = 0, 1, 2, ..., each repeated `times` times.
struct IndexHold {
  int64_t hop = 0;
  int64_t times = 0;  ///< 0: the indices have another form
};

IndexHold index_hold_of(const Graph& graph, OutletId indices);

}  // namespace rill::ops
