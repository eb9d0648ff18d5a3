#include "pulse/attention/heads.h"

#include <set>

#include "core/graph/walk.h"
#include "core/tensor/uniform.h"
#include "ops/array/broadcast.h"
#include "ops/array/concat.h"
#include "ops/array/slice.h"

namespace rill::pulse {
namespace {

/// Masks are looked through once for each case; models have up to some tens of heads.
constexpr size_t kMostCases = 64;

/// Where a constant has each of its values first; empty where it has too many, or one only.
std::vector<int64_t> places_of_values(const Tensor& tensor) {
  std::vector<int64_t> out;
  std::set<double> seen;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const auto number = element_as_double(tensor, i);
    if (!number.ok() || *number != *number) return {};
    if (seen.insert(*number).second) out.push_back(i);
    if (out.size() > kMostCases) return {};
  }
  return out.size() > 1 ? out : std::vector<int64_t>{};
}

/// A tensor of that shape, all of one of its elements.
TensorPtr all_of_element(const Tensor& tensor, int64_t element) {
  const auto number = element_as_double(tensor, element);
  if (!number.ok()) return nullptr;
  const auto numbers = Tensor::of<double>(
      DType::kF64, tensor.shape(),
      std::vector<double>(static_cast<size_t>(tensor.volume()), *number));
  if (!numbers.ok()) return nullptr;
  auto made = cast(*numbers, tensor.dtype());
  return made.ok() ? std::make_shared<const Tensor>(std::move(made).value()) : nullptr;
}

/// A node that differs from head to head.
struct Choice {
  int node = 0;
  bool joins = false;
  /// Elements of a constant, or inputs of the node that joins the masks
  std::vector<int64_t> cases;
};

class Heads {
 public:
  Heads(const Graph& graph, std::string_view symbol) : graph_(graph), symbol_(symbol) {}

  std::vector<Graph> apart(std::span<const OutletId> wires) {
    for (const OutletId& wire : wires) collect(wire);
    size_t count = 1;
    for (const Choice& choice : choices_) {
      count *= choice.cases.size();
      if (count > kMostCases) return {graph_};
    }
    std::vector<Graph> out;
    for (size_t each = 0; each < count; ++each) {
      size_t rest = each;
      Graph graph = graph_;
      for (const Choice& choice : choices_) {
        if (!choose(choice, choice.cases[rest % choice.cases.size()], &graph)) return {graph_};
        rest /= choice.cases.size();
      }
      out.push_back(std::move(graph));
    }
    return out;
  }

 private:
  void collect(OutletId wire) {
    const auto take = [&](int id) {
      const Node& node = graph_.node(id);
      // A table that is cut to the stream differs from position to position.
      if (!seen_.insert(id).second || node.op->as<ops::Slice>()) return false;
      if (const TensorPtr& value = node.outputs[0].konst) {
        auto places = places_of_values(*value);
        if (!places.empty()) choices_.push_back({id, false, std::move(places)});
      } else if (joins(node)) {
        Choice choice{id, true, {}};
        for (size_t k = 0; k < node.inputs.size(); ++k) {
          choice.cases.push_back(static_cast<int64_t>(k));
        }
        choices_.push_back(std::move(choice));
      }
      return true;
    };
    any_before(graph_, wire, [](int) { return false; }, take);
  }

  bool joins(const Node& node) const {
    const auto* concat = node.op->as<ops::Concat>();
    return concat && node.inputs.size() > 1 &&
           !node.outputs[0].dim(static_cast<int>(concat->axis)).mentions(symbol_);
  }

  static bool choose(const Choice& choice, int64_t which, Graph* graph) {
    Node& node = graph->nodes[static_cast<size_t>(choice.node)];
    if (!choice.joins) {
      const TensorPtr value = all_of_element(*node.outputs[0].konst, which);
      if (!value) return false;
      node.op = make_op<Const>(value);
      node.outputs[0].konst = value;
      node.inputs.clear();
      return true;
    }
    node.inputs = {node.inputs[static_cast<size_t>(which)]};
    node.op = make_op<ops::Broadcast>(node.outputs[0].shape);
    return true;
  }

  const Graph& graph_;
  std::string_view symbol_;
  std::set<int> seen_;
  std::vector<Choice> choices_;
};

}  // namespace

std::vector<Graph> heads_of(const Graph& graph, std::span<const OutletId> wires,
                            std::string_view symbol) {
  return Heads(graph, symbol).apart(wires);
}

}  // namespace rill::pulse
