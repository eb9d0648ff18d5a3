#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/graph/onnx.h"

namespace rill::ops {

/// A state of a loop that increases by the same number in each iteration.
struct Counter {
  Dim first;
  int64_t step = 0;
};

/// The iterations and counters of a loop whose condition compares a counter with a size, such as
/// `while i < x.size(0): ...; i += 2`.
struct CountedIterations {
  Dim iterations;
  std::vector<std::optional<Counter>> counters;  ///< one per state
};

/// Return the number of iterations of a loop from its condition; nothing if it depends on more than
/// the symbols. `condition`: whether the first iteration runs; if the outlet is invalid, it does.
/// `most`: the maximum number of iterations.
std::optional<CountedIterations> counted_iterations(const Graph& outer, const OnnxCtx::Body& body,
                                          OutletId condition, std::span<const OutletId> states,
                                          const std::optional<Dim>& most);

}  // namespace rill::ops
