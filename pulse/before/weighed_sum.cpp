#include "pulse/before/weighed_sum.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/search.h"
#include "core/graph/walk.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
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

/// Return the softmax and the factors of a wire that is only a softmax over the stream times
/// factors.
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
  const bool all_frames = any_of(
      out->factors, [&](OutletId each) { return graph.fact(each).dim(axis) == summed.dim(axis); });
  if (!all_frames || !(graph.fact(out->scores).dim(axis) == summed.dim(axis))) return std::nullopt;
  return out;
}

/// A sum over the stream of squared distances from one value.
struct SquaredSum {
  OutletId frames;
  OutletId centre;
  std::optional<OutletId> scores;  ///< of a softmax over the stream that weighs them
  int axis = 0;
};

/// Models multiply a handful of factors.
constexpr size_t kMostFactors = 16;

/// Return the factors of a wire; nothing if there are too many.
std::optional<std::vector<OutletId>> factors_of(const Graph& graph, OutletId wire) {
  std::vector<OutletId> out;
  std::vector<OutletId> open{wire};
  while (!open.empty()) {
    const OutletId at = open.back();
    open.pop_back();
    const Node& node = graph.node(at.node);
    const auto* product = binary_of(*node.op);
    if (is_square(*node.op)) {
      for (int k = 0; k < 2; ++k) open.push_back(node.inputs[0]);
    } else if (product && product->kind_of == ops::BinaryKind::kMul) {
      for (const OutletId& each : node.inputs) open.push_back(each);
    } else {
      out.push_back(at);
    }
    if (out.size() + open.size() > kMostFactors) return std::nullopt;
  }
  return out;
}

/// Return whether a value is made of a sum over all frames.
bool is_known_at_end(const Graph& graph, OutletId wire, const Dim& frames) {
  return any_before(graph, wire, [&](int id) {
    const Node& node = graph.node(id);
    const auto axis = summed_axis(node);
    return axis && graph.fact(node.inputs[0]).dim(*axis) == frames;
  });
}

std::optional<SquaredSum> squared_sum(const Graph& graph, const Node& node,
                                      std::string_view symbol) {
  const auto axis = summed_axis(node);
  if (!axis) return std::nullopt;
  const Fact& summed = graph.fact(node.inputs[0]);
  const Dim frames = summed.dim(*axis);
  if (summed.dtype != DType::kF32 || !frames.mentions(symbol)) return std::nullopt;
  auto factors = factors_of(graph, node.inputs[0]);
  if (!factors) return std::nullopt;
  SquaredSum out;
  out.axis = *axis;
  const auto streams = [&](OutletId wire) { return graph.fact(wire).dim(*axis) == frames; };
  for (size_t i = 0; i < factors->size(); ++i) {
    const OutletId apart = (*factors)[i];
    const Node& difference = graph.node(apart.node);
    const auto* binary = binary_of(*difference.op);
    const auto twice = std::count(factors->begin(), factors->end(), apart);
    if (!binary || binary->kind_of != ops::BinaryKind::kSub || twice != 2) continue;
    const size_t moves = streams(difference.inputs[0]) ? 0 : 1;
    out.frames = difference.inputs[moves];
    out.centre = difference.inputs[1 - moves];
    const bool still = graph.fact(out.centre).dim(*axis) == Dim(1) &&
                       !graph.fact(out.centre).mentions(symbol);
    if (!streams(out.frames) || !still || !is_known_at_end(graph, out.centre, frames)) continue;
    std::erase(*factors, apart);
    if (factors->empty()) return out;
    const Node& weights = graph.node(factors->front().node);
    const auto* softmax = softmax_of(*weights.op);
    if (factors->size() > 1 || !softmax || softmax->log || !streams(factors->front()) ||
        softmax->over != std::vector<int64_t>{*axis}) {
      return std::nullopt;
    }
    out.scores = weights.inputs[0];
    return out;
  }
  return std::nullopt;
}

