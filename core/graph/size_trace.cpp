#include "core/graph/size_trace.h"

#include <cmath>

#include "core/dim/fraction.h"

namespace rill {
namespace {

// Index arithmetic of real models is a few nodes deep.
constexpr int kMaxDepth = 24;
// The maximum number of visits: if each node reads its predecessor twice, paths double per node.
constexpr int kMostNodes = 1 << 12;

// Floats represent integers exactly up to here.
constexpr double kMostExact = 1 << 24;

/// Return a float constant as a ratio, if it has few binary places or is the nearest float to a
/// fraction of small integers.
std::optional<SizeRatio> float_constant(const Tensor& tensor, int64_t at) {
  const auto value = element_as_double(tensor, at);
  if (!value.ok() || !(std::abs(*value) <= kMostExact)) return std::nullopt;
  constexpr int64_t kMostPlaces = 1 << 12;
  for (int64_t divisor = 1; divisor <= kMostPlaces; divisor *= 2) {
    const double number = *value * static_cast<double>(divisor);
    if (number == std::trunc(number)) return size_of(Dim(static_cast<int64_t>(number)), divisor);
  }
  if (tensor.dtype() != DType::kF32 || *value <= 0.0) return std::nullopt;
  const auto ratio = simple_fraction(static_cast<float>(*value), Rounded::kAny);
  return ratio ? size_of(Dim(ratio->first), ratio->second) : std::nullopt;
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
  Path path{divisors, place, kMostNodes};
  return follow(graph, outlet, kMaxDepth, &path);
}

std::optional<SizeRatio> SizeTrace::follow(const Graph& graph, OutletId outlet, int depth,
                                           Path* path) {
  const Fact& fact = graph.fact(outlet);
  if (fact.konst) {
    const bool alone = fact.konst->volume() == 1;
    const auto at = alone || !path->place ? std::optional<int64_t>(0) : path->place->to_int();
    if ((!alone && !path->place) || !at || *at >= fact.konst->volume()) return std::nullopt;
    if (is_float(fact.dtype)) return float_constant(*fact.konst, *at);
    auto dim = element_as_dim(*fact.konst, *at);
    return dim.ok() ? size_of(std::move(dim).value()) : std::nullopt;
  }
  const Node& node = graph.node(outlet.node);
  if (depth == 0 || path->left == 0) return std::nullopt;
  --path->left;
  return node.op->size(SizeTrace(graph, node, depth - 1, path));
}

std::optional<SizeRatio> SizeTrace::in(int i) const {
  if (i >= inputs()) return std::nullopt;
  const Dim own = volume(in_fact(i).shape);
  // A broadcast repeats a single element, whose index is always 0.
  if (path_.place && own == Dim(1)) return in(i, Dim(0));
  const bool meets = path_.place && own == volume(node_.outputs[0].shape);
  if (!(own == Dim(1)) && !meets) return std::nullopt;
  return follow(graph_, input(i), depth_, &path_);
}

std::optional<SizeRatio> SizeTrace::in(int i, const Dim& place) const {
  if (i >= inputs()) return std::nullopt;
  Path input_path{path_.divisors, &place, path_.left};
  auto out = follow(graph_, input(i), depth_, &input_path);
  path_.left = input_path.left;
  return out;
}

void SizeTrace::divides(const Dim& by) const {
  if (path_.divisors) path_.divisors->push_back(by);
}

std::optional<SizeRatio> Op::size(const SizeTrace& trace) const {
  return traits().keeps_order ? trace.in(0) : std::nullopt;
}

}  // namespace rill
