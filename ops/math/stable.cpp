#include "ops/math/stable.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/tensor/uniform.h"
#include "ops/array/cast.h"
#include "ops/array/slice.h"
#include "ops/built.h"
#include "ops/math/binary.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"

namespace rill::ops {

bool only_moves(const Op& op) {
  return op.traits().moves == Moves::kFrames || op.name() == Slice(0, 0, 0).name();
}

namespace {

/// The producer of a wire, upstream of operators that only move frames.
struct Origin {
  const Node* node = nullptr;
  std::vector<const Op*> moves;  ///< from the wire to the producer
};

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

/// Return an input of the node `origin`, moved like the output of that node.
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

/// Return the index of the other operand if the node adds 1 to it.
std::optional<size_t> operand_added_to_one(const Graph& graph, const Origin& origin) {
  if (!is_sum(origin)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const bool kept = graph.fact(origin.node->inputs[i]).shape == origin.node->outputs[0].shape;
    if (kept && is_all(graph.fact(origin.node->inputs[1 - i]), 1.0)) return i;
  }
  return std::nullopt;
}

/// Return the producers of both operands of a sum, if both are nodes of this kind and have the
/// shape of the sum; else an empty list.
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
  RILL_ASSIGN(OutletId difference, binary("_apart", BinaryKind::kSub, least, most));
  const Fact& fact = rewrite.new_fact(difference);
  const Tensor infinity = Tensor::scalar(-std::numeric_limits<float>::infinity());
  RILL_ASSIGN(Tensor end, cast(infinity, fact.dtype));
  RILL_ASSIGN(end, end.reshaped(std::vector<int64_t>(static_cast<size_t>(fact.rank()), 1)));
  const OutletId least_difference = rewrite.konst(str_cat(name, "_end"), std::move(end));
  RILL_ASSIGN(difference, binary("_known", BinaryKind::kMaxNumber, difference, least_difference));
  RILL_ASSIGN(const OutletId more,
              rewrite.wire1(str_cat(name, "_softplus"), make_op<Unary>(UnaryKind::kSoftplus),
                            {difference}));
  return rewrite.replace_by(make_op<Binary>(BinaryKind::kAdd), {most, more});
}

/// Return whether two differences have the same subtrahend.
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

/// Replace log(sigmoid(x)), log(x + 1), log(exp(x) + 1), or log(exp(a) + exp(b)).
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
    // `stable_sum` replaces m + log(exp(a - m) + exp(b - m)) as a whole.
    if (have_one_subtrahend(graph, powers)) return {};
    RILL_ASSIGN(const OutletId a, moved_input(rewrite, powers[0], 0, "_a"));
    RILL_ASSIGN(const OutletId b, moved_input(rewrite, powers[1], 0, "_b"));
    return replace_by_log_of_powers(rewrite, a, b);
  }
  const auto other = operand_added_to_one(graph, sum);
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

/// Replace sqrt(a^2 + b^2) of two wires with the same shape.
Status stable_root(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  const Origin sum = origin_of(graph, rewrite.input(0));
  const std::vector<Origin> squares = sides_of(graph, sum, UnaryKind::kSquare);
  if (squares.empty()) return {};
  RILL_ASSIGN(const OutletId a, moved_input(rewrite, squares[0], 0, "_a"));
  RILL_ASSIGN(const OutletId b, moved_input(rewrite, squares[1], 0, "_b"));
  return rewrite.replace_by(make_op<Binary>(BinaryKind::kHypot), {a, b});
}

bool same_operand(const Graph& graph, OutletId a, OutletId b) {
  if (a == b) return true;
  const auto number = uniform_number(graph.fact(a).konst);
  return number && number == uniform_number(graph.fact(b).konst);
}

const Node* made_by(const Graph& graph, OutletId wire, UnaryKind kind) {
  const Node& node = graph.node(wire.node);
  return node.op->name() == Unary(kind).name() ? &node : nullptr;
}

