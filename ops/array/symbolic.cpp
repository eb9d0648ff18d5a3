#include "ops/array/symbolic.h"

#include <algorithm>
#include <cmath>

#include "core/dim/bound.h"
#include "ops/array/cast.h"
#include "ops/array/range.h"
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

// Keeps products of divisors far from overflow; sizes are divided by strides and rates.
constexpr int64_t kMostDivisor = int64_t{1} << 20;

std::optional<Dim> valid(Dim dim) {
  return dim.valid() ? std::optional<Dim>(std::move(dim)) : std::nullopt;
}

/// A size on its way through floats: `number` over `divisor`, which is positive. What floats make
/// of it on the way is the same wherever the exact value is a whole number, and lies between the
/// same whole numbers elsewhere, as long as sizes are below 2^24: rounding up or down is exact.
struct Ratio {
  Dim number;
  int64_t divisor = 1;

  bool is_whole() const { return divisor == 1; }
  /// Floats hold it without rounding.
  bool is_binary() const { return (divisor & (divisor - 1)) == 0; }
};

std::optional<Ratio> ratio_of(const Dim& number, int64_t divisor = 1) {
  if (!number.valid() || divisor < 1 || divisor > kMostDivisor) return std::nullopt;
  return Ratio{number, divisor};
}

std::optional<Ratio> ratio_of(const std::optional<Dim>& number) {
  return number ? ratio_of(*number) : std::nullopt;
}

/// What is left of a product once the divisor that its factors share is gone.
std::optional<Ratio> reduced(const Dim& number, int64_t divisor) {
  const auto whole = exact_div(number, Dim(divisor));
  return whole ? ratio_of(*whole) : ratio_of(number, divisor);
}

std::optional<Ratio> product_of(const Ratio& a, const Ratio& b) {
  const auto scales = [](const Ratio& by) {
    const auto number = by.number.to_int();
    return number && *number > 0 && (*number & (*number - 1)) == 0 && by.is_binary();
  };
  if (!(a.is_binary() && b.is_binary()) && !scales(a) && !scales(b)) return std::nullopt;
  return reduced(a.number * b.number, a.divisor * b.divisor);
}

std::optional<Ratio> quotient_of(const Ratio& a, const Ratio& b) {
  const auto by = b.number.to_int();
  if (!by || *by == 0 || std::abs(*by) > kMostDivisor) return std::nullopt;
  const Dim number = a.number * Dim(*by < 0 ? -b.divisor : b.divisor);
  return reduced(number, a.divisor * std::abs(*by));
}

/// Sums of two rounded parts may miss a whole number by a bit.
std::optional<Ratio> sum_of(const Ratio& a, const Ratio& b, int64_t sign) {
  if (!a.is_whole() && !b.is_whole() && !(a.is_binary() && b.is_binary())) return std::nullopt;
  const Dim number = a.number * Dim(b.divisor) + Dim(sign) * b.number * Dim(a.divisor);
  return reduced(number, a.divisor * b.divisor);
}

