#include "tests/operators/reference_run.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "audit/values.h"

namespace rill::test {
namespace {

bool rounds(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const Graph* body = node.op->nested();
    return node.op->tolerance() != Tolerance::kExact || (body && rounds(*body));
  });
}

}  // namespace

Allowance allowance(const Graph& graph, DType dtype) {
  if (!rounds(graph)) return {};
  switch (dtype) {
    case DType::kF16:
      return {4e-3, 1e-3};
    case DType::kF32:
      return {2e-5, 1e-6};
    case DType::kF64:
      return {1e-12, 1e-14};
    default:
      return {};
  }
}

std::string difference_within(const Tensor& found, const Tensor& expected, Allowance allowed) {
  if (found.dtype() != expected.dtype()) {
    return str_cat("type ", dtype_name(found.dtype()), ", expected ", dtype_name(expected.dtype()));
  }
  if (allowed.relative == 0 || found.shape() != expected.shape()) {
    return audit::difference(found, expected);
  }
  const Tensor a = std::move(cast(found, DType::kF64)).value();
  const Tensor b = std::move(cast(expected, DType::kF64)).value();
  double largest = 0;
  for (const double value : b.values<double>()) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (int64_t i = 0; i < a.volume(); ++i) {
    const double x = a.data<double>()[i];
    const double y = b.data<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double bound = allowed.relative * std::abs(y) + allowed.cancelled * largest;
    if (!(std::abs(x - y) <= bound)) return str_cat("[", i, "]: ", x, ", expected ", y);
  }
  return {};
}

Result<std::vector<Tensor>> reference_run(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<TensorPtr>> values(graph.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<size_t>(graph.inputs[i].node)] = {std::make_shared<Tensor>(inputs[i])};
  }
  const auto value_of = [&](OutletId outlet) {
    return values[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
  };
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (!values[id].empty()) continue;
    if (const Const* constant = node.op->as<Const>()) {
      values[id] = {constant->value};
      continue;
    }
    std::vector<TensorPtr> in;
    for (const OutletId& input : node.inputs) in.push_back(value_of(input));
    RILL_ASSIGN(std::vector<Tensor> out, evaluate(*node.op, in, node.outputs));
    for (Tensor& tensor : out) values[id].push_back(std::make_shared<Tensor>(std::move(tensor)));
  }
  std::vector<Tensor> out;
  for (const OutletId& output : graph.outputs) out.push_back(*value_of(output));
  return out;
}

}  // namespace rill::test
