#include "transforms/rebuilt.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/graph/graph_copy.h"

namespace rill::transforms {
namespace {

/// Sorts nodes topologically, and keeps their order as far as possible.
class Order {
 public:
  explicit Order(const std::vector<Node>& nodes) : nodes_(nodes), state_(nodes.size()) {}

  Result<std::vector<int>> run() {
    for (size_t id = 0; id < nodes_.size(); ++id) RILL_TRY(visit(static_cast<int>(id)));
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };

  /// Depth-first with an explicit stack: chains may be as long as the model.
  Status visit(int root) {
    std::vector<int> open{root};
    while (!open.empty()) {
      const int id = open.back();
      State& state = state_[static_cast<size_t>(id)];
      if (state == State::kDone) {
        open.pop_back();
        continue;
      }
      state = State::kOpen;
      const size_t before = open.size();
      for (const OutletId& input : nodes_[static_cast<size_t>(id)].inputs) {
        const State input_state = state_[static_cast<size_t>(input.node)];
        if (input_state == State::kOpen) {
          return fail(Code::kArg, "node \"", nodes_[static_cast<size_t>(id)].name,
                      "\" would depend on itself");
        }
        if (input_state == State::kNew) open.push_back(input.node);
      }
      if (open.size() > before) continue;
      state = State::kDone;
      order_.push_back(id);
      open.pop_back();
    }
    return {};
  }

  const std::vector<Node>& nodes_;
  std::vector<State> state_;
  std::vector<int> order_;
};

/// Return the graph with its nodes in an order in which inputs come first.
Result<Graph> sorted(Graph graph) {
  RILL_ASSIGN(const std::vector<int> order, Order(graph.nodes).run());
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    place[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  const auto move = [&](OutletId& wire) { wire.node = place[static_cast<size_t>(wire.node)]; };
  std::vector<Node> nodes;
  for (const int id : order) nodes.push_back(std::move(graph.nodes[static_cast<size_t>(id)]));
  for (Node& node : nodes) std::for_each(node.inputs.begin(), node.inputs.end(), move);
  graph.nodes = std::move(nodes);
  std::for_each(graph.inputs.begin(), graph.inputs.end(), move);
  std::for_each(graph.outputs.begin(), graph.outputs.end(), move);
  return graph;
}

/// Copies a graph and infers all facts, whatever the original says.
class Inferred final : public GraphCopy {
 public:
  explicit Inferred(const Graph& graph) : GraphCopy(graph) {}

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    return append_folded(id, node.op, mapped_.inputs_of(node));
  }
};

}  // namespace

Node source_node(std::string name, const Fact& fact, int line) {
  return {std::move(name), make_op<Source>(fact), {}, one_fact(fact), line};
}

Result<Graph> rebuilt(Graph edited) {
  RILL_ASSIGN(const Graph in_order, sorted(std::move(edited)));
  return Inferred(in_order).run();
}

}  // namespace rill::transforms