/// Combine floats; nothing where floats may round to another whole number than the exact value.
std::optional<Ratio> combined_floats(BinaryKind kind, const Ratio& a, const Ratio& b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return sum_of(a, b, 1);
    case BinaryKind::kSub:
      return sum_of(a, b, -1);
    case BinaryKind::kMul:
      return product_of(a, b);
    case BinaryKind::kDiv:
      return quotient_of(a, b);
    default:
      return std::nullopt;
  }
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
  /// `divisors`: where to tell what a size is divided by that is no number; may be null.
  /// `place`: the symbol for the places of elements; null where wires have one element each.
  Tracer(const Graph& graph, std::vector<Dim>* divisors, const Dim* place = nullptr)
      : graph_(graph), divisors_(divisors), place_(place) {}

  std::optional<Dim> value(OutletId outlet, int depth) const {
    const auto ratio = ratio_at(outlet, depth);
    return ratio && ratio->is_whole() ? std::optional<Dim>(ratio->number) : std::nullopt;
  }

 private:
  std::optional<Ratio> ratio_at(OutletId outlet, int depth) const {
    const Fact& fact = graph_.fact(outlet);
    if (fact.konst) {
      if (fact.konst->volume() != 1) return std::nullopt;
      if (is_float(fact.dtype)) return constant(*fact.konst);
      auto dim = element_as_dim(*fact.konst, 0);
      return dim.ok() ? ratio_of(std::move(dim).value()) : std::nullopt;
    }
    const Node& node = graph_.node(outlet.node);
    if (const auto* range = place_ ? node.op->as<Range>() : nullptr) {
      return ratio_of(range->start + Dim(range->step) * *place_);
    }
    if (depth == 0 || node.inputs.empty()) return std::nullopt;
    // Elements meet those at their own places, or a single one.
    const Dim count = volume(fact.shape);
    for (const OutletId& input : node.inputs) {
      const Dim own = volume(graph_.fact(input).shape);
      if (!(own == Dim(1)) && !(place_ && own == count)) return std::nullopt;
    }
    return of_node(node, depth - 1);
  }

  /// A float constant that has a few binary places.
  static std::optional<Ratio> constant(const Tensor& tensor) {
    const auto value = element_as_double(tensor, 0);
    if (!value.ok() || !(std::abs(*value) <= kMostExact)) return std::nullopt;
    constexpr int64_t kMostPlaces = 1 << 12;
    for (int64_t divisor = 1; divisor <= kMostPlaces; divisor *= 2) {
      const double number = *value * static_cast<double>(divisor);
      if (number == std::trunc(number)) return ratio_of(Dim(static_cast<int64_t>(number)), divisor);
    }
    return std::nullopt;
  }

  /// A cast to integers rounds towards zero; one to truth tells what is not 0. Types that do not
  /// hold every size wrap.
  std::optional<Ratio> of_cast(const Ratio& from, DType to) const {
    if (to == DType::kBool) return ratio_of(Dim(1) - eq(from.number, Dim(0)));
    if (to != DType::kDim && dtype_size(to) < 4) return std::nullopt;
    if (from.is_whole() || to == DType::kF32 || to == DType::kF64) return from;
    if (is_float(to) || !graph_.scope.proves_ge(from.number, Dim(0))) return std::nullopt;
    return ratio_of(floor_div(from.number, from.divisor));
  }

  static std::optional<Ratio> of_unary(UnaryKind kind, const Ratio& from) {
    switch (kind) {
      case UnaryKind::kNeg:
        return ratio_of(-from.number, from.divisor);
      case UnaryKind::kFloor:
        return ratio_of(floor_div(from.number, from.divisor));
      case UnaryKind::kCeil:
        return ratio_of(ceil_div(from.number, from.divisor));
      case UnaryKind::kNot:
        return ratio_of(Dim(1) - from.number);
      default:
        return std::nullopt;
    }
  }

  std::optional<Ratio> of_binary(const Node& node, const Ratio& first, const Ratio& second) const {
    const BinaryKind kind = node.op->as<Binary>()->kind_of;
    const bool floats = is_float(graph_.fact(node.inputs[0]).dtype);
    const bool arithmetic = kind == BinaryKind::kAdd || kind == BinaryKind::kSub ||
                            kind == BinaryKind::kMul || kind == BinaryKind::kDiv;
    if (floats && arithmetic) return combined_floats(kind, first, second);
    if (floats && kind == BinaryKind::kPow) return std::nullopt;
    if (!first.is_whole() || !second.is_whole()) return std::nullopt;
    const Dim by = graph_.scope.simplify(second.number);
    if (divisors_ && kind == BinaryKind::kDiv && !by.is_const()) divisors_->push_back(by);
    return ratio_of(combined(kind, first.number, by));
  }

  std::optional<Ratio> of_node(const Node& node, int depth) const {
    const auto first = ratio_at(node.inputs[0], depth);
    if (!first) return std::nullopt;
    const Op& op = *node.op;
    if (op.keeps_order()) return first;
    if (op.as<Cast>()) return of_cast(*first, node.outputs[0].dtype);
    if (const auto* unary = op.as<Unary>()) return of_unary(unary->kind_of, *first);
    if (node.inputs.size() < 2) return std::nullopt;
    const auto second = ratio_at(node.inputs[1], depth);
    if (!second) return std::nullopt;
    if (op.as<Binary>()) return of_binary(node, *first, *second);
    if (!op.as<Select>()) return std::nullopt;
    const auto third = value(node.inputs[2], depth);
    if (!third || !first->is_whole() || !second->is_whole()) return std::nullopt;
    return ratio_of(first->number * (second->number - *third) + *third);
  }

  const Graph& graph_;
  std::vector<Dim>* divisors_;
  const Dim* place_;
};

}  // namespace

std::optional<Dim> symbolic_value(const Graph& graph, OutletId outlet) {
  return Tracer(graph, nullptr).value(outlet, kMaxDepth);
}

std::optional<Dim> positional_value(const Graph& graph, OutletId outlet, std::string_view place) {
  const Dim at = Dim::symbol(place);
  return Tracer(graph, nullptr, &at).value(outlet, kMaxDepth);
}

namespace {

/// Whether `part` is at least 1 wherever a size that it is part of is.
bool is_positive_with(const Dim& part, const Dim& size) {
  if (min(part, size) == size) return true;
  const auto breach = bound_of(min(size - Dim(1), -part));
  return breach && *breach < 0;
}

/// Assert that what sizes are divided by is not 0: a division by 0 has no result anywhere else.
/// What is asserted of a part of a divisor follows from that.
bool presume_divisors(Graph& graph, const std::vector<Dim>& divisors) {
  bool any = false;
  for (const Dim& divisor : divisors) {
    rebuild(divisor, [&](const DimAtom& atom) -> std::optional<Dim> {
      if (atom.kind != DimAtom::Kind::kMin) return std::nullopt;
      for (const Dim& arg : atom.args) {
        if (arg.is_const() || !is_positive_with(arg, divisor)) continue;
        any |= graph.scope.assert_text(str_cat(arg, " >= 1")).ok();
      }
      return std::nullopt;
    });
  }
  return any;
}

std::optional<Dim> computed(Graph& graph, OutletId wire) {
  std::vector<Dim> divisors;
  auto out = Tracer(graph, &divisors).value(wire, kMaxDepth);
  if (!out && presume_divisors(graph, divisors)) out = symbolic_value(graph, wire);
  return out ? std::optional<Dim>(graph.scope.simplify(*out)) : std::nullopt;
}

}  // namespace

Result<std::vector<Dim>> computed_dims(LoadCtx& ctx, std::string_view name) {
  RILL_ASSIGN(const Value value, ctx.value(name));
  const auto* list = value.get<std::vector<Value>>();
  const auto open_wire = [&](const Value& element) -> const OutletId* {
    const auto* wire = element.get<OutletId>();
    return wire && !ctx.fact(*wire).konst ? wire : nullptr;
  };
  if (list == nullptr || std::none_of(list->begin(), list->end(), open_wire)) return ctx.dims(name);
  std::vector<Dim> out;
  for (const Value& element : *list) {
    const OutletId* wire = open_wire(element);
    if (!wire) {
      RILL_ASSIGN(Dim known, ctx.to_dim(element));
      out.push_back(std::move(known));
      continue;
    }
    const auto dim = computed(ctx.graph(), *wire);
    // The loader's message names the argument.
    if (!dim) return ctx.dims(name);
    out.push_back(*dim);
  }
  return out;
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
