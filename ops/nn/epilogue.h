#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/nn/conv.h"

namespace rill::ops {

/// max(min(x, hi), lo), in which a NaN loses; an infinite limit is left out.
inline float clipped(float x, float lo, float hi) {
  if (hi < __builtin_inff()) x = x < hi ? x : hi;
  if (lo > -__builtin_inff()) x = x > lo ? x : lo;
  return x;
}

/// If the consumer limits its input `input` by uniform f32 constants, and nothing else, tell the
/// limits: a maximum, a minimum, or a maximum of a minimum.
std::optional<std::pair<float, float>> clip_of(const Rewrite& consumer, int input);

/// If the consumer adds another wire of the same type and shape to its input, that wire in the new
/// graph.
std::optional<OutletId> sum_with(Rewrite& consumer, int input, const Fact& fact);

/// Fold a consumer that scales or shifts each output channel by constants into the filter and bias.
Status absorb_affine(const Conv& conv, const Node& producer, Rewrite& consumer, int input);

/// Put the fused op in the place of the consumer.
Status wire_fused(OpPtr fused, std::vector<OutletId> inputs, Rewrite& consumer);

/// Read the bias of a convolution: `outputs` values, or nothing where it is zero.
Result<std::optional<OutletId>> load_bias(LoadCtx& ctx, DType dtype, int64_t outputs);

}  // namespace rill::ops
