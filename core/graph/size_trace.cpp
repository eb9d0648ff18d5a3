#include "core/graph/size_trace.h"

#include <cmath>

namespace rill {
namespace {

// Index arithmetic of real models is a handful of nodes deep.
constexpr int kMaxDepth = 24;
// Where each node reads another one twice, ways double from node to node.
constexpr int kMostNodes = 1 << 12;

// Floats tell whole numbers apart up to here.
constexpr double kMostExact = 1 << 24;

/// A float constant that has a few binary places.
std::optional<SizeRatio> float_constant(const Tensor& tensor) {
  const auto value = element_as_double(tensor, 0);
  if (!value.ok() || !(std::abs(*value) <= kMostExact)) return std::nullopt;
  constexpr int64_t kMostPlaces = 1 << 12;
  for (int64_t divisor = 1; divisor <= kMostPlaces; divisor *= 2) {
    const double number = *value * static_cast<double>(divisor);
    if (number == std::trunc(number)) return size_of(Dim(static_cast<int64_t>(number)), divisor);
  }
  return std::nullopt;
}

}  // namespace

std::optional<SizeRatio> size_of(const Dim& number, int64_t divisor) {
  if (!number.valid() || divisor < 1 || divisor > kMostDivisor) return std::nullopt;
  return SizeRatio{number, divisor};
}

std::optional<SizeRatio> size_of(const std::optional<Dim>& number) {
  return number ? size_of(*number) : std::nullopt;
}

std::optional<SizeRatio> SizeTrace::follow(const Graph& graph, OutletId outlet,
                                           std::vector<Dim>* divisors, const Dim* place) {
  Way way{divisors, place, kMostNodes};
  return follow(graph, outlet, kMaxDepth, &way);
}

std::optional<SizeRatio> SizeTrace::follow(const Graph& graph, OutletId outlet, int depth,
                                           Way* way) {
  const Fact& fact = graph.fact(outlet);
  if (fact.konst) {
    if (fact.konst->volume() != 1) return std::nullopt;
    if (is_float(fact.dtype)) return float_constant(*fact.konst);
    auto dim = element_as_dim(*fact.konst, 0);
    return dim.ok() ? size_of(std::move(dim).value()) : std::nullopt;
  }
  const Node& node = graph.node(outlet.node);
  if (depth == 0 || way->left == 0) return std::nullopt;
  --way->left;
  // Elements meet those at their own places, or a single one.
  const Dim count = volume(fact.shape);
  for (const OutletId& input : node.inputs) {
    const Dim own = volume(graph.fact(input).shape);
    if (!(own == Dim(1)) && !(way->place && own == count)) return std::nullopt;
  }
  return node.op->size(SizeTrace(graph, node, depth - 1, way));
}

std::optional<SizeRatio> SizeTrace::in(int i) const {
  if (static_cast<size_t>(i) >= node_.inputs.size()) return std::nullopt;
  return follow(graph_, input(i), depth_, &way_);
}

void SizeTrace::divides(const Dim& by) const {
  if (way_.divisors) way_.divisors->push_back(by);
}

std::optional<SizeRatio> Op::size(const SizeTrace& trace) const {
  return traits().keeps_order ? trace.in(0) : std::nullopt;
}

}  // namespace rill