class Loops final : public GraphCopy {
 public:
  Loops(const Graph& graph, std::string_view symbol) : GraphCopy(graph), symbol_(symbol) {}

 protected:
  Status copy(int id) override;

 private:
  Result<OutletId> one(int id, std::string_view suffix, OpPtr op, WireList inputs);
  Result<OutletId> filled(int id, std::string_view suffix, const Fact& like, double value);
  Result<OutletId> quotient(int id, OutletId scores, OutletId product, int axis);
  Result<OutletId> weighed(int id, const WeighedSum& sum);
  Result<OutletId> squared(int id, const SquaredSum& sum);
  Result<OutletId> sum_of(int id, const SquaredSum& sum, OutletId product);
  Result<OutletId> count_of(int id, const Dim& frames);
  Result<OutletId> combine(int id, std::string_view suffix, ops::BinaryKind kind, OutletId a,
                           OutletId b) {
    return one(id, suffix, make_op<ops::Binary>(kind), {a, b});
  }

  std::string_view symbol_;
};

Fact first_frame(Fact fact, int axis) {
  fact.shape[static_cast<size_t>(axis)] = Dim(1);
  return fact.without_value();
}

/// Sums over any number of frames are kept in this type: they are added one by one.
constexpr DType kSums = DType::kF64;

Fact summed(Fact fact) {
  fact.dtype = kSums;
  return fact;
}

Result<OutletId> add_to(Graph* graph, std::string_view name, OpPtr op, WireList inputs) {
  RILL_ASSIGN(const auto outlets, graph->add(std::string(name), std::move(op), inputs));
  return outlets[0];
}

/// Build the loop body: one iteration reads a frame of scores and a frame of products, and updates
/// the states. These are the greatest score, the sum of weights and the sum of weighted products,
/// both sums relative to the greatest score.
Result<Graph> turn_of(const Fact& scores, const Fact& products) {
  Graph body;
  const auto binary = [](ops::BinaryKind kind) { return make_op<ops::Binary>(kind); };
  const OutletId score = body.add_source("score", scores);
  const OutletId product = body.add_source("product", products);
  const OutletId greatest = body.add_source("greatest", scores);
  const OutletId weights = body.add_source("weights", summed(scores));
  const OutletId weighed = body.add_source("weighed", summed(products));
  const auto wide = [&](std::string_view name, OutletId of) {
    return add_to(&body, str_cat(name, "_wide"), make_op<ops::Cast>(kSums), {of});
  };
  const auto relative = [&](std::string_view name, OutletId of, OutletId to) -> Result<OutletId> {
    RILL_ASSIGN(const OutletId apart,
                add_to(&body, str_cat(name, "_apart"), binary(ops::BinaryKind::kSub), {of, to}));
    return add_to(&body, name, make_op<ops::Unary>(ops::UnaryKind::kExp), {apart});
  };
  const auto grown = [&](std::string_view name, OutletId sum, OutletId by,
                         OutletId more) -> Result<OutletId> {
    RILL_ASSIGN(const OutletId kept,
                add_to(&body, str_cat(name, "_kept"), binary(ops::BinaryKind::kMul), {sum, by}));
    return add_to(&body, name, binary(ops::BinaryKind::kAdd), {kept, more});
  };
  RILL_ASSIGN(const OutletId most,
              add_to(&body, "most", binary(ops::BinaryKind::kMax), {greatest, score}));
  RILL_ASSIGN(const OutletId own_fade, relative("fade", greatest, most));
  RILL_ASSIGN(const OutletId fade, wide("fade", own_fade));
  RILL_ASSIGN(const OutletId own_weight, relative("weight", score, most));
  RILL_ASSIGN(const OutletId weight, wide("weight", own_weight));
  RILL_ASSIGN(const OutletId factor, wide("product", product));
  RILL_ASSIGN(const OutletId share,
              add_to(&body, "share", binary(ops::BinaryKind::kMul), {factor, weight}));
  RILL_ASSIGN(const OutletId all_weights, grown("all_weights", weights, fade, weight));
  RILL_ASSIGN(const OutletId all_shares, grown("all_shares", weighed, fade, share));
  body.add_output("most", most);
  body.add_output("all_weights", all_weights);
  body.add_output("all_shares", all_shares);
  return body;
}

