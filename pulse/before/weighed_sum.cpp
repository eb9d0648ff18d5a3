#include "pulse/before/weighed_sum.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "ops/array/broadcast.h"
#include "ops/control/scan.h"
#include "ops/math/unary.h"
#include "pulse/attention/parts.h"
#include "pulse/before/graph_copy.h"

namespace rill::pulse {
namespace {

using Kind = ops::Scan::Input::Kind;

/// A sum over the stream of weights times factors.
struct WeighedSum {
  OutletId scores;
  std::vector<OutletId> factors;
  int axis = 0;
};

/// What a wire is made of that is nothing but a softmax over the stream times factors.
std::optional<WeighedSum> weights_of(const Graph& graph, OutletId wire, int axis) {
  WeighedSum out{{}, {}, axis};
  while (true) {
    const Node& node = graph.node(wire.node);
    if (const auto* softmax = softmax_of(*node.op)) {
      if (softmax->log || softmax->over != std::vector<int64_t>{axis}) return std::nullopt;
      out.scores = node.inputs[0];
      return out;
    }
    const auto* product = binary_of(*node.op);
    if (!product || product->kind_of != ops::BinaryKind::kMul) return std::nullopt;
    const auto left = weights_of(graph, node.inputs[0], axis);
    if (left) out.factors.insert(out.factors.end(), left->factors.begin(), left->factors.end());
    out.factors.push_back(node.inputs[left ? 1 : 0]);
    if (left) {
      out.scores = left->scores;
      return out;
    }
    wire = node.inputs[1];
  }
}

std::optional<WeighedSum> weighed_sum(const Graph& graph, const Node& node,
                                      std::string_view symbol) {
  const auto summed_along = summed_axis(node);
  if (!summed_along) return std::nullopt;
  const int axis = *summed_along;
  const Fact& summed = graph.fact(node.inputs[0]);
  const bool plain = summed.dtype == DType::kF32 || summed.dtype == DType::kF64;
  if (!plain || !summed.dim(axis).mentions(symbol)) return std::nullopt;
  auto out = weights_of(graph, node.inputs[0], axis);
  if (!out || out->factors.empty() || graph.fact(out->scores).dtype != summed.dtype) {
    return std::nullopt;
  }
  // Frames of the product and of the scores are taken side by side.
  const bool all_frames = std::any_of(
      out->factors.begin(), out->factors.end(),
      [&](OutletId each) { return graph.fact(each).dim(axis) == summed.dim(axis); });
  if (!all_frames || !(graph.fact(out->scores).dim(axis) == summed.dim(axis))) return std::nullopt;
  return out;
}

class Loops final : public GraphCopy {
 public:
  Loops(const Graph& graph, std::string_view symbol) : GraphCopy(graph), symbol_(symbol) {}

 protected:
  Status copy(int id) override;

 private:
  Result<OutletId> one(int id, std::string_view suffix, OpPtr op, std::vector<OutletId> inputs);
  Result<OutletId> filled(int id, std::string_view suffix, const Fact& like, double value);
  Result<OutletId> quotient(int id, const WeighedSum& sum);

