#include "pulse/attention/parts.h"

#include "ops/math/reduce.h"

namespace rill::pulse {

const ops::Softmax* softmax_of(const Op& op) { return op.as<ops::Softmax>(); }

const ops::Binary* binary_of(const Op& op) { return op.as<ops::Binary>(); }

std::optional<int> summed_axis(const Node& node) {
  const auto* sum = node.op->as<ops::Reduce>();
  if (!sum || sum->kind_of != ops::ReduceKind::kSum || sum->reduced.size() != 1) {
    return std::nullopt;
  }
  return static_cast<int>(sum->reduced[0]);
}

}  // namespace rill::pulse
