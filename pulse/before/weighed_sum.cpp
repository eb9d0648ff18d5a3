#include "pulse/before/weighed_sum.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/graph_copy.h"
#include "core/graph/walk.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/control/scan.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "pulse/before/weighed_product.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;
using Function = Course::Function;
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
    if (is_softmax(node, axis)) {
      out.scores = node.inputs[0];
      return out;
    }
    if (!node.op->course().is(Function::kMul)) return std::nullopt;
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
  const auto summed_along = node.op->course().summed_axis();
  if (!summed_along) return std::nullopt;
  const int axis = *summed_along;
  const Fact& summed = graph.fact(node.inputs[0]);
  const bool plain = summed.dtype == DType::kF32 || summed.dtype == DType::kF64;
  if (!plain || !summed.dim(axis).mentions(symbol)) return std::nullopt;
  auto out = weights_of(graph, node.inputs[0], axis);
  if (!out || out->factors.empty() || graph.fact(out->scores).dtype != summed.dtype) {
    return std::nullopt;
  }
  // The loop reads frames of the product and of the scores together.
  const bool all_frames = any_of(
      out->factors, [&](OutletId each) { return graph.fact(each).dim(axis) == summed.dim(axis); });
  if (!all_frames || !(graph.fact(out->scores).dim(axis) == summed.dim(axis))) return std::nullopt;
  return out;
}

/// A sum over the stream, and over axes of fixed extents.
struct StreamSum {
  OutletId frames;     ///< the terms
  int axis = 0;        ///< of the stream
  OpPtr inner;         ///< sums fixed axes of each frame first; null if there are none
  Dim terms_per_frame = 1;
};

/// Return the axis along which a reduction reads the whole stream; its other axes have fixed
/// extents.
std::optional<int> open_axis(const Graph& graph, const Node& node, std::string_view symbol) {
  const Course course = node.op->course();
  if (!course.is(Form::kReduced)) return std::nullopt;
  std::optional<int> open;
  for (const int64_t axis : course.axes) {
    const Dim& extent = graph.fact(node.inputs[0]).dim(static_cast<int>(axis));
    if (extent.is_const()) continue;
    if (open || !extent.mentions(symbol)) return std::nullopt;
    open = static_cast<int>(axis);
  }
  return open;
}

bool is_sum(const Node& node) {
  const Course course = node.op->course();
  return course.is(Form::kReduced) && course.function == Function::kAdd;
}

/// Multiply the fixed extents that a reduction sums.
Dim fixed_terms(const Graph& graph, const Node& node) {
  Dim terms = 1;
  for (const int64_t axis : node.op->course().axes) {
    const Dim& extent = graph.fact(node.inputs[0]).dim(static_cast<int>(axis));
    if (extent.is_const()) terms *= extent;
  }
  return terms;
}

std::optional<StreamSum> stream_sum(const Graph& graph, const Node& node, std::string_view symbol) {
  if (!is_sum(node)) return std::nullopt;
  const auto axis = open_axis(graph, node, symbol);
  if (!axis) return std::nullopt;
  StreamSum out{node.inputs[0], *axis, nullptr, fixed_terms(graph, node)};
  const Node& before = graph.node(out.frames.node);
  const bool reduces = is_sum(before);
  if (reduces && before.outputs[0].dim(*axis) == graph.fact(before.inputs[0]).dim(*axis)) {
    out.frames = before.inputs[0];
    out.inner = before.op;
    out.terms_per_frame *= fixed_terms(graph, before);
  }
  return out;
}

/// A sum over the stream of squared distances from one value.
struct SquaredSum {
  StreamSum sum;
  OutletId frames;
  OutletId centre;
  std::optional<OutletId> scores;  ///< of a softmax over the stream that weighs them
};

/// A sum over the stream of exp(x - centre), as in log(sum(exp(x))).
struct PowerSum {
  StreamSum sum;
  OutletId exponents;
  OutletId centre;
};

/// The maximum number of factors; models multiply a handful.
constexpr size_t kMostFactors = 16;

/// Return the factors of a wire; nothing if there are too many.
std::optional<std::vector<OutletId>> factors_of(const Graph& graph, OutletId wire) {
  std::vector<OutletId> out;
  std::vector<OutletId> open{wire};
  while (!open.empty()) {
    const OutletId at = open.back();
    open.pop_back();
    const Node& node = graph.node(at.node);
    const Course course = node.op->course();
    if (course.is(Function::kSquare)) {
      for (int k = 0; k < 2; ++k) open.push_back(node.inputs[0]);
    } else if (course.is(Function::kMul)) {
      for (const OutletId& each : node.inputs) open.push_back(each);
    } else {
      out.push_back(at);
    }
    if (out.size() + open.size() > kMostFactors) return std::nullopt;
  }
  return out;
}