Result<OutletId> Loops::one(int id, std::string_view suffix, OpPtr op, WireList inputs) {
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto outlets,
              out_.add(str_cat(node.name, suffix), std::move(op), inputs, node.line));
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
  return one(id, suffix, make_op<ops::Broadcast>(like.shape), {constant});
}

/// The mean of a product over the stream, weighed by the softmax of scores.
Result<OutletId> Loops::quotient(int id, OutletId scores, OutletId product, int axis) {
  const Fact score = first_frame(out_.fact(scores), axis);
  const Fact share = first_frame(out_.fact(product), axis);
  auto loop = draft_op<ops::Scan>();
  RILL_ASSIGN(Graph body, turn_of(score, share));
  loop->body = std::make_shared<const Graph>(std::move(body));
  loop->inputs = {{Kind::kScan, axis, 1},
                  {Kind::kScan, axis, 1},
                  {Kind::kState, 0, 1},
                  {Kind::kState, 0, 1},
                  {Kind::kState, 0, 1}};
  loop->outputs = {{1, true, axis, 1}, {2, true, axis, 1}};
  loop->state_results = {0, 1, 2};
  // Every score is at least this, except minus infinity, whose weight is 0.
  const double least = score.dtype == DType::kF32 ? std::numeric_limits<float>::lowest()
                                                  : std::numeric_limits<double>::lowest();
  RILL_ASSIGN(const OutletId greatest, filled(id, "_greatest", score, least));
  RILL_ASSIGN(const OutletId weights, filled(id, "_weights", summed(score), 0));
  RILL_ASSIGN(const OutletId weighed, filled(id, "_weighed", summed(share), 0));
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto sums, out_.add(str_cat(node.name, "_sums"), std::move(loop),
                                        {scores, product, greatest, weights, weighed}, node.line));
  OutletId divisor = sums[0];
  // Of no frames at all, the sum is 0.
  const Dim& frames = out_.fact(product).dim(axis);
  if (!out_.scope.proves_ge(frames, Dim(1))) {
    RILL_ASSIGN(const OutletId none, count_of(id, ge(Dim(0), frames)));
    RILL_ASSIGN(divisor, combine(id, "_mean", ops::BinaryKind::kAdd, divisor, none));
  }
  return combine(id, "_mean", ops::BinaryKind::kDiv, sums[1], divisor);
}

Result<OutletId> Loops::weighed(int id, const WeighedSum& sum) {
  OutletId product = mapped_.at(sum.factors[0]);
  for (size_t i = 1; i < sum.factors.size(); ++i) {
    RILL_ASSIGN(product, combine(id, "_product", ops::BinaryKind::kMul, product,
                                 mapped_.at(sum.factors[i])));
  }
  // The sum may be larger than the factors, by axes of the weights.
  const Fact& whole = graph_.fact(graph_.node(id).inputs[0]);
  if (!(out_.fact(product).shape == whole.shape)) {
    RILL_ASSIGN(product, one(id, "_spread", make_op<ops::Broadcast>(whole.shape), {product}));
  }
  RILL_ASSIGN(const OutletId mean, quotient(id, mapped_.at(sum.scores), product, sum.axis));
  return one(id, "", make_op<ops::Cast>(whole.dtype), {mean});
}

/// The number of frames, in the type of sums.
Result<OutletId> Loops::count_of(int id, const Dim& frames) {
  const int rank = graph_.node(id).outputs[0].rank();
  RILL_ASSIGN(Tensor count,
              Tensor::of<Dim>(DType::kDim, std::vector<int64_t>(static_cast<size_t>(rank), 1),
                              std::vector<Dim>{max(Dim(0), frames)}));
  const Node& node = graph_.node(id);
  const OutletId constant = out_.add_const(
      str_cat(node.name, "_count"), std::make_shared<const Tensor>(std::move(count)), node.line);
  return one(id, "_count", make_op<ops::Cast>(kSums), {constant});
}

