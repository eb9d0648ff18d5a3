#include "pulse/attention/parts.h"

#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace rill::pulse {

const ops::Softmax* softmax_of(const Op& op) { return op.as<ops::Softmax>(); }

const ops::Binary* binary_of(const Op& op) { return op.as<ops::Binary>(); }

bool is_square(const Op& op) {
  const auto* unary = op.as<ops::Unary>();
  return unary && unary->kind_of == ops::UnaryKind::kSquare;
}

const ops::Reduce* reduce_of(const Op& op) { return op.as<ops::Reduce>(); }

std::optional<int> summed_axis(const Node& node) {
  const auto* sum = reduce_of(*node.op);
  if (!sum || sum->kind_of != ops::ReduceKind::kSum || sum->reduced.size() != 1) {
    return std::nullopt;
  }
  return static_cast<int>(sum->reduced[0]);
}

}  // namespace rill::pulse
