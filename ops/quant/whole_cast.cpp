#include "ops/quant/whole_cast.h"

#include <cmath>

#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

/// Return the binary operator that makes a wire, if any.
const Binary* binary_of(const Graph& graph, OutletId wire) {
  return graph.node(wire.node).op->as<Binary>();
}

/// Return whether all elements of a wire are integers, infinite or NaN: results of rounding, of
/// clamping such results, and of adding them.
bool is_whole(const Graph& graph, OutletId wire, int depth) {
  if (const TensorPtr konst = graph.fact(wire).konst) {
    const auto number = uniform_number(konst);
    return number && *number == std::nearbyint(*number);
  }
  const Node& node = graph.node(wire.node);
  const auto* unary = node.op->as<Unary>();
  if (unary && unary->kind_of == UnaryKind::kRoundEven) return true;
  const Binary* binary = binary_of(graph, wire);
  const bool keeps =
      binary && (is_limit(binary->kind_of) || binary->kind_of == BinaryKind::kAdd);
  return keeps && depth > 0 && is_whole(graph, node.inputs[0], depth - 1) &&
         is_whole(graph, node.inputs[1], depth - 1);
}

constexpr int kDepth = 8;

}  // namespace

bool gives_whole_bytes(const Graph& graph, OutletId wire) {
  if (graph.fact(wire).dtype != DType::kF32 || !is_whole(graph, wire, kDepth)) return false;
  double low = -INFINITY, high = INFINITY;
  bool holds_nan = true;
  for (const Binary* limit = nullptr;
       (limit = binary_of(graph, wire)) != nullptr && is_limit(limit->kind_of);) {
    const Node& node = graph.node(wire.node);
    const auto number = uniform_number(graph.fact(node.inputs[1]).konst);
    if (!number) break;
    const bool above =
        limit->kind_of == BinaryKind::kMax || limit->kind_of == BinaryKind::kMaxNumber;
    holds_nan &= !takes_number(limit->kind_of);
    if (above) low = std::max(low, *number);
    if (!above) high = std::min(high, *number);
    wire = node.inputs[0];
  }
  return low >= 0 && high <= 255 && !holds_nan;
}

Status fuse_whole_cast(Rewrite& rewrite) {
  const DType to = rewrite.out().dtype;
  const bool is_short = is_int(to) && dtype_size(to) <= 2;
  const bool found = is_short && rewrite.in(0).dtype == DType::kF32 &&
                     is_whole(rewrite.old_graph(), rewrite.input(0), kDepth);
  return found ? mark_whole(rewrite) : Status();
}

}  // namespace rill::ops