/// Return whether a value depends on a reduction over all frames.
bool is_known_at_end(const Graph& graph, OutletId wire, const Dim& frames,
                     std::string_view symbol) {
  return any_before(graph, wire, [&](int id) {
    const Node& node = graph.node(id);
    const auto axis = open_axis(graph, node, symbol);
    return axis && graph.fact(node.inputs[0]).dim(*axis) == frames;
  });
}

/// Return whether a value does not stream along an axis, and is known once all frames are known.
bool is_centre(const Graph& graph, OutletId wire, int axis, const Dim& frames,
               std::string_view symbol) {
  const bool still = graph.fact(wire).dim(axis) == Dim(1) && !graph.fact(wire).mentions(symbol);
  return still && is_known_at_end(graph, wire, frames, symbol);
}

std::optional<PowerSum> power_sum(const Graph& graph, const Node& node, std::string_view symbol) {
  const auto sum = stream_sum(graph, node, symbol);
  if (!sum || graph.fact(sum->frames).dtype != DType::kF32) return std::nullopt;
  const Node& power = graph.node(sum->frames.node);
  if (!power.op->course().is(Function::kExp)) return std::nullopt;
  const Node& shifted = graph.node(power.inputs[0].node);
  if (!shifted.op->course().is(Function::kSub)) return std::nullopt;
  const PowerSum out{*sum, shifted.inputs[0], shifted.inputs[1]};
  const Dim& frames = graph.fact(sum->frames).dim(sum->axis);
  const bool whole = graph.fact(out.exponents).shape == graph.fact(sum->frames).shape;
  if (!whole || !is_centre(graph, out.centre, sum->axis, frames, symbol)) return std::nullopt;
  return out;
}