  std::string_view symbol_;
};

Fact first_frame(Fact fact, int axis) {
  fact.shape[static_cast<size_t>(axis)] = Dim(1);
  return fact.without_value();
}

Result<OutletId> add_to(Graph* graph, std::string_view name, OpPtr op,
                        std::vector<OutletId> inputs) {
  RILL_ASSIGN(const auto outlets, graph->add(std::string(name), std::move(op), std::move(inputs)));
  return outlets[0];
}

/// What a turn does with a frame of scores and one of products, and the states: the greatest score,
/// the sum of weights and that of weighed products, both relative to it.
Result<Graph> turn_of(const Fact& scores, const Fact& products) {
  Graph body;
  const auto binary = [](ops::BinaryKind kind) { return std::make_shared<ops::Binary>(kind); };
  const OutletId score = body.add_source("score", scores);
  const OutletId product = body.add_source("product", products);
  const OutletId greatest = body.add_source("greatest", scores);
  const OutletId weights = body.add_source("weights", scores);
  const OutletId weighed = body.add_source("weighed", products);
  const auto relative = [&](std::string_view name, OutletId of, OutletId to) -> Result<OutletId> {
    RILL_ASSIGN(const OutletId apart,
                add_to(&body, str_cat(name, "_apart"), binary(ops::BinaryKind::kSub), {of, to}));
    return add_to(&body, name, std::make_shared<ops::Unary>(ops::UnaryKind::kExp), {apart});
  };
  const auto grown = [&](std::string_view name, OutletId sum, OutletId by,
                         OutletId more) -> Result<OutletId> {
    RILL_ASSIGN(const OutletId kept,
                add_to(&body, str_cat(name, "_kept"), binary(ops::BinaryKind::kMul), {sum, by}));
    return add_to(&body, name, binary(ops::BinaryKind::kAdd), {kept, more});
  };
  RILL_ASSIGN(const OutletId most,
              add_to(&body, "most", binary(ops::BinaryKind::kMax), {greatest, score}));
  RILL_ASSIGN(const OutletId fade, relative("fade", greatest, most));
  RILL_ASSIGN(const OutletId weight, relative("weight", score, most));
  RILL_ASSIGN(const OutletId share,
              add_to(&body, "share", binary(ops::BinaryKind::kMul), {product, weight}));
  RILL_ASSIGN(const OutletId all_weights, grown("all_weights", weights, fade, weight));
  RILL_ASSIGN(const OutletId all_shares, grown("all_shares", weighed, fade, share));
  body.add_output("most", most);
  body.add_output("all_weights", all_weights);
  body.add_output("all_shares", all_shares);
  return body;
}

Result<OutletId> Loops::one(int id, std::string_view suffix, OpPtr op,
                            std::vector<OutletId> inputs) {
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto outlets, out_.add(str_cat(node.name, suffix), std::move(op),
                                           std::move(inputs), node.line));
  return outlets[0];
}

/// A first state, of one value.
Result<OutletId> Loops::filled(int id, std::string_view suffix, const Fact& like, double value) {
  const std::vector<int64_t> ones(like.shape.size(), 1);
  RILL_ASSIGN(Tensor number, Tensor::of<double>(DType::kF64, ones, std::vector<double>{value}));
  RILL_ASSIGN(Tensor typed, cast(number, like.dtype));
  const OutletId constant =
      out_.add_const(str_cat(graph_.node(id).name, suffix),
                     std::make_shared<const Tensor>(std::move(typed)), graph_.node(id).line);
  return one(id, suffix, std::make_shared<ops::Broadcast>(like.shape), {constant});
}

Result<OutletId> Loops::quotient(int id, const WeighedSum& sum) {
  OutletId product = mapped_.at(sum.factors[0]);
  for (size_t i = 1; i < sum.factors.size(); ++i) {
    RILL_ASSIGN(product, one(id, "_product", std::make_shared<ops::Binary>(ops::BinaryKind::kMul),
                             {product, mapped_.at(sum.factors[i])}));
  }
  const OutletId scores = mapped_.at(sum.scores);
  const Fact score = first_frame(out_.fact(scores), sum.axis);
  // What is summed may be larger than the factors, by axes of the weights.
  Fact whole = graph_.fact(graph_.node(id).inputs[0]);
  if (!(out_.fact(product).shape == whole.shape)) {
    RILL_ASSIGN(product,
                one(id, "_spread", std::make_shared<ops::Broadcast>(whole.shape), {product}));
  }
  const Fact share = first_frame(std::move(whole), sum.axis);
  auto loop = std::make_shared<ops::Scan>();
  RILL_ASSIGN(Graph body, turn_of(score, share));
  loop->body = std::make_shared<const Graph>(std::move(body));
  const int64_t axis = sum.axis;
  loop->inputs = {{Kind::kScan, axis, 1},
                  {Kind::kScan, axis, 1},
                  {Kind::kState, 0, 1},
                  {Kind::kState, 0, 1},
                  {Kind::kState, 0, 1}};
  loop->outputs = {{1, true, axis, 1}, {2, true, axis, 1}};
  loop->state_results = {0, 1, 2};
  // No score is less, but for those that are minus infinity, whose weights are 0.
  const double least = score.dtype == DType::kF32 ? std::numeric_limits<float>::lowest()
                                                  : std::numeric_limits<double>::lowest();
  RILL_ASSIGN(const OutletId greatest, filled(id, "_greatest", score, least));
  RILL_ASSIGN(const OutletId weights, filled(id, "_weights", score, 0));
  RILL_ASSIGN(const OutletId weighed, filled(id, "_weighed", share, 0));
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto sums, out_.add(str_cat(node.name, "_sums"), std::move(loop),
                                        {scores, product, greatest, weights, weighed}, node.line));
  return one(id, "", std::make_shared<ops::Binary>(ops::BinaryKind::kDiv), {sums[1], sums[0]});
}

Status Loops::copy(int id) {
  const Node& node = graph_.node(id);
  if (const auto sum = weighed_sum(graph_, node, symbol_)) {
    RILL_ASSIGN(const OutletId out, quotient(id, *sum));
    mapped_[{id, 0}] = out;
    return {};
  }
  std::vector<OutletId> inputs;
  for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
  return append(id, node.op, std::move(inputs));
}

}  // namespace

bool is_weighed_sum(const Graph& graph, const Node& node, std::string_view symbol) {
  return weighed_sum(graph, node, symbol).has_value();
}

Result<Graph> loops_of_weighed_sums(Graph graph, std::string_view symbol) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return is_weighed_sum(graph, node, symbol);
  });
  if (!any) return graph;
  return Loops(graph, symbol).run();
}

}  // namespace rill::pulse