const Node* made_by(const Graph& graph, OutletId wire, BinaryKind kind) {
  const Node& node = graph.node(wire.node);
  return node.op->name() == Binary(kind).name() ? &node : nullptr;
}

/// Return whether a wire is a / b, or a times the inverse of a power of two.
bool is_quotient(const Graph& graph, OutletId wire, OutletId a, OutletId b) {
  const Node* over = made_by(graph, wire, BinaryKind::kDiv);
  if (over) return over->inputs[0] == a && same_operand(graph, over->inputs[1], b);
  const Node* times = made_by(graph, wire, BinaryKind::kMul);
  if (!times || times->inputs[0] != a) return false;
  const auto by = uniform_number(graph.fact(times->inputs[1]).konst);
  const auto divisor = uniform_number(graph.fact(b).konst);
  int exponent = 0;
  return by && divisor && *by * *divisor == 1.0 && std::abs(std::frexp(*by, &exponent)) == 0.5;
}

/// Return whether a wire is 0, or a product with 0.
bool is_zero(const Graph& graph, OutletId wire) {
  if (is_all(graph.fact(wire), 0.0)) return true;
  const Node* times = made_by(graph, wire, BinaryKind::kMul);
  return times && is_all(graph.fact(times->inputs[1]), 0.0);
}

const Node* selection(const Graph& graph, OutletId wire) {
  const Node& node = graph.node(wire.node);
  return node.op->name() == Select().name() ? &node : nullptr;
}

/// Return x if the condition is x < 0; nothing for other conditions.
std::optional<OutletId> below_zero(const Graph& graph, OutletId condition) {
  const Node* less = made_by(graph, condition, BinaryKind::kLt);
  return less && is_zero(graph, less->inputs[1]) ? std::optional(less->inputs[0]) : std::nullopt;
}

std::optional<OutletId> above_zero(const Graph& graph, OutletId condition) {
  const Node* more = made_by(graph, condition, BinaryKind::kGt);
  if (!more) more = made_by(graph, condition, BinaryKind::kGe);
  return more && is_zero(graph, more->inputs[1]) ? std::optional(more->inputs[0]) : std::nullopt;
}

/// Return whether a wire is a `start` plus `sign` times pi, up to the precision of its type.
bool is_shifted_by_pi(const Graph& graph, OutletId wire, double sign, const auto& is_start) {
  for (const BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kSub}) {
    const Node* sum = made_by(graph, wire, kind);
    if (!sum || !is_start(sum->inputs[0])) continue;
    const auto number = uniform_number(graph.fact(sum->inputs[1]).konst);
    const double turn = kind == BinaryKind::kAdd ? sign : -sign;
    return number && std::abs(*number - turn * std::numbers::pi) < 1e-3;
  }
  return false;
}

/// Return whether a wire is a `start` plus pi for x >= 0, and minus pi for x < 0.
bool is_shifted_by_side(const Graph& graph, OutletId wire, OutletId x, const auto& is_start) {
  const Node* choice = selection(graph, wire);
  if (!choice) return false;
  const bool below = below_zero(graph, choice->inputs[0]) == x;
  if (!below && above_zero(graph, choice->inputs[0]) != x) return false;
  return is_shifted_by_pi(graph, choice->inputs[below ? 2 : 1], 1, is_start) &&
         is_shifted_by_pi(graph, choice->inputs[below ? 1 : 2], -1, is_start);
}

/// Return the node x / y if the wire is atan(x / y); else null.
const Node* ratio_of_angle(const Graph& graph, OutletId wire) {
  const Node* angle = made_by(graph, wire, UnaryKind::kAtan);
  return angle ? made_by(graph, angle->inputs[0], BinaryKind::kDiv) : nullptr;
}

Status replace_by_angle(Rewrite& rewrite, const Node& ratio) {
  return rewrite.replace_by(make_op<Binary>(BinaryKind::kAtan2),
                            {rewrite.mapped(ratio.inputs[0]), rewrite.mapped(ratio.inputs[1])});
}

