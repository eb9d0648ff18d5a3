#include "pulse/attention/attention.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/fingerprint.h"
#include "core/graph/walk.h"
#include "ops/array/broadcast.h"
#include "ops/nn/einsum.h"
#include "pulse/attention/limits.h"
#include "pulse/attention/placed_joins.h"
#include "core/positions/positions.h"
#include "pulse/attention/skew.h"
#include "core/positions/square.h"

namespace rill::pulse {

void Attention::fields(FieldVisitor& visitor) { visitor.field("weights", weights); }

std::string Attention::attributes() const {
  std::string out = str_cat("weights=", weights, " query=", query, " key=", key);
  for (const OutletId& each : large) out += str_cat(" large(", each.node, ",", each.slot, ")");
  return str_cat(out, " body=", identity(*body));
}

const Attention* attention_of(const Node& node) { return node.op->as<Attention>(); }

int Attention::place(int operand, char letter) const {
  const auto* einsum = body->node(body->outputs[0].node).op->as<ops::EinSum>();
  const size_t at = einsum->letters(operand).find(letter);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

Result<Facts> Attention::infer(FactSpan) const { return one_fact(body->fact(body->outputs[0])); }

Status Attention::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "attention over a stream exists only while it is pulsed");
}

namespace {

int streaming_axes(const Fact& fact, std::string_view symbol) {
  return static_cast<int>(std::count_if(fact.shape.begin(), fact.shape.end(),
                                        [&](const Dim& dim) { return dim.mentions(symbol); }));
}

/// A matmul of attention weights: which operand holds them, and the letters of their axes.
struct Use {
  int weights = -1;
  char query = 0;
  char key = 0;
};

std::optional<Use> use_of(const Graph& graph, const Node& node, std::string_view symbol) {
  const auto* product = node.op->as<ops::EinSum>();
  if (!product || product->operands != 2 || node.inputs.size() != 2) return std::nullopt;
  Use use;
  const auto square = [&](int k) {
    return streaming_axes(graph.fact(node.inputs[static_cast<size_t>(k)]), symbol) == 2;
  };
  for (int k = 0; k < 2; ++k) {
    if (!square(k)) continue;
    // Values may depend on both positions, such as the values of relative positions.
    const Fact& fact = graph.fact(node.inputs[static_cast<size_t>(k)]);
    if (square(1 - k) && is_positional(graph, node.inputs[static_cast<size_t>(k)])) continue;
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
  bool has_key = false;
  for (int axis = 0; axis < values.rank(); ++axis) {
    if (!values.dim(axis).mentions(symbol)) continue;
    const char letter = product->letters(1 - use.weights)[static_cast<size_t>(axis)];
    if (letter != use.key && letter != use.query) return std::nullopt;
    has_key |= letter == use.key;
  }
  return has_key ? std::optional(use) : std::nullopt;
}

/// Treat a sum of attention weights over one of their streaming axes as a matmul with ones.
std::optional<Use> use_of_sum(const Graph& graph, const Node& node, std::string_view symbol) {
  const auto summed = node.op->course().summed_axis();
  if (!summed) return std::nullopt;
  const Fact& fact = graph.fact(node.inputs[0]);
  const int over = *summed;
  if (fact.dtype != DType::kF32 || streaming_axes(fact, symbol) != 2 ||
      !fact.dim(over).mentions(symbol)) {
    return std::nullopt;
  }
  Use use{0, 0, static_cast<char>('a' + over)};
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (axis != over && fact.dim(axis).mentions(symbol)) use.query = static_cast<char>('a' + axis);
  }
  return use;
}

// The search for limits visits each of these nodes; models have tens of them.
constexpr size_t kMostInside = 1024;

/// Makes the body of one attention: the nodes from wires with one streaming axis to the product.
class Gatherer {
 public:
  Gatherer(const Graph& graph, std::string_view symbol) : graph_(graph), symbol_(symbol) {}

  Result<std::shared_ptr<const Graph>> body(int product, int weights) {
    const Node& node = graph_.node(product);
    const OutletId values = node.inputs[static_cast<size_t>(1 - weights)];
    collect(node.inputs[static_cast<size_t>(weights)]);
    if (streaming_axes(graph_.fact(values), symbol_) > 1) {
      collect(values);
    } else {
      outside_.insert(values);
    }
    auto body = std::make_shared<Graph>();
    RILL_TRY(fill(body.get()));
    RILL_TRY(copy(product, body.get()));
    body->add_output("y", mapped_.at({product, 0}));
    return std::shared_ptr<const Graph>(body);
  }

