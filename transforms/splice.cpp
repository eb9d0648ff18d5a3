#include "transforms/splice.h"

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

}  // namespace

Splice::Splice(const Graph& graph)
    : inputs(graph.inputs),
      outputs(graph.outputs),
      output_names(graph.output_names),
      frame_(empty_like(graph)),
      nodes_(graph.nodes) {
}

int Splice::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

void Splice::replace(OutletId from, OutletId to) {
  for (Node& node : nodes_) {
    for (OutletId& input : node.inputs) {
      if (input == from) input = to;
    }
  }
  for (OutletId& output : outputs) {
    if (output == from) output = to;
  }
}

Result<Graph> Splice::build() const {
  RILL_ASSIGN(const std::vector<int> order, Order(nodes_).run());
  Graph out = frame_;
  std::vector<std::vector<OutletId>> mapped(nodes_.size());
  const auto moved = [&](OutletId outlet) {
    return mapped[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
  };
  for (const int id : order) {
    const Node& each = node(id);
    auto& outlets = mapped[static_cast<size_t>(id)];
    if (const auto* source = each.op->as<Source>()) {
      outlets = {out.add_source(each.name, source->fact, each.line)};
    } else if (const auto* constant = each.op->as<Const>()) {
      outlets = {out.add_const(each.name, constant->value, each.line)};
    } else {
      std::vector<OutletId> wires;
      for (const OutletId& input : each.inputs) wires.push_back(moved(input));
      RILL_ASSIGN(outlets, out.add_folded(each.name, each.op, wires, each.line));
    }
  }
  out.inputs.clear();
  for (const OutletId& input : inputs) out.inputs.push_back(moved(input));
  for (const OutletId& output : outputs) out.outputs.push_back(moved(output));
  out.output_names = output_names;
  return std::move(out).compacted();
}

}  // namespace rill::transforms