/// Replace atan(x / y) + (y < 0 ? (x < 0 ? -pi : pi) : 0).
Status angle_of_sum(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  for (int i = 0; i < 2; ++i) {
    const Node* ratio = ratio_of_angle(graph, rewrite.input(i));
    const Node* turn = ratio ? selection(graph, rewrite.input(1 - i)) : nullptr;
    if (!turn || below_zero(graph, turn->inputs[0]) != ratio->inputs[1]) continue;
    const auto is_start = [&](OutletId wire) { return is_zero(graph, wire); };
    if (!is_zero(graph, turn->inputs[2])) continue;
    if (!is_shifted_by_side(graph, turn->inputs[1], ratio->inputs[0], is_start)) continue;
    return replace_by_angle(rewrite, *ratio);
  }
  return {};
}

}  // namespace

Status stable_rest(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  const Node* product = made_by(graph, rewrite.input(1), BinaryKind::kMul);
  if (!product || !is_float(rewrite.in(0).dtype)) return {};
  const OutletId a = rewrite.input(0);
  for (size_t i = 0; i < 2; ++i) {
    const OutletId b = product->inputs[1 - i];
    OutletId floor = product->inputs[i];
    BinaryKind kind = BinaryKind::kRemainder;
    if (const Node* choice = selection(graph, floor)) {
      const auto quotient = below_zero(graph, choice->inputs[0]);
      const Node* up = made_by(graph, choice->inputs[1], UnaryKind::kCeil);
      if (!quotient || !up || up->inputs[0] != *quotient) continue;
      floor = choice->inputs[2];
      kind = BinaryKind::kFmod;
      const Node* down = made_by(graph, floor, UnaryKind::kFloor);
      if (!down || down->inputs[0] != *quotient) continue;
    }
    const Node* down = made_by(graph, floor, UnaryKind::kFloor);
    if (!down || !is_quotient(graph, down->inputs[0], a, b)) continue;
    return rewrite.replace_by(make_op<Binary>(kind), {rewrite.mapped(a), rewrite.mapped(b)});
  }
  return {};
}

Status stable_angle(Rewrite& rewrite) {
  if (!is_float(rewrite.out().dtype)) return {};
  const Graph& graph = rewrite.old_graph();
  const OutletId base = rewrite.input(2);
  const Node* ratio = ratio_of_angle(graph, base);
  if (!ratio || below_zero(graph, rewrite.input(0)) != ratio->inputs[1]) return {};
  const auto is_start = [&](OutletId wire) { return wire == base; };
  if (!is_shifted_by_side(graph, rewrite.input(1), ratio->inputs[0], is_start)) return {};
  return replace_by_angle(rewrite, *ratio);
}

Status save_stable(SaveCtx& ctx, UnaryKind kind, const std::string& x) {
  const Fact& fact = ctx.graph().fact(ctx.node().inputs[0]);
  RILL_ASSIGN(const Tensor number, cast(Tensor::scalar(1.0F), fact.dtype));
  const std::vector<int64_t> units(static_cast<size_t>(fact.rank()), 1);
  RILL_ASSIGN(const Tensor aligned, number.reshaped(units));
  RILL_ASSIGN(const std::string literal, ctx.literal(aligned));
  // Constants are written in the order of their first use.
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
  const bool less_one =
      (kind == BinaryKind::kSub && second == 1.0) || (kind == BinaryKind::kAdd && second == -1.0);
  if (!less_one || !is_float(rewrite.in(0).dtype)) return {};
  const Origin power = origin_of(rewrite.old_graph(), rewrite.input(0));
  if (!is_made_by(power, UnaryKind::kExp)) return {};
  RILL_ASSIGN(const OutletId x, moved_input(rewrite, power, 0));
  return rewrite.replace_by(make_op<Unary>(UnaryKind::kExpm1), {x});
}

Status stable_sum(Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  if (!is_float(rewrite.in(0).dtype)) return {};
  RILL_TRY(angle_of_sum(rewrite));
  if (rewrite.replacement()) return {};
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
  if constexpr (built("reduce")) return stable_shift(rewrite);
  return {};
}

}  // namespace rill::ops