  /// As above, for a sum over the axis of the keys, which keeps the extent 1.
  Result<std::shared_ptr<const Graph>> body_of_sum(int sum, char key) {
    const Node& node = graph_.node(sum);
    const Fact& weights = graph_.fact(node.inputs[0]);
    collect(node.inputs[0]);
    auto body = std::make_shared<Graph>();
    RILL_TRY(fill(body.get()));
    RILL_ASSIGN(Tensor one, Tensor::of<float>(DType::kF32, {1, 1}, std::vector<float>{1.0F}));
    const OutletId constant =
        body->add_const("one", std::make_shared<const Tensor>(std::move(one)), node.line);
    const Dim& keys = weights.dim(key - 'a');
    RILL_ASSIGN(const auto ones,
                body->add("ones", make_op<ops::Broadcast>(std::vector<Dim>{keys, Dim(1)}),
                          {constant}, node.line));
    auto product = draft_op<ops::EinSum>();
    std::string letters;
    for (int axis = 0; axis < weights.rank(); ++axis) letters += static_cast<char>('a' + axis);
    std::string kept = letters;
    std::replace(kept.begin(), kept.end(), key, 'z');
    product->expr = str_cat(letters, ",", std::string(1, key), "z->", kept);
    RILL_ASSIGN(const auto out, body->add(node.name, std::move(product),
                                          {mapped_.at(node.inputs[0]), ones[0]}, node.line));
    body->add_output("y", out[0]);
    return std::shared_ptr<const Graph>(body);
  }
  std::vector<OutletId> inputs() const { return {outside_.begin(), outside_.end()}; }
  /// Return the sources of the body whose wires may hold numbers that hide keys.
  std::vector<OutletId> large() const {
    std::vector<OutletId> out;
    for (const OutletId& outlet : outside_) {
      if (may_hide(outlet)) out.push_back(mapped_.at(outlet));
    }
    return out;
  }

 private:
  /// Copy the collected nodes into the body.
  Status fill(Graph* body) {
    if (inside_.size() > kMostInside) {
      return fail(Code::kUnsupported, "over ", kMostInside, " operators in one attention");
    }
    body->scope = graph_.scope;
    for (const OutletId& outlet : outside_) {
      mapped_[outlet] =
          body->add_source(graph_.node(outlet.node).name, graph_.fact(outlet).without_value());
    }
    for (const int id : inside_) {
      RILL_TRY(copy(id, body));
    }
    return {};
  }

  /// Return whether a wire may hold numbers that hide keys: it is computed elementwise from a
  /// constant with such a number. Values of the app's inputs count as scores.
  bool may_hide(OutletId outlet) const {
    const auto hides = [&](int id) {
      const TensorPtr constant = constant_of(*graph_.node(id).op);
      return constant && hides_somewhere(*constant);
    };
    const auto through = [&](int id) {
      const Course course = graph_.node(id).op->course();
      return course.is(Course::Form::kMoved) || course.is(Course::Form::kPerElement) ||
             course.is(Course::Form::kCut);
    };
    return any_before(graph_, outlet, hides, through);
  }

  void collect(OutletId from) {
    std::vector<OutletId> open{from};
    while (!open.empty()) {
      const OutletId outlet = open.back();
      open.pop_back();
      if (inside_.contains(outlet.node) || outside_.contains(outlet)) continue;
      const bool square = streaming_axes(graph_.fact(outlet), symbol_) > 1;
      if (!square && !is_positional(graph_, outlet)) {
        outside_.insert(outlet);
        continue;
      }
      inside_.insert(outlet.node);
      if (inside_.size() > kMostInside) return;
      const Node& node = graph_.node(outlet.node);
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
  }

  Status copy(int id, Graph* body) {
    const Node& node = graph_.node(id);
    if (TensorPtr constant = constant_of(*node.op)) {
      mapped_[{id, 0}] = body->add_const(node.name, std::move(constant), node.line);
      return {};
    }
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
    RILL_ASSIGN(const auto outlets, body->add(node.name, node.op, inputs, node.line));
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

Graph gather_attention(Graph whole, std::string_view symbol) {
  Graph graph = gather_shifts(std::move(whole), symbol);
  struct Gathered {
    size_t id;
    OpPtr op;
    std::vector<OutletId> inputs;
  };
  std::vector<Gathered> all;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const auto product = use_of(graph, graph.nodes[id], symbol);
    const auto sum = use_of_sum(graph, graph.nodes[id], symbol);
    if (!product && !sum) continue;
    const auto& use = product ? product : sum;
    Gatherer collector(graph, symbol);
    auto body = product ? collector.body(static_cast<int>(id), use->weights)
                        : collector.body_of_sum(static_cast<int>(id), use->key);
    if (!body.ok()) continue;
    const auto placed = place_joins(*body, symbol);
    if (!placed.ok()) continue;
    auto op = draft_op<Attention>();
    op->body = *placed;
    // The inputs of both bodies have one order.
    for (const OutletId& large : collector.large()) {
      const auto at = find((*body)->inputs, large) - (*body)->inputs.begin();
      op->large.push_back(op->body->inputs[static_cast<size_t>(at)]);
    }
    op->weights = use->weights;
    op->query = use->query;
    op->key = use->key;
    all.push_back({id, std::move(op), collector.inputs()});
  }
  if (all.empty()) return graph;
  for (Gathered& each : all) {
    graph.nodes[each.id].op = std::move(each.op);
    graph.nodes[each.id].inputs = std::move(each.inputs);
  }
  return std::move(graph).compacted();
}

void add_keys(const Graph& gathered, std::vector<Dim>* non_negative) {
  for (const Node& node : gathered.nodes) {
    const auto* attention = attention_of(node);
    if (!attention) continue;
    const Graph& body = *attention->body;
    const bool normalised = any_of(body.nodes, [](const Node& each) {
      return each.op->course().is(Course::Form::kNormalised);
    });
    const int operand = static_cast<int>(1 - attention->weights);
    const OutletId values =
        body.node(body.outputs[0].node).inputs[static_cast<size_t>(operand)];
    const Dim& keys = body.fact(values).dim(attention->place(operand, attention->key));
    const Dim& queries = body.fact(body.outputs[0]).dim(attention->place(2, attention->query));
    if (normalised && !(keys == queries)) non_negative->push_back(keys - min(queries, Dim(1)));
  }
}

}  // namespace rill::pulse
