#include "pulse/attention/attention.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/walk.h"
#include "ops/array/broadcast.h"
#include "ops/nn/einsum.h"
#include "pulse/attention/limits.h"
#include "pulse/attention/placed_joins.h"
#include "core/positions/positions.h"
#include "pulse/attention/skew.h"
#include "core/positions/square.h"

namespace rill::pulse {

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

/// Return the operator of a node that is a matmul of two operands; null for all other nodes.
const ops::EinSum* matmul_of(const Node& node) {
  const auto* product = node.op->as<ops::EinSum>();
  return product && product->operands == 2 && node.inputs.size() == 2 ? product : nullptr;
}

std::optional<Use> use_of(const Graph& graph, const Node& node, const ops::EinSum& product,
                          std::string_view symbol) {
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
      const char letter = product.letters(k)[static_cast<size_t>(axis)];
      const bool kept = product.letters(2).find(letter) != std::string_view::npos;
      (kept ? use.query : use.key) = letter;
    }
  }
  if (use.weights < 0 || use.query == 0 || use.key == 0) return std::nullopt;
  const Fact& values = graph.fact(node.inputs[static_cast<size_t>(1 - use.weights)]);
  bool has_key = false;
  for (int axis = 0; axis < values.rank(); ++axis) {
    if (!values.dim(axis).mentions(symbol)) continue;
    const char letter = product.letters(1 - use.weights)[static_cast<size_t>(axis)];
    if (letter != use.key && letter != use.query) return std::nullopt;
    has_key |= letter == use.key;
  }
  return has_key ? std::optional(use) : std::nullopt;
}

/// A sum of attention weights over one of their streaming axes: a matmul with ones.
struct Sum {
  int axis = 0;
  Use use;
};

std::optional<Sum> sum_of(const Graph& graph, const Node& node, std::string_view symbol) {
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
  return Sum{over, use};
}

/// Return a sum as a product with ones, which have extent 1 on the axis 'z'.
std::shared_ptr<ops::EinSum> product_of(const Sum& sum, int rank) {
  auto product = draft_op<ops::EinSum>();
  std::string letters;
  for (int axis = 0; axis < rank; ++axis) letters += static_cast<char>('a' + axis);
  std::string kept = letters;
  kept[static_cast<size_t>(sum.axis)] = 'z';
  product->expr = str_cat(letters, ",", std::string(1, sum.use.key), "z->", kept);
  return product;
}

/// Record the axes of queries and keys.
void place(const ops::EinSum& product, const Use& use, Attention* out) {
  const auto axis = [&](int operand, char letter) {
    const size_t at = product.letters(operand).find(letter);
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
  };
  const auto places = [&](int operand) {
    return Square{axis(operand, use.query), axis(operand, use.key), -1};
  };
  out->weights = use.weights;
  out->in_weights = places(use.weights);
  out->in_values = places(1 - use.weights);
  out->queries = axis(2, use.query);
}

// The search for limits visits each of these nodes; models have tens of them.
constexpr size_t kMostInside = 1024;

/// Collects one attention: the nodes from wires with one streaming axis to the product.
class Gatherer {
 public:
  Gatherer(const Graph& graph, std::string_view symbol) : graph_(graph), symbol_(symbol) {}

  Result<Attention> product(int id, const ops::EinSum& product, const Use& use) {
    const Node& node = graph_.node(id);
    const OutletId values = node.inputs[static_cast<size_t>(1 - use.weights)];
    collect(node.inputs[static_cast<size_t>(use.weights)]);
    if (streaming_axes(graph_.fact(values), symbol_) > 1) {
      collect(values);
    } else {
      outside_.insert(values);
    }
    auto body = std::make_shared<Graph>();
    RILL_TRY(fill(body.get()));
    RILL_TRY(copy(id, body.get()));
    body->add_output("y", mapped_.at({id, 0}));
    return attention(std::move(body), product, use);
  }

  /// As above, for a sum over the axis of the keys, whose result keeps that axis with extent 1.
  Result<Attention> sum(int id, const Sum& sum) {
    const Node& node = graph_.node(id);
    const Fact& weights = graph_.fact(node.inputs[0]);
    collect(node.inputs[0]);
    auto body = std::make_shared<Graph>();
    RILL_TRY(fill(body.get()));
    RILL_ASSIGN(Tensor one, Tensor::of<float>(DType::kF32, {1, 1}, std::vector<float>{1.0F}));
    const OutletId constant =
        body->add_const("one", std::make_shared<const Tensor>(std::move(one)), node.line);
    RILL_ASSIGN(const auto ones,
                body->add("ones",
                          make_op<ops::Broadcast>(std::vector<Dim>{weights.dim(sum.axis), 1}),
                          {constant}, node.line));
    const auto product = product_of(sum, weights.rank());
    RILL_ASSIGN(const auto made, body->add(node.name, product,
                                           {mapped_.at(node.inputs[0]), ones[0]}, node.line));
    body->add_output("y", made[0]);
    return attention(std::move(body), *product, sum.use);
  }

 private:
  Result<Attention> attention(std::shared_ptr<const Graph> body, const ops::EinSum& product,
                              const Use& use) const {
    Attention out;
    RILL_ASSIGN(out.body, place_joins(std::move(body), symbol_));
    place(product, use, &out);
    for (const OutletId& outlet : outside_) {
      // The inputs of the body have the order of the wires outside.
      if (may_hide(outlet)) out.large.push_back(out.body->inputs[out.inputs.size()]);
      out.inputs.push_back(outlet);
    }
    return out;
  }

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

std::vector<char> inside_of(const Graph& whole, const AllAttention& all) {
  std::vector<char> inside(whole.nodes.size(), 1);
  const auto keep = [&](OutletId outlet) { inside[static_cast<size_t>(outlet.node)] = 0; };
  for (const OutletId& output : whole.outputs) keep(output);
  for (const OutletId& input : whole.inputs) keep(input);
  for (size_t id = whole.nodes.size(); id-- > 0;) {
    if (inside[id]) continue;
    for (const OutletId& input : all.inputs_of(whole, static_cast<int>(id))) keep(input);
  }
  return inside;
}

AllAttention attention_of(const Graph& whole, std::string_view symbol) {
  AllAttention out;
  for (size_t i = 0; i < whole.nodes.size(); ++i) {
    const int id = static_cast<int>(i);
    const Node& node = whole.nodes[i];
    Gatherer gatherer(whole, symbol);
    Result<Attention> found = Attention();
    if (const ops::EinSum* product = matmul_of(node)) {
      const auto use = use_of(whole, node, *product, symbol);
      if (!use) continue;
      found = gatherer.product(id, *product, *use);
    } else {
      const auto sum = sum_of(whole, node, symbol);
      if (!sum) continue;
      found = gatherer.sum(id, *sum);
    }
    if (found.ok()) out.products.emplace(id, std::move(found).value());
  }
  if (!out.products.empty()) out.inside = inside_of(whole, out);
  return out;
}

void add_keys(const AllAttention& all, std::vector<Dim>* non_negative) {
  for (const auto& [id, attention] : all.products) {
    const Graph& body = *attention.body;
    const bool normalised = any_of(body.nodes, [](const Node& each) {
      return each.op->course().is(Course::Form::kNormalised);
    });
    const Dim& keys = body.fact(attention.values()).dim(attention.in_values.column);
    const Dim& queries = body.fact(body.outputs[0]).dim(attention.queries);
    if (normalised && !(keys == queries)) non_negative->push_back(keys - min(queries, Dim(1)));
  }
}

}  // namespace rill::pulse