/// The sum of a product over the stream, weighed where there are scores.
Result<OutletId> Loops::sum_of(int id, const SquaredSum& sum, OutletId product) {
  if (!sum.scores) return one(id, "_sum", graph_.node(id).op, {product});
  const Fact& whole = graph_.fact(graph_.node(id).inputs[0]);
  RILL_ASSIGN(product, one(id, "_spread", make_op<ops::Broadcast>(whole.shape), {product}));
  return quotient(id, mapped_.at(*sum.scores), product, sum.axis);
}

/// The sum of (x - c)^2 is that of x^2, less 2 c times that of x, plus c^2 times their number.
Result<OutletId> Loops::squared(int id, const SquaredSum& sum) {
  const auto wide = [&](std::string_view suffix, OutletId of) {
    return one(id, suffix, make_op<ops::Cast>(kSums), {mapped_.at(of)});
  };
  const auto times = [&](std::string_view suffix, OutletId a, OutletId b) {
    return combine(id, suffix, ops::BinaryKind::kMul, a, b);
  };
  RILL_ASSIGN(const OutletId x, wide("_frames", sum.frames));
  RILL_ASSIGN(const OutletId c, wide("_centre", sum.centre));
  RILL_ASSIGN(const OutletId square, times("_square", x, x));
  RILL_ASSIGN(const OutletId squares, sum_of(id, sum, square));
  RILL_ASSIGN(const OutletId lines, sum_of(id, sum, x));
  RILL_ASSIGN(const OutletId far, times("_far", lines, c));
  RILL_ASSIGN(OutletId rest, combine(id, "_rest", ops::BinaryKind::kSub, squares, far));
  RILL_ASSIGN(rest, combine(id, "_rest", ops::BinaryKind::kSub, rest, far));
  RILL_ASSIGN(OutletId own, times("_own", c, c));
  if (!sum.scores) {  // Weights of a softmax add up to 1.
    RILL_ASSIGN(const OutletId count, count_of(id, graph_.fact(sum.frames).dim(sum.axis)));
    RILL_ASSIGN(own, times("_own", own, count));
  }
  RILL_ASSIGN(rest, combine(id, "_rest", ops::BinaryKind::kAdd, rest, own));
  // Rounding may leave a little less than 0 of squares that are all 0.
  RILL_ASSIGN(rest, one(id, "_rest", make_op<ops::Unary>(ops::UnaryKind::kAbs), {rest}));
  return one(id, "", make_op<ops::Cast>(graph_.node(id).outputs[0].dtype), {rest});
}

Status Loops::copy(int id) {
  const Node& node = graph_.node(id);
  if (const auto sum = squared_sum(graph_, node, symbol_)) {
    RILL_ASSIGN(const OutletId out, squared(id, *sum));
    mapped_[{id, 0}] = out;
    return {};
  }
  if (const auto sum = weighed_sum(graph_, node, symbol_)) {
    RILL_ASSIGN(const OutletId out, weighed(id, *sum));
    mapped_[{id, 0}] = out;
    return {};
  }
  std::vector<OutletId> inputs;
  for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
  return append(id, node.op, inputs);
}

}  // namespace

bool is_weighed_sum(const Graph& graph, const Node& node, std::string_view symbol) {
  return weighed_sum(graph, node, symbol) || squared_sum(graph, node, symbol);
}

Result<Graph> loops_of_weighed_sums(Graph graph, std::string_view symbol) {
  const bool any =
      any_of(graph.nodes, [&](const Node& node) { return is_weighed_sum(graph, node, symbol); });
  if (!any) return graph;
  return Loops(graph, symbol).run();
}

}  // namespace rill::pulse
