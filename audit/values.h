#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/draw.h"
#include "core/graph/graph.h"

namespace rill::audit {

/// Make a value of that fact: normal-like noise, numbers from 0 to 3 where the type is whole.
/// Errors: kShape if an extent is no number; kNoMem.
Result<Tensor> noise(const Fact& fact, Draw* draw);
/// The inputs of a graph for a stream of that length in its symbol.
Result<std::vector<Tensor>> noise_inputs(const Graph& graph, std::string_view symbol,
                                         int64_t length, Draw* draw);

/// Overwrite with what must not matter: NaN where the type has it, else noise of that type.
void poison(const View& view, Draw* draw);

/// Copy a view. Errors: kNoMem.
Result<Tensor> copy_of(const View& view);

/// Tell where two outputs differ first: empty if shapes and bits agree; a NaN equals a NaN.
/// With a tolerance, numbers may differ by it, absolutely and relatively, and where a NaN is
/// expected any will do.
std::string difference(const Tensor& found, const Tensor& expected, double tolerance = 0);

/// Tell whether what makes a wire has the stream along two axes, as attention has, or weighs frames
/// by a softmax over the stream: its sums are made in another order in a stream.
bool attends(const Graph& graph, OutletId outlet, std::string_view symbol);

}  // namespace rill::audit
