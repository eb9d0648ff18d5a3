#include "ops/quant/whole_cast.h"

#include <cmath>
#include <optional>

#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/rounding.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

/// The node that makes the other operand of an operation with a whole number; null if `node` is
/// none of that kind.
const Node* before(const Graph& graph, const Node& node, Elementwise kind, double* number) {
  if (node.op->traits().elementwise != kind) return nullptr;
  const size_t side = graph.fact(node.inputs[1]).konst ? 1 : 0;
  const auto found = uniform_number(graph.fact(node.inputs[side]).konst);
  if (!found || *found != std::nearbyint(*found)) return nullptr;
  *number = *found;
  return &graph.node(node.inputs[1 - side].node);
}

}  // namespace

Status fuse_whole_cast(Rewrite& rewrite) {
  const auto* cast = rewrite.node().op->as<Cast>();
  const Graph& graph = rewrite.old_graph();
  const Fact& in = graph.fact(rewrite.input(0));
  const bool to_bytes = cast->to == DType::kU8 || cast->to == DType::kI8;
  if (cast->whole || !to_bytes || in.dtype != DType::kF32) return {};
  double high = 0;
  double low = 0;
  double zero = 0;
  // Of a number and a NaN these give the number, so that no NaN is left.
  const Node* at = before(graph, graph.node(rewrite.input(0).node), Elementwise::kMin, &high);
  if (at) at = before(graph, *at, Elementwise::kMax, &low);
  if (!at) return {};
  if (const Node* moved = before(graph, *at, Elementwise::kAdd, &zero)) at = moved;
  const auto* round = at->op->as<Unary>();
  const kernels::Rounding type = rounding_within(cast->to);
  if (!round || round->kind_of != UnaryKind::kRoundEven || low < type.lo || high > type.hi ||
      low > high) {
    return {};
  }
  auto marked = std::make_shared<Cast>(*cast);
  marked->whole = true;
  RILL_ASSIGN(const OutletId out, rewrite.wire1(rewrite.node().name, std::move(marked),
                                                {rewrite.mapped(rewrite.input(0))}));
  return rewrite.replace({out});
}

}  // namespace rill::ops
