#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/nn/clip.h"

namespace rill::ops {

/// If the consumer is a maximum or a minimum with a uniform f32 constant, return its limits
/// combined with the op's, if the combination is exact for every number. NaN stays NaN.
std::optional<Clip> clip_with(const Clip& own, const Rewrite& consumer, int input);

/// Return the slope if the consumer is a leaky ReLU of f32 with a slope in (0, 1].
std::optional<float> slope_of(const Rewrite& consumer);

/// If the consumer adds another wire of the same type and shape to its input, return that wire in
/// the new graph.
std::optional<OutletId> sum_with(Rewrite& consumer, int input, const Fact& fact);

/// Fold a consumer that scales or shifts each output channel (axis 1) by constants into the filter,
/// input 1 of the producer, [O, ...], and the bias, input 2 if there is one. `folded` is the op
/// with a bias.
Status absorb_affine(OpPtr folded, const Node& producer, Rewrite& consumer, int input);

/// Read the bias of a convolution: `outputs` values, or nothing if it is zero.
Result<std::optional<OutletId>> load_bias(LoadCtx& ctx, DType dtype, int64_t outputs);

}  // namespace rill::ops
