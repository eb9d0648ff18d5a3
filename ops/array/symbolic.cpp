#include "ops/array/symbolic.h"

#include <algorithm>
#include <cmath>

#include "ops/array/axis_ops.h"
#include "ops/array/cast.h"
#include "ops/array/reshape.h"
#include "ops/math/binary.h"
#include "ops/math/dims.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

// Index arithmetic of real models is a handful of nodes deep.
constexpr int kMaxDepth = 24;

// Floats tell whole numbers apart up to here.
constexpr double kMostExact = 1 << 24;

// A bound has two comparisons: with zero, and with the extent.
constexpr int kMaxPresumptions = 4;

std::optional<Dim> valid(Dim dim) {
  return dim.valid() ? std::optional<Dim>(std::move(dim)) : std::nullopt;
}

std::optional<Dim> combined(BinaryKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case BinaryKind::kGe:
      return valid(ge(a, b));
    case BinaryKind::kGt:
      return valid(ge(a, b + Dim(1)));
    case BinaryKind::kLe:
      return valid(ge(b, a));
    case BinaryKind::kLt:
      return valid(ge(b, a + Dim(1)));
    case BinaryKind::kEq:
      return valid(eq(a, b));
    case BinaryKind::kNe:
      return valid(Dim(1) - eq(a, b));
    case BinaryKind::kAnd:
      return valid(a * b);
    case BinaryKind::kOr:
      return valid(a + b - a * b);
    default: {
      auto out = combine_dims(kind, a, b);
      return out.ok() ? std::optional<Dim>(std::move(out).value()) : std::nullopt;
    }
  }
}

class Tracer {
 public:
  explicit Tracer(const Graph& graph) : graph_(graph) {}

  std::optional<Dim> value(OutletId outlet, int depth) const {
    const Fact& fact = graph_.fact(outlet);
    if (fact.konst) {
      if (fact.konst->volume() != 1) return std::nullopt;
      if (is_float(fact.dtype)) return whole_number(*fact.konst);
      auto dim = element_as_dim(*fact.konst, 0);
      return dim.ok() ? std::optional<Dim>(std::move(dim).value()) : std::nullopt;
    }
    const Node& node = graph_.node(outlet.node);
    if (depth == 0 || node.inputs.empty()) return std::nullopt;
    for (const OutletId& input : node.inputs) {
      if (!(volume(graph_.fact(input).shape) == Dim(1))) return std::nullopt;
    }
    return of_node(node, depth - 1);
  }

 private:
  /// Exporters compute sizes in floats too. As long as nothing is divided, they stay whole.
  static std::optional<Dim> whole_number(const Tensor& tensor) {
    const auto value = element_as_double(tensor, 0);
    if (!value.ok() || std::abs(*value) > kMostExact) return std::nullopt;
    const auto whole = static_cast<int64_t>(*value);
    return static_cast<double>(whole) == *value ? std::optional<Dim>(Dim(whole)) : std::nullopt;
  }

  static bool stays_whole(BinaryKind kind) {
    return kind != BinaryKind::kDiv && kind != BinaryKind::kPow;
  }

  std::optional<Dim> of_node(const Node& node, int depth) const {
    const auto first = value(node.inputs[0], depth);
    if (!first) return std::nullopt;
    const Op& op = *node.op;
    if (op.as<Cast>() || op.as<AddAxis>() || op.as<RmAxis>() || op.as<Reshape>()) return first;
    if (const auto* unary = op.as<Unary>()) {
      if (unary->kind_of == UnaryKind::kNeg) return valid(-*first);
      if (unary->kind_of == UnaryKind::kNot) return valid(Dim(1) - *first);
      return std::nullopt;
    }
    if (node.inputs.size() < 2) return std::nullopt;
    const auto second = value(node.inputs[1], depth);
    if (!second) return std::nullopt;
    if (const auto* binary = op.as<Binary>()) {
      if (is_float(node.outputs[0].dtype) && !stays_whole(binary->kind_of)) return std::nullopt;
      return combined(binary->kind_of, *first, *second);
    }
    if (!op.as<Select>()) return std::nullopt;
    const auto third = value(node.inputs[2], depth);
    if (!third) return std::nullopt;
    return valid(*first * (*second - *third) + *third);
  }

  const Graph& graph_;
};

}  // namespace

std::optional<Dim> symbolic_value(const Graph& graph, OutletId outlet) {
  return Tracer(graph).value(outlet, kMaxDepth);
}

namespace {

bool is_size_of_a_wire(const Graph& graph, const Dim& dim) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const Fact& fact) {
      return std::any_of(fact.shape.begin(), fact.shape.end(), [&](const Dim& each) {
        return !each.is_const() && graph.scope.simplify(each - dim) == Dim(0);
      });
    });
  });
}

/// What to assert so that one open part of a bound is decided.
std::optional<std::string> presumption(const Graph& graph, const Dim& bound, const Dim& extent) {
  std::optional<std::string> out;
  // Arguments come first: what stands around them may follow.
  const auto look = [&](const DimAtom& atom, const auto& self) -> void {
    for (const Dim& arg : atom.args) {
      rebuild(arg, [&](const DimAtom& inner) -> std::optional<Dim> {
        if (!out) self(inner, self);
        return Dim(0);
      });
    }
    if (out) return;
    if (atom.kind == DimAtom::Kind::kGe && extent.is_const()) {
      out = str_cat(atom.args[0], " >= ", atom.args[1]);
    } else if (atom.kind == DimAtom::Kind::kGe) {
      const Dim size = atom.args[1] - atom.args[0];
      if (is_size_of_a_wire(graph, size)) out = str_cat(size, " >= 1");
    } else if (atom.kind == DimAtom::Kind::kMin && extent.is_const()) {
      const auto rows = std::find(atom.args.begin(), atom.args.end(), extent);
      if (rows == atom.args.end()) return;
      for (const Dim& arg : atom.args) {
        if (!(arg == extent)) out = str_cat(arg, " <= ", extent);
      }
    }
  };
  rebuild(bound, [&](const DimAtom& atom) -> std::optional<Dim> {
    if (!out) look(atom, look);
    return Dim(0);
  });
  return out;
}

/// Whether an assertion holds for some sizes.
bool can_hold(const std::string& text, const SymbolScope& scope) {
  SymbolScope one = scope;
  const size_t before = one.assertions().size();
  if (!one.assert_text(text).ok() || one.assertions().size() == before) return false;
  const std::vector<Dim>& claims = one.assertions().back().non_negative;
  for (const int64_t size : {1, 16, 256, 4096, 65536}) {
    Bindings bindings;
    for (const std::string& symbol : one.symbols()) bindings.emplace_back(symbol, size);
    const auto holds = [&](const Dim& claim) { return claim.eval(bindings).value_or(-1) >= 0; };
    if (std::all_of(claims.begin(), claims.end(), holds)) return true;
  }
  return false;
}

}  // namespace

Dim presumed(Graph& graph, const Dim& bound, const Dim& extent) {
  Dim out = graph.scope.simplify(bound);
  for (int turn = 0; turn < kMaxPresumptions && !out.is_const(); ++turn) {
    const auto text = presumption(graph, out, extent);
    if (!text || !can_hold(*text, graph.scope) || !graph.scope.assert_text(*text).ok()) break;
    Dim next = graph.scope.simplify(out);
    if (next == out) break;
    out = std::move(next);
  }
  return out;
}

}  // namespace rill::ops
