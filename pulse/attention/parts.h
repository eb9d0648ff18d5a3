#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/nn/softmax.h"

namespace rill::pulse {

/// The softmax, or the operator of two operands, that an operator is; else null.
const ops::Softmax* softmax_of(const Op& op);
const ops::Binary* binary_of(const Op& op);

/// The reduction that an operator is, else null.
const ops::Reduce* reduce_of(const Op& op);

/// Return whether an operator squares each element.
bool is_square(const Op& op);

/// The one axis along which a node sums; nothing if it does anything else.
std::optional<int> summed_axis(const Node& node);

}  // namespace rill::pulse
