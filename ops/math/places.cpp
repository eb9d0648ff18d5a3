#include "ops/math/places.h"

#include "ops/array/broadcast.h"
#include "ops/array/index_run.h"
#include "ops/array/spread.h"
#include "ops/array/symbolic.h"
#include "ops/array/walk.h"
#include "ops/math/binary.h"

namespace rill::ops {
namespace {

/// The maximum number of nodes between a comparison and the limit on one of its sides.
constexpr int kMostSteps = 8;

bool is_size(DType dtype) { return dtype == DType::kDim || is_number(dtype); }

/// Compares values that depend only on sizes and on the positions of elements.
class PlaceComparison {
 public:
  explicit PlaceComparison(const Graph& graph) : graph_(graph), scope_(graph.scope) {}

  /// Return the constant result of a comparison; nothing if it varies or is unknown.
  std::optional<bool> decide(BinaryKind kind, OutletId a, OutletId b) {
    // Equal shapes: elements are compared at equal positions. Other shapes: any elements may be
    // compared.
    if (graph_.fact(a).shape == graph_.fact(b).shape) {
      if (const auto found = decide(kind, a, b, true)) return found;
    }
    return decide(kind, repeated_wire(graph_, a).value_or(a), repeated_wire(graph_, b).value_or(b),
                  false);
  }

 private:
  std::optional<bool> decide(BinaryKind kind, OutletId a, OutletId b, bool meet) {
    const auto left = value_of(a, meet ? "rill_place" : "rill_left_place");
    if (!left) return std::nullopt;
    const auto right = value_of(b, meet ? "rill_place" : "rill_right_place");
    return right ? decide(kind, *left, *right) : std::nullopt;
  }

  /// Return the value of an element as a function of its position, and assert the range of that
  /// position.
  std::optional<Dim> value_of(OutletId wire, std::string_view name) {
    const Fact& fact = graph_.fact(wire);
    if (!is_size(fact.dtype)) return std::nullopt;
    auto out = positional_value(graph_, wire, name);
    if (!out || !out->mentions(name)) return out;
    const Dim last = volume(fact.shape) - Dim(1);
    if (!last.valid() || !scope_.assert_text(str_cat(name, " <= ", last)).ok()) {
      return std::nullopt;
    }
    take_as_positive(last);
    return out;
  }

  /// Assert that the last position is >= 0, and so is its dividend if it is a quotient: an empty
  /// list has nothing to compare.
  void take_as_positive(const Dim& last) {
    const DimSum* sum = last.sum();
    const bool alone = sum && sum->terms.size() == 1 && sum->terms[0].coefficient == 1 &&
                       sum->terms[0].factors.size() == 1;
    if (!alone) return;
    const DimAtom& only = *sum->terms[0].factors[0];
    Dim least = last;
    if (only.kind == DimAtom::Kind::kDiv) {
      least = only.args[0] + Dim(sum->constant) * Dim(only.divisor);
    }
    if (least.valid()) (void)scope_.assert_text(str_cat(least, " >= 0"));
  }

