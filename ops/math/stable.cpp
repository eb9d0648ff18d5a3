#include "ops/math/stable.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

/// The node that makes a wire, up to slices and other operators that only move frames.
struct Origin {
  const Node* node = nullptr;
  std::vector<const Op*> moves;  ///< the last one first
};

bool only_moves(const Op& op) {
  return op.traits().moves == Moves::kFrames || op.name() == Slice(0, 0, 0).name();
}

Origin origin_of(const Graph& graph, OutletId wire) {
  Origin origin;
  for (;;) {
    origin.node = &graph.node(wire.node);
    if (!only_moves(*origin.node->op)) return origin;
    origin.moves.push_back(origin.node->op.get());
    wire = origin.node->inputs[0];
  }
}

bool is_made_by(const Origin& origin, UnaryKind kind) {
  return origin.node->op->name() == Unary(kind).name();
}
bool is_sum(const Origin& origin) {
  return origin.node->op->name() == Binary(BinaryKind::kAdd).name();
}

/// Move the frames of an input of the node like those of its output.
Result<OutletId> moved_input(Rewrite& rewrite, const Origin& origin, size_t input,
                             std::string_view suffix = "_moved") {
  OutletId wire = rewrite.mapped(origin.node->inputs[input]);
  for (size_t i = origin.moves.size(); i-- > 0;) {
    const std::string name = str_cat(rewrite.node().name, suffix, i);
    RILL_ASSIGN(wire, rewrite.wire1(name, origin.moves[i]->clone(), {wire}));
  }
  return wire;
}

bool is_all(const Fact& fact, double number) {
  const auto found = uniform_number(fact.konst);
  return found && *found == number;
}

/// The input to which 1 is added, if the node is such a sum.
std::optional<size_t> beside_one(const Graph& graph, const Origin& origin) {
  if (!is_sum(origin)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const bool kept = graph.fact(origin.node->inputs[i]).shape == origin.node->outputs[0].shape;
    if (kept && is_all(graph.fact(origin.node->inputs[1 - i]), 1.0)) return i;
  }
  return std::nullopt;
}

/// Find the nodes of one kind whose results are added, up to moves; empty where one is stretched or
/// of another kind.
std::vector<Origin> sides_of(const Graph& graph, const Origin& sum, UnaryKind kind) {
  std::vector<Origin> sides;
  if (!is_sum(sum)) return sides;
  for (const OutletId side : sum.node->inputs) {
    Origin origin = origin_of(graph, side);
    const bool whole = graph.fact(side).shape == sum.node->outputs[0].shape;
    if (!whole || !is_made_by(origin, kind)) return {};
    origin.moves.insert(origin.moves.begin(), sum.moves.begin(), sum.moves.end());
    sides.push_back(std::move(origin));
  }
  return sides;
}

/// Replace the node by log(exp(a) + exp(b)) = max(a, b) + softplus(min(a, b) - max(a, b)). If a
/// and b are the same infinity, the result is that infinity.
Status replace_by_log_of_powers(Rewrite& rewrite, OutletId a, OutletId b) {
  const std::string& name = rewrite.node().name;
  const auto binary = [&](std::string_view suffix, BinaryKind kind, OutletId x, OutletId y) {
    return rewrite.wire1(str_cat(name, suffix), make_op<Binary>(kind), {x, y});
  };
  RILL_ASSIGN(const OutletId most, binary("_most", BinaryKind::kMax, a, b));
  RILL_ASSIGN(const OutletId least, binary("_least", BinaryKind::kMin, a, b));
  RILL_ASSIGN(OutletId apart, binary("_apart", BinaryKind::kSub, least, most));
  const Fact& fact = rewrite.new_fact(apart);
  const Tensor infinity = Tensor::scalar(-std::numeric_limits<float>::infinity());
  RILL_ASSIGN(Tensor end, cast(infinity, fact.dtype));
  RILL_ASSIGN(end, end.reshaped(std::vector<int64_t>(static_cast<size_t>(fact.rank()), 1)));
  const OutletId least_apart = rewrite.konst(str_cat(name, "_end"), std::move(end));
  RILL_ASSIGN(apart, binary("_known", BinaryKind::kMaxNumber, apart, least_apart));
  RILL_ASSIGN(const OutletId more, rewrite.wire1(str_cat(name, "_softplus"),
                                                 make_op<Unary>(UnaryKind::kSoftplus), {apart}));
  return rewrite.replace_by(make_op<Binary>(BinaryKind::kAdd), {most, more});
}

/// Return whether two differences have one subtrahend.
bool have_one_subtrahend(const Graph& graph, const std::vector<Origin>& sides) {
  const Node* nodes[2];
  for (size_t i = 0; i < 2; ++i) {
    const Origin origin = origin_of(graph, sides[i].node->inputs[0]);
    if (!origin.moves.empty() || origin.node->op->name() != Binary(BinaryKind::kSub).name()) {
      return false;
    }
    nodes[i] = origin.node;
  }
  return nodes[0]->inputs[1] == nodes[1]->inputs[1];
}

