#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/draw.h"
#include "core/graph/graph.h"

namespace rill::audit {

/// The distribution of noise. Some noise hides faults: a rectifier after an offset gives zeros for
/// small numbers, a logarithm NaN for negative ones.
struct NoiseKind {
  double scale = 1;  ///< the standard deviation
  int sign = 0;      ///< 1: no number is negative, -1: none is positive
};

/// Make a value of that fact from approximately normal noise. Integers are 0 to 3, bools 0 or 1,
/// indices the four smallest valid ones; quantised bytes take all values unless the scale is 1.
/// Errors: kShape if an extent is not a number; kNoMem.
Result<Tensor> noise(const Fact& fact, const std::optional<NumberRange>& indices, Draw* draw,
                     const NoiseKind& kind = {});
/// Return the inputs of a graph for a stream of that length in its symbol.
Result<std::vector<Tensor>> noise_inputs(const Graph& graph, std::string_view symbol,
                                         int64_t length, Draw* draw, const NoiseKind& kind = {});

/// Overwrite values that must not matter: with NaN if the type has it, else noise of that type.
void poison(const View& view, Draw* draw);

/// Copy a view. Errors: kNoMem.
Result<Tensor> copy_of(const View& view);

/// Return where two outputs differ first: empty if shapes and bits agree; a NaN equals a NaN.
/// With a tolerance, numbers may differ by it, absolutely and relatively, and any value matches an
/// expected NaN.
std::string difference(const Tensor& found, const Tensor& expected, double tolerance = 0);

/// Count the frames along an axis that hold a finite element which differs from that of another
/// input. An element that is the same for both inputs proves nothing. For an output without a
/// streaming axis, axis is -1 and the count 1 or 0.
int64_t varied_frames(const Tensor& value, const Tensor& for_other_input, int axis);

/// Return whether a wire is computed from an input; others are the same in every run.
bool depends_on_inputs(const Graph& graph, OutletId outlet);

/// Return "output y never varied: not proven", for one or several outputs.
std::string not_proven(const std::vector<std::string>& outputs);

/// Return whether a wire depends on attention: upstream wires have the stream along two axes, or a
/// softmax over the stream weighs frames. A stream computes such sums in another order.
bool attends(const Graph& graph, OutletId outlet, std::string_view symbol);

}  // namespace rill::audit