  std::optional<bool> decide(BinaryKind kind, const Dim& a, const Dim& b) const {
    const Dim left = scope_.simplify(a);
    const Dim right = scope_.simplify(b);
    const auto proves = [&](const Dim& more, const Dim& less, bool yes) -> std::optional<bool> {
      if (scope_.proves_ge(more, less)) return yes;
      if (scope_.proves_ge(less, more + Dim(1))) return !yes;
      return std::nullopt;
    };
    switch (kind) {
      case BinaryKind::kLt: return proves(left, right, false);
      case BinaryKind::kGe: return proves(left, right, true);
      case BinaryKind::kGt: return proves(right, left, false);
      case BinaryKind::kLe: return proves(right, left, true);
      case BinaryKind::kEq: return equal(left, right);
      case BinaryKind::kNe: {
        const auto same = equal(left, right);
        return same ? std::optional(!*same) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  std::optional<bool> equal(const Dim& left, const Dim& right) const {
    if (scope_.simplify(left - right) == Dim(0)) return true;
    const bool differs =
        scope_.proves_ge(left, right + Dim(1)) || scope_.proves_ge(right, left + Dim(1));
    return differs ? std::optional(false) : std::nullopt;
  }

  const Graph& graph_;
  SymbolScope scope_;
};

bool is_least(BinaryKind kind) {
  return kind == BinaryKind::kMin || kind == BinaryKind::kMinNumber;
}
bool is_most(BinaryKind kind) {
  return kind == BinaryKind::kMax || kind == BinaryKind::kMaxNumber;
}

BinaryKind swapped(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kLt: return BinaryKind::kGt;
    case BinaryKind::kLe: return BinaryKind::kGe;
    case BinaryKind::kGt: return BinaryKind::kLt;
    default: return BinaryKind::kLe;
  }
}

/// A minimum or maximum upstream of an input of a comparison, across nodes that only move elements.
struct Limited {
  std::vector<int> between;  ///< nodes from the comparison up to the limit
  int node = -1;
};

std::optional<Limited> limit_upstream(const Graph& graph, OutletId wire) {
  Limited out;
  for (int step = 0; step < kMostSteps; ++step) {
    const Node& node = graph.node(wire.node);
    const auto* op = node.op->as<Binary>();
    if (op && (is_least(op->kind_of) || is_most(op->kind_of))) {
      out.node = wire.node;
      return out;
    }
    const bool shows = node.op->traits().keeps_order || repeated_wire(graph, wire);
    if (node.inputs.size() != 1 || !shows) return std::nullopt;
    out.between.push_back(wire.node);
    wire = node.inputs[0];
  }
  return std::nullopt;
}

/// Compare input i without its limit: read input `kept` of the limit, through copies of the nodes
/// between.
Status without_limit(Rewrite& rewrite, int i, const Limited& limited, int kept) {
  const Graph& graph = rewrite.old_graph();
  OutletId wire = rewrite.mapped(graph.node(limited.node).inputs[static_cast<size_t>(kept)]);
  for (size_t at = limited.between.size(); at-- > 0;) {
    const Node& node = graph.node(limited.between[at]);
    RILL_ASSIGN(wire, rewrite.wire1(node.name + "_open", node.op->clone(), {wire}));
  }
  std::vector<OutletId> inputs = rewrite.mapped_inputs(rewrite.node());
  inputs[static_cast<size_t>(i)] = wire;
  return rewrite.replace_by(rewrite.node().op->clone(), inputs);
}

/// Replace `x < min(y, c)` by `x < y` if `x < c` holds everywhere, and the same for other
/// comparisons.
Status drop_limit(BinaryKind kind, Rewrite& rewrite, int i) {
  const Graph& graph = rewrite.old_graph();
  // A limit of floats may replace a NaN, so it is never redundant.
  if (is_float(rewrite.in(i).dtype)) return {};
  const auto limited = limit_upstream(graph, rewrite.input(i));
  if (!limited) return {};
  const Node& node = graph.node(limited->node);
  // Put the limit on the right side of the comparison.
  const BinaryKind compared = i == 1 ? kind : swapped(kind);
  const bool below = compared == BinaryKind::kLt || compared == BinaryKind::kLe;
  const bool holds = below == is_least(static_cast<const Binary&>(*node.op).kind_of);
  for (const int bound : {1, 0}) {
    const OutletId limit = node.inputs[static_cast<size_t>(bound)];
    const OutletId kept = node.inputs[static_cast<size_t>(1 - bound)];
    if (volume(graph.fact(limit).shape) != Dim(1)) continue;
    if (graph.fact(kept).shape != node.outputs[0].shape) continue;
    PlaceComparison comparison(graph);
    if (comparison.decide(compared, rewrite.input(1 - i), limit) != holds) continue;
    return without_limit(rewrite, i, *limited, 1 - bound);
  }
  return {};
}

}  // namespace

Status compare_places(BinaryKind kind, Rewrite& rewrite) {
  const DType dtype = rewrite.in(0).dtype;
  const bool ordered = kind != BinaryKind::kEq && kind != BinaryKind::kNe;
  const bool compares = is_comparison(kind) && (ordered || counts_rows(dtype));
  if (!compares || rewrite.fusing() || !is_size(dtype)) return {};
  PlaceComparison comparison(rewrite.old_graph());
  if (const auto truth = comparison.decide(kind, rewrite.input(0), rewrite.input(1))) {
    return replace_by_repeated(rewrite, Tensor::scalar(*truth));
  }
  if (!ordered) return {};
  for (const int i : {0, 1}) {
    RILL_TRY(drop_limit(kind, rewrite, i));
    if (rewrite.replacement()) return {};
  }
  return {};
}

}  // namespace rill::ops
