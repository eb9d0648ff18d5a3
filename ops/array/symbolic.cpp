#include "ops/array/symbolic.h"

#include "ops/array/axis_ops.h"
#include "ops/array/cast.h"
#include "ops/array/reshape.h"
#include "ops/math/binary.h"
#include "ops/math/dims.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

// Index arithmetic of real models is a handful of nodes deep.
constexpr int kMaxDepth = 24;

std::optional<Dim> valid(Dim dim) {
  return dim.valid() ? std::optional<Dim>(std::move(dim)) : std::nullopt;
}

std::optional<Dim> combined(BinaryKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case BinaryKind::kGe:
      return valid(ge(a, b));
    case BinaryKind::kGt:
      return valid(ge(a, b + Dim(1)));
    case BinaryKind::kLe:
      return valid(ge(b, a));
    case BinaryKind::kLt:
      return valid(ge(b, a + Dim(1)));
    case BinaryKind::kEq:
      return valid(eq(a, b));
    case BinaryKind::kNe:
      return valid(Dim(1) - eq(a, b));
    case BinaryKind::kAnd:
      return valid(a * b);
    case BinaryKind::kOr:
      return valid(a + b - a * b);
    default: {
      auto out = combine_dims(kind, a, b);
      return out.ok() ? std::optional<Dim>(std::move(out).value()) : std::nullopt;
    }
  }
}

class Tracer {
 public:
  explicit Tracer(const Graph& graph) : graph_(graph) {}

  std::optional<Dim> value(OutletId outlet, int depth) const {
    const Fact& fact = graph_.fact(outlet);
    if (fact.konst) {
      if (fact.konst->volume() != 1 || is_float(fact.dtype)) return std::nullopt;
      auto dim = element_as_dim(*fact.konst, 0);
      return dim.ok() ? std::optional<Dim>(std::move(dim).value()) : std::nullopt;
    }
    const Node& node = graph_.node(outlet.node);
    if (depth == 0 || is_float(fact.dtype) || node.inputs.empty()) return std::nullopt;
    for (const OutletId& input : node.inputs) {
      if (!(volume(graph_.fact(input).shape) == Dim(1))) return std::nullopt;
    }
    return of_node(node, depth - 1);
  }

 private:
  std::optional<Dim> of_node(const Node& node, int depth) const {
    const auto first = value(node.inputs[0], depth);
    if (!first) return std::nullopt;
    const Op& op = *node.op;
    if (op.as<Cast>() || op.as<AddAxis>() || op.as<RmAxis>() || op.as<Reshape>()) return first;
    if (const auto* unary = op.as<Unary>()) {
      if (unary->kind_of == UnaryKind::kNeg) return valid(-*first);
      if (unary->kind_of == UnaryKind::kNot) return valid(Dim(1) - *first);
      return std::nullopt;
    }
    if (node.inputs.size() < 2) return std::nullopt;
    const auto second = value(node.inputs[1], depth);
    if (!second) return std::nullopt;
    if (const auto* binary = op.as<Binary>()) return combined(binary->kind_of, *first, *second);
    if (!op.as<Select>()) return std::nullopt;
    const auto third = value(node.inputs[2], depth);
    if (!third) return std::nullopt;
    return valid(*first * (*second - *third) + *third);
  }

  const Graph& graph_;
};

}  // namespace

std::optional<Dim> symbolic_value(const Graph& graph, OutletId outlet) {
  return Tracer(graph).value(outlet, kMaxDepth);
}

}  // namespace rill::ops
