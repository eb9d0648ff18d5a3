#include "ops/stream/attention.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/nn/einsum.h"
#include "ops/stream/square.h"

namespace rill::ops {

void Attention::fields(FieldVisitor& visitor) { visitor.field("weights", weights); }

std::string Attention::attributes() const {
  return str_cat("body=", reinterpret_cast<uintptr_t>(body.get()));
}

Result<Facts> Attention::infer(FactSpan) const { return Facts{body->fact(body->outputs[0])}; }

Status Attention::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "attention over a stream exists only while it is pulsed");
}

namespace {

int streaming_axes(const Fact& fact, std::string_view symbol) {
  return static_cast<int>(std::count_if(fact.shape.begin(), fact.shape.end(),
                                        [&](const Dim& dim) { return dim.mentions(symbol); }));
}

/// The product that uses weights of frames against frames: which operand these are, and the letters.
struct Use {
  int weights = -1;
  char query = 0;
  char key = 0;
};

std::optional<Use> use_of(const Graph& graph, const Node& node, std::string_view symbol) {
  const auto* product = node.op->as<EinSum>();
  if (!product || product->operands != 2 || node.inputs.size() != 2) return std::nullopt;
  Use use;
  for (int k = 0; k < 2; ++k) {
    const Fact& fact = graph.fact(node.inputs[static_cast<size_t>(k)]);
    if (streaming_axes(fact, symbol) != 2) continue;
    if (use.weights >= 0) return std::nullopt;
    use.weights = k;
    for (int axis = 0; axis < fact.rank(); ++axis) {
      if (!fact.dim(axis).mentions(symbol)) continue;
      const char letter = product->letters(k)[static_cast<size_t>(axis)];
      const bool kept = product->letters(2).find(letter) != std::string_view::npos;
      (kept ? use.query : use.key) = letter;
    }
  }
  if (use.weights < 0 || use.query == 0 || use.key == 0) return std::nullopt;
  const Fact& values = graph.fact(node.inputs[static_cast<size_t>(1 - use.weights)]);
  const size_t at = product->letters(1 - use.weights).find(use.key);
  if (at == std::string_view::npos || streaming_axes(values, symbol) != 1 ||
      !values.dim(static_cast<int>(at)).mentions(symbol)) {
    return std::nullopt;
  }
  return use;
}

/// Makes the body of one attention: all that leads from wires of one streaming axis to the product.
class Collector {
 public:
  Collector(const Graph& graph, std::string_view symbol) : graph_(graph), symbol_(symbol) {}

  Result<std::shared_ptr<const Graph>> body(int product, int weights) {
    const Node& node = graph_.node(product);
    collect(node.inputs[static_cast<size_t>(weights)]);
    outside_.insert(node.inputs[static_cast<size_t>(1 - weights)]);
    auto body = std::make_shared<Graph>();
    body->scope = graph_.scope;
    for (const OutletId& outlet : outside_) {
      mapped_[outlet] =
          body->add_source(graph_.node(outlet.node).name, graph_.fact(outlet).without_value());
    }
    for (const int id : inside_) {
      RILL_TRY(copy(id, body.get()));
    }
    RILL_TRY(copy(product, body.get()));
    body->add_output("y", mapped_.at({product, 0}));
    return std::shared_ptr<const Graph>(body);
  }
  std::vector<OutletId> inputs() const { return {outside_.begin(), outside_.end()}; }

 private:
  void collect(OutletId outlet) {
    if (inside_.contains(outlet.node)) return;
    const Node& node = graph_.node(outlet.node);
    const bool square = streaming_axes(graph_.fact(outlet), symbol_) > 1;
    if (!square && !is_positional(graph_, outlet)) {
      outside_.insert(outlet);
      return;
    }
    inside_.insert(outlet.node);
    for (const OutletId& input : node.inputs) collect(input);
  }

  Status copy(int id, Graph* body) {
    const Node& node = graph_.node(id);
    if (const auto* constant = node.op->as<Const>()) {
      mapped_[{id, 0}] = body->add_const(node.name, constant->value, node.line);
      return {};
    }
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
    RILL_ASSIGN(const auto outlets, body->add(node.name, node.op, std::move(inputs), node.line));
    for (size_t slot = 0; slot < outlets.size(); ++slot) {
      mapped_[{id, static_cast<int>(slot)}] = outlets[slot];
    }
    return {};
  }

  const Graph& graph_;
  std::string_view symbol_;
  std::set<int> inside_;
  std::set<OutletId> outside_;
  std::map<OutletId, OutletId> mapped_;
};

}  // namespace

Graph gather_attention(const Graph& graph, std::string_view symbol) {
  Graph out = graph;
  bool any = false;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const auto use = use_of(graph, graph.nodes[id], symbol);
    if (!use) continue;
    Collector collector(graph, symbol);
    auto body = collector.body(static_cast<int>(id), use->weights);
    if (!body.ok()) continue;
    auto op = std::make_shared<Attention>();
    op->body = std::move(body).value();
    op->weights = use->weights;
    op->query = use->query;
    op->key = use->key;
    out.nodes[id].op = std::move(op);
    out.nodes[id].inputs = collector.inputs();
    any = true;
  }
  return any ? out.compacted() : out;
}

}  // namespace rill::ops