std::optional<SquaredSum> squared_sum(const Graph& graph, const Node& node,
                                      std::string_view symbol) {
  const auto sum = stream_sum(graph, node, symbol);
  if (!sum || graph.fact(sum->frames).dtype != DType::kF32) return std::nullopt;
  const int axis = sum->axis;
  const Dim frames = graph.fact(sum->frames).dim(axis);
  auto factors = factors_of(graph, sum->frames);
  if (!factors) return std::nullopt;
  SquaredSum out{*sum, {}, {}, {}};
  const auto streams = [&](OutletId wire) { return graph.fact(wire).dim(axis) == frames; };
  for (size_t i = 0; i < factors->size(); ++i) {
    const OutletId factor = (*factors)[i];
    const Node& difference = graph.node(factor.node);
    const auto twice = std::count(factors->begin(), factors->end(), factor);
    if (!difference.op->course().is(Function::kSub) || twice != 2) continue;
    const size_t moves = streams(difference.inputs[0]) ? 0 : 1;
    out.frames = difference.inputs[moves];
    out.centre = difference.inputs[1 - moves];
    if (!streams(out.frames) || !is_centre(graph, out.centre, axis, frames, symbol)) continue;
    if (graph.fact(out.frames).shape != graph.fact(sum->frames).shape && sum->inner) continue;
    std::erase(*factors, factor);
    if (factors->empty()) return out;
    const Node& weights = graph.node(factors->front().node);
    if (factors->size() > 1 || !is_softmax(weights, axis) || !streams(factors->front()) ||
        !(sum->terms_per_frame == Dim(1))) {
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
  Result<OutletId> arranged(int id, std::string_view suffix, OutletId wire,
                            const ProductInput& axes);
  Result<OutletId> weighed_frames(int id, const WeighedProduct& sum);
  Result<OutletId> squared(int id, const SquaredSum& sum);
  Result<OutletId> powers(int id, const PowerSum& sum);
  Result<OutletId> sum_of(int id, const SquaredSum& sum, OutletId product);
  Result<OutletId> total_of(int id, const StreamSum& sum, OutletId terms);
  Result<OutletId> count_of(int id, const Dim& frames, int rank);
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

/// The type of sums: any number of frames are added one by one.
constexpr DType kSums = DType::kF64;

Fact summed(Fact fact) {
  fact.dtype = kSums;
  return fact;
}

Result<OutletId> add_to(Graph* graph, std::string_view name, OpPtr op, WireList inputs) {
  RILL_ASSIGN(const auto outlets, graph->add(std::string(name), std::move(op), inputs));
  return outlets[0];
}

/// Build a loop body that takes a frame of scores, one of products, and the states: greatest score,
/// the sum of weights and that of weighed products, both relative to it. `products`: null if only
/// the weights are summed.
Result<Graph> body_of(const Fact& scores, const Fact* products) {
  Graph body;
  const auto binary = [](ops::BinaryKind kind) { return make_op<ops::Binary>(kind); };
  const OutletId score = body.add_source("score", scores);
  const OutletId product = products ? body.add_source("product", *products) : OutletId();
  const OutletId greatest = body.add_source("greatest", scores);
  const OutletId weights = body.add_source("weights", summed(scores));
  const auto wide = [&](std::string_view name, OutletId of) {
    return add_to(&body, str_cat(name, "_wide"), make_op<ops::Cast>(kSums), {of});
  };
  const auto relative = [&](std::string_view name, OutletId of, OutletId to) -> Result<OutletId> {
    RILL_ASSIGN(const OutletId exponent,
                add_to(&body, str_cat(name, "_apart"), binary(ops::BinaryKind::kSub), {of, to}));
    return add_to(&body, name, make_op<ops::Unary>(ops::UnaryKind::kExp), {exponent});
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
  RILL_ASSIGN(const OutletId all_weights, grown("all_weights", weights, fade, weight));
  body.add_output("most", most);
  body.add_output("all_weights", all_weights);
  if (!products) return body;
  const OutletId weighed = body.add_source("weighed", summed(*products));
  RILL_ASSIGN(const OutletId factor, wide("product", product));
  RILL_ASSIGN(const OutletId share,
              add_to(&body, "share", binary(ops::BinaryKind::kMul), {factor, weight}));
  RILL_ASSIGN(const OutletId all_shares, grown("all_shares", weighed, fade, share));
  body.add_output("all_shares", all_shares);
  return body;
}

Result<OutletId> Loops::one(int id, std::string_view suffix, OpPtr op, WireList inputs) {
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto outlets,
              out_.add(str_cat(node.name, suffix), std::move(op), inputs, node.line));
  return outlets[0];
}

/// Return an initial state filled with one value.
Result<OutletId> Loops::filled(int id, std::string_view suffix, const Fact& like, double value) {
  const std::vector<int64_t> ones(like.shape.size(), 1);
  RILL_ASSIGN(Tensor number, Tensor::of<double>(DType::kF64, ones, std::vector<double>{value}));
  RILL_ASSIGN(Tensor typed, cast(number, like.dtype));
  const OutletId constant =
      out_.add_const(str_cat(graph_.node(id).name, suffix),
                     std::make_shared<const Tensor>(std::move(typed)), graph_.node(id).line);
  return one(id, suffix, make_op<ops::Broadcast>(like.shape), {constant});
}

/// Return the lowest finite score. Scores of minus infinity have weight 0.
double least_score(DType type) {
  return type == DType::kF32 ? std::numeric_limits<float>::lowest()
                             : std::numeric_limits<double>::lowest();
}

/// Return the mean of a product over the stream, weighted by the softmax of scores.
Result<OutletId> Loops::quotient(int id, OutletId scores, OutletId product, int axis) {
  const Fact score = first_frame(out_.fact(scores), axis);
  const Fact share = first_frame(out_.fact(product), axis);
  auto loop = draft_op<ops::Scan>();
  RILL_ASSIGN(Graph body, body_of(score, &share));
  loop->body = std::make_shared<const Graph>(std::move(body));
  loop->inputs = {{Kind::kScan, axis, 1},
                  {Kind::kScan, axis, 1},
                  {Kind::kState, 0, 1},
                  {Kind::kState, 0, 1},
                  {Kind::kState, 0, 1}};
  loop->outputs = {{1, true, axis, 1}, {2, true, axis, 1}};
  loop->state_results = {0, 1, 2};
  RILL_ASSIGN(const OutletId greatest, filled(id, "_greatest", score, least_score(score.dtype)));
  RILL_ASSIGN(const OutletId weights, filled(id, "_weights", summed(score), 0));
  RILL_ASSIGN(const OutletId weighed, filled(id, "_weighed", summed(share), 0));
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto sums, out_.add(str_cat(node.name, "_sums"), std::move(loop),
                                        {scores, product, greatest, weights, weighed}, node.line));
  OutletId divisor = sums[0];
  // Without frames, the sum is 0.
  const Dim& frames = out_.fact(product).dim(axis);
  if (!out_.scope.proves_ge(frames, Dim(1))) {
    RILL_ASSIGN(const OutletId none, count_of(id, ge(Dim(0), frames), share.rank()));
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
  // The sum may have more axes than the factors, from the weights.
  const Fact& whole = graph_.fact(graph_.node(id).inputs[0]);
  if (!(out_.fact(product).shape == whole.shape)) {
    RILL_ASSIGN(product, one(id, "_spread", make_op<ops::Broadcast>(whole.shape), {product}));
  }
  RILL_ASSIGN(const OutletId mean, quotient(id, mapped_.at(sum.scores), product, sum.axis));
  return one(id, "", make_op<ops::Cast>(whole.dtype), {mean});
}

/// Transpose an input of a product to the axes of its output, followed by the summed one.
Result<OutletId> Loops::arranged(int id, std::string_view suffix, OutletId wire,
                                 const ProductInput& axes) {
  std::vector<int64_t> perm;
  for (const int axis : axes.kept) {
    if (axis >= 0) perm.push_back(axis);
  }
  perm.push_back(axes.summed);
  const size_t kept = perm.size();
  for (int64_t axis = 0; axis < out_.fact(wire).rank(); ++axis) {
    if (!contains(perm, axis)) perm.push_back(axis);
  }
  const size_t all = perm.size();
  RILL_ASSIGN(wire, one(id, suffix, make_op<ops::Transpose>(std::move(perm)), {wire}));
  for (size_t axis = all; axis-- > kept;) {
    const auto last = static_cast<int64_t>(axis);
    RILL_ASSIGN(wire, one(id, suffix, make_op<ops::RmAxis>(last), {wire}));
  }
  for (size_t axis = 0; axis < axes.kept.size(); ++axis) {
    if (axes.kept[axis] >= 0) continue;
    const auto added = static_cast<int64_t>(axis);
    RILL_ASSIGN(wire, one(id, suffix, make_op<ops::AddAxis>(added), {wire}));
  }
  return wire;
}

Result<OutletId> Loops::weighed_frames(int id, const WeighedProduct& sum) {
  const Node& node = graph_.node(id);
  const int axis = node.outputs[0].rank();
  OutletId scores = mapped_.at(sum.scores);
  for (const OpPtr& move : sum.moves) {
    RILL_ASSIGN(scores, one(id, "_scores", move, {scores}));
  }
  RILL_ASSIGN(scores, arranged(id, "_scores", scores, sum.of_scores));
  RILL_ASSIGN(OutletId frames, arranged(id, "_frames", mapped_.at(sum.frames), sum.of_frames));
  auto spread = node.outputs[0].shape;
  spread.push_back(out_.fact(frames).dim(axis));
  if (!(out_.fact(frames).shape == spread)) {
    RILL_ASSIGN(frames, one(id, "_spread", make_op<ops::Broadcast>(spread), {frames}));
  }
  RILL_ASSIGN(OutletId mean, quotient(id, scores, frames, axis));
  RILL_ASSIGN(mean, one(id, "_mean", make_op<ops::RmAxis>(axis), {mean}));
  return one(id, "", make_op<ops::Cast>(node.outputs[0].dtype), {mean});
}

/// Return the number of frames as a tensor of the type of sums and of that rank.
Result<OutletId> Loops::count_of(int id, const Dim& frames, int rank) {
  RILL_ASSIGN(Tensor count,
              Tensor::of<Dim>(DType::kDim, std::vector<int64_t>(static_cast<size_t>(rank), 1),
                              std::vector<Dim>{max(Dim(0), frames)}));
  const Node& node = graph_.node(id);
  const OutletId constant = out_.add_const(
      str_cat(node.name, "_count"), std::make_shared<const Tensor>(std::move(count)), node.line);
  return one(id, "_count", make_op<ops::Cast>(kSums), {constant});
}

/// Return the sum of a product over the stream, weighted if there are scores.
Result<OutletId> Loops::sum_of(int id, const SquaredSum& sum, OutletId product) {
  if (!sum.scores) return total_of(id, sum.sum, product);
  const Fact& whole = graph_.fact(graph_.node(id).inputs[0]);
  RILL_ASSIGN(product, one(id, "_spread", make_op<ops::Broadcast>(whole.shape), {product}));
  return quotient(id, mapped_.at(*sum.scores), product, sum.sum.axis);
}

/// Sum terms over the axes of `sum`: fixed axes of each frame first, then the stream.
Result<OutletId> Loops::total_of(int id, const StreamSum& sum, OutletId terms) {
  if (sum.inner) {
    RILL_ASSIGN(terms, one(id, "_of_frame", sum.inner, {terms}));
  }
  return one(id, "_sum", graph_.node(id).op, {terms});
}

/// Return the sum of exp(x - c). A loop keeps the greatest exponent g so far and the sum of exp(x -
/// g); at the end, multiply it by exp(g - c). An infinite x counts as the largest float, whose
/// power is infinite too if c is finite.
Result<OutletId> Loops::powers(int id, const PowerSum& sum) {
  const int axis = sum.sum.axis;
  const Fact score = first_frame(out_.fact(mapped_.at(sum.exponents)), axis);
  auto loop = draft_op<ops::Scan>();
  RILL_ASSIGN(Graph body, body_of(score, nullptr));
  loop->body = std::make_shared<const Graph>(std::move(body));
  loop->inputs = {{Kind::kScan, axis, 1}, {Kind::kState, 0, 1}, {Kind::kState, 0, 1}};
  loop->outputs = {{0, true, axis, 1}, {1, true, axis, 1}};
  loop->state_results = {0, 1};
  Fact number = score;
  for (Dim& extent : number.shape) extent = Dim(1);
  RILL_ASSIGN(const OutletId limit, filled(id, "_most", number, -least_score(score.dtype)));
  RILL_ASSIGN(const OutletId exponents, combine(id, "_limited", ops::BinaryKind::kMin,
                                                mapped_.at(sum.exponents), limit));
  RILL_ASSIGN(const OutletId greatest, filled(id, "_greatest", score, least_score(score.dtype)));
  RILL_ASSIGN(const OutletId weights, filled(id, "_weights", summed(score), 0));
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto sums, out_.add(str_cat(node.name, "_powers"), std::move(loop),
                                        {exponents, greatest, weights}, node.line));
  RILL_ASSIGN(const OutletId most, one(id, "_wide", make_op<ops::Cast>(kSums), {sums[0]}));
  RILL_ASSIGN(const OutletId centre,
              one(id, "_centre", make_op<ops::Cast>(kSums), {mapped_.at(sum.centre)}));
  RILL_ASSIGN(OutletId scale, combine(id, "_apart", ops::BinaryKind::kSub, most, centre));
  RILL_ASSIGN(scale, one(id, "_scale", make_op<ops::Unary>(ops::UnaryKind::kExp), {scale}));
  RILL_ASSIGN(const OutletId own, combine(id, "_own", ops::BinaryKind::kMul, sums[1], scale));
  RILL_ASSIGN(const OutletId total, total_of(id, sum.sum, own));
  return one(id, "", make_op<ops::Cast>(node.outputs[0].dtype), {total});
}

/// Return the sum of (x - c)^2: the sum of x^2, minus 2 c times the sum of x, plus c^2 times the
/// number of terms.
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
    const Dim frames = max(Dim(0), graph_.fact(sum.frames).dim(sum.sum.axis));
    RILL_ASSIGN(const OutletId count, count_of(id, sum.sum.terms_per_frame * frames,
                                                graph_.node(id).outputs[0].rank()));
    RILL_ASSIGN(own, times("_own", own, count));
  }
  RILL_ASSIGN(rest, combine(id, "_rest", ops::BinaryKind::kAdd, rest, own));
  // Rounding may make a sum of zero squares slightly negative.
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
  if (const auto sum = power_sum(graph_, node, symbol_)) {
    RILL_ASSIGN(const OutletId out, powers(id, *sum));
    mapped_[{id, 0}] = out;
    return {};
  }
  if (const auto sum = weighed_sum(graph_, node, symbol_)) {
    RILL_ASSIGN(const OutletId out, weighed(id, *sum));
    mapped_[{id, 0}] = out;
    return {};
  }
  if (const auto sum = weighed_product(graph_, node, symbol_)) {
    RILL_ASSIGN(const OutletId out, weighed_frames(id, *sum));
    mapped_[{id, 0}] = out;
    return {};
  }
  std::vector<OutletId> inputs = mapped_.inputs_of(node);
  return append(id, node.op, inputs);
}

}  // namespace

bool is_weighed_sum(const Graph& graph, const Node& node, std::string_view symbol) {
  return weighed_sum(graph, node, symbol) || squared_sum(graph, node, symbol) ||
         power_sum(graph, node, symbol) || weighed_product(graph, node, symbol);
}

Result<Graph> loops_of_weighed_sums(Graph graph, std::string_view symbol) {
  const bool any =
      any_of(graph.nodes, [&](const Node& node) { return is_weighed_sum(graph, node, symbol); });
  if (!any) return graph;
  return Loops(graph, symbol).run();
}

}  // namespace rill::pulse
