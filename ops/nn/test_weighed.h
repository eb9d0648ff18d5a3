#pragma once

// Shared helpers for the tests of quantized weights: an operator on an input and constant weights.

#include <memory>
#include <utility>
#include <vector>

#include "ops/math/test_support.h"
#include "ops/nn/conv.h"

namespace rill::ops::test {

/// Add `op` on a source `x` and these weights; return its output.
inline OutletId add_weighed(Graph* graph, const OpPtr& op, const std::vector<int64_t>& x_shape,
                            const Tensor& weights) {
  const std::vector<Dim> shape(x_shape.begin(), x_shape.end());
  const OutletId x = graph->add_source("x", Fact::of(DType::kF32, shape));
  const OutletId w = graph->add_const("w", std::make_shared<const Tensor>(weights));
  const auto y = graph->add("y", op, {x, w});
  EXPECT_TRUE(y.ok()) << y.error().to_string();
  return y->front();
}

/// Return a convolution without bias, padded by one frame at the start of each axis.
inline std::shared_ptr<Conv> padded_conv(std::vector<int64_t> kernel, std::vector<int64_t> dilation,
                                         int64_t groups) {
  auto op = draft_op<Conv>();
  op->has_bias = false;
  op->groups = groups;
  op->window.stride.assign(kernel.size(), 1);
  op->window.padding.assign(kernel.size(), {1, 0});
  op->window.dilation = std::move(dilation);
  op->window.kernel = std::move(kernel);
  return op;
}

}  // namespace rill::ops::test