/// log(x + 1), log(exp(x) + 1), or log(exp(a) + exp(b)).
Status stable_log(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  const Origin sum = origin_of(graph, rewrite.input(0));
  if (is_made_by(sum, UnaryKind::kSigmoid)) {
    RILL_ASSIGN(OutletId x, moved_input(rewrite, sum, 0));
    const std::string& name = rewrite.node().name;
    RILL_ASSIGN(x, rewrite.wire1(name + "_neg", make_op<Unary>(UnaryKind::kNeg), {x}));
    RILL_ASSIGN(x, rewrite.wire1(name + "_softplus", make_op<Unary>(UnaryKind::kSoftplus), {x}));
    return rewrite.replace_by(make_op<Unary>(UnaryKind::kNeg), {x});
  }
  const std::vector<Origin> powers = sides_of(graph, sum, UnaryKind::kExp);
  if (!powers.empty()) {
    // `stable_sum` takes all of m + log(exp(a - m) + exp(b - m)).
    if (have_one_subtrahend(graph, powers)) return {};
    RILL_ASSIGN(const OutletId a, moved_input(rewrite, powers[0], 0, "_a"));
    RILL_ASSIGN(const OutletId b, moved_input(rewrite, powers[1], 0, "_b"));
    return replace_by_log_of_powers(rewrite, a, b);
  }
  const auto other = beside_one(graph, sum);
  if (!other) return {};
  Origin power = origin_of(graph, sum.node->inputs[*other]);
  if (is_made_by(power, UnaryKind::kExp)) {
    power.moves.insert(power.moves.begin(), sum.moves.begin(), sum.moves.end());
    RILL_ASSIGN(const OutletId x, moved_input(rewrite, power, 0));
    return rewrite.replace_by(make_op<Unary>(UnaryKind::kSoftplus), {x});
  }
  RILL_ASSIGN(const OutletId x, moved_input(rewrite, sum, *other));
  return rewrite.replace_by(make_op<Unary>(UnaryKind::kLog1p), {x});
}

/// sqrt(a^2 + b^2) of two wires of one shape.
Status stable_root(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  const Origin sum = origin_of(graph, rewrite.input(0));
  const std::vector<Origin> squares = sides_of(graph, sum, UnaryKind::kSquare);
  if (squares.empty()) return {};
  RILL_ASSIGN(const OutletId a, moved_input(rewrite, squares[0], 0, "_a"));
  RILL_ASSIGN(const OutletId b, moved_input(rewrite, squares[1], 0, "_b"));
  return rewrite.replace_by(make_op<Binary>(BinaryKind::kHypot), {a, b});
}

}  // namespace

Status save_stable(SaveCtx& ctx, UnaryKind kind, const std::string& x) {
  const Fact& fact = ctx.graph().fact(ctx.node().inputs[0]);
  RILL_ASSIGN(const Tensor number, cast(Tensor::scalar(1.0F), fact.dtype));
  const std::vector<int64_t> units(static_cast<size_t>(fact.rank()), 1);
  RILL_ASSIGN(const Tensor aligned, number.reshaped(units));
  RILL_ASSIGN(const std::string literal, ctx.literal(aligned));
  // A constant stands where it is used first.
  if (kind == UnaryKind::kLog1p) {
    const std::string one = ctx.temp("one", literal);
    ctx.assign(str_cat("log(", ctx.temp("sum", str_cat("add(", x, ", ", one, ")")), ")"));
  } else {
    const std::string power = ctx.temp("power", str_cat("exp(", x, ")"));
    ctx.assign(str_cat("sub(", power, ", ", ctx.temp("one", literal), ")"));
  }
  return {};
}

Status stable_function(UnaryKind kind, Rewrite& rewrite) {
  if (!is_float(rewrite.in(0).dtype)) return {};
  if (kind == UnaryKind::kLn) return stable_log(rewrite);
  if (kind == UnaryKind::kSqrt) return stable_root(rewrite);
  return {};
}

Status stable_difference(BinaryKind kind, double second, Rewrite& rewrite) {
  const bool less_one = (kind == BinaryKind::kSub && second == 1.0) ||
                        (kind == BinaryKind::kAdd && second == -1.0);
  if (!less_one || !is_float(rewrite.in(0).dtype)) return {};
  const Origin power = origin_of(rewrite.old_graph(), rewrite.input(0));
  if (!is_made_by(power, UnaryKind::kExp)) return {};
  RILL_ASSIGN(const OutletId x, moved_input(rewrite, power, 0));
  return rewrite.replace_by(make_op<Unary>(UnaryKind::kExpm1), {x});
}

Status stable_sum(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  if (!is_float(rewrite.in(0).dtype)) return {};
  for (int i = 0; i < 2; ++i) {
    const Node& log = rewrite.producer(i);
    if (log.op->name() != Unary(UnaryKind::kLn).name()) continue;
    const std::vector<Origin> powers =
        sides_of(graph, origin_of(graph, log.inputs[0]), UnaryKind::kExp);
    if (powers.empty() || !powers[0].moves.empty() || !powers[1].moves.empty()) continue;
    if (!have_one_subtrahend(graph, powers)) continue;
    const Node& first = graph.node(powers[0].node->inputs[0].node);
    const Node& second = graph.node(powers[1].node->inputs[0].node);
    if (first.inputs[1] != rewrite.input(1 - i)) continue;
    const auto& shape = rewrite.out().shape;
    if (graph.fact(first.inputs[0]).shape != shape || graph.fact(second.inputs[0]).shape != shape) {
      continue;
    }
    return replace_by_log_of_powers(rewrite, rewrite.mapped(first.inputs[0]),
                                    rewrite.mapped(second.inputs[0]));
  }
  return {};
}

}  // namespace rill::ops
