#include "ops/array/symbolic.h"

#include "core/base/search.h"
#include "core/dim/bound.h"
#include "core/dim/pattern.h"
#include "core/graph/size_trace.h"

namespace rill::ops {
namespace {

// A bound has two comparisons: with zero and with the extent.
constexpr int kMaxPresumptions = 4;

std::optional<Dim> whole_size(const Graph& graph, OutletId outlet, std::vector<Dim>* divisors,
                              const Dim* place = nullptr) {
  const auto size = SizeTrace::follow(graph, outlet, divisors, place);
  return size && size->is_whole() ? std::optional<Dim>(size->number) : std::nullopt;
}

}  // namespace

std::optional<Dim> symbolic_value(const Graph& graph, OutletId outlet) {
  return whole_size(graph, outlet, nullptr);
}

std::optional<std::vector<Dim>> symbolic_values(const Graph& graph, OutletId outlet) {
  constexpr int64_t kMostSizes = 16;
  const auto count = volume(graph.fact(outlet).shape).to_int();
  if (!count || *count > kMostSizes) return std::nullopt;
  std::vector<Dim> out;
  for (int64_t i = 0; i < *count; ++i) {
    const Dim place(i);
    auto each = whole_size(graph, outlet, nullptr, &place);
    if (!each) return std::nullopt;
    out.push_back(std::move(*each));
  }
  return out;
}

std::optional<Dim> positional_value(const Graph& graph, OutletId outlet, std::string_view place) {
  const Dim at = Dim::symbol(place);
  return whole_size(graph, outlet, nullptr, &at);
}

namespace {

/// Return whether `part` is >= 1 for all symbols for which `size`, which contains it, is >= 1.
bool is_positive_with(const Dim& part, const Dim& size) {
  if (min(part, size) == size) return true;
  const auto breach = bound_of(min(size - Dim(1), -part));
  return breach && *breach < 0;
}

/// Assert that divisors of sizes are not 0, since no engine defines a division by 0. This implies
/// assertions on parts of divisors.
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
  auto out = whole_size(graph, wire, &divisors);
  if (!out && presume_divisors(graph, divisors)) out = symbolic_value(graph, wire);
  return out ? std::optional<Dim>(graph.scope.simplify(*out)) : std::nullopt;
}

}  // namespace

namespace {

/// Return the wire of a value; null if it is constant or not a wire.
const OutletId* open_wire(LoadCtx& ctx, const Value& value) {
  const auto* wire = value.get<OutletId>();
  return wire && !ctx.fact(*wire).konst ? wire : nullptr;
}

}  // namespace

std::optional<Dim> computed_dim(LoadCtx& ctx, const Value& value) {
  if (const OutletId* wire = open_wire(ctx, value)) return computed(ctx.graph(), *wire);
  auto known = ctx.to_dim(value);
  return known.ok() ? std::optional<Dim>(std::move(known).value()) : std::nullopt;
}

Result<std::vector<Dim>> computed_dims(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(const Value value, ctx.value(name));
  const auto* list = value.get<std::vector<Value>>();
  const auto is_open = [&](const Value& element) { return open_wire(ctx, element) != nullptr; };
  if (list == nullptr || none_of(*list, is_open)) return ctx.dims(name);
  std::vector<Dim> out;
  for (const Value& element : *list) {
    auto dim = computed_dim(ctx, element);
    // Let the loader's error name the argument.
    if (!dim) return ctx.dims(name);
    out.push_back(std::move(*dim));
  }
  return out;
}

namespace {

bool is_size_of_a_wire(const Graph& graph, const Dim& dim) {
  return any_of(graph.nodes, [&](const Node& node) {
    return any_of(node.outputs, [&](const Fact& fact) {
      return any_of(fact.shape, [&](const Dim& each) {
        return !each.is_const() && graph.scope.simplify(each - dim) == Dim(0);
      });
    });
  });
}

/// Return an assertion that decides one undecided comparison in a bound.
std::optional<std::string> presumption(const Graph& graph, const Dim& bound, const Dim& extent) {
  std::optional<std::string> out;
  // Arguments come first, since they may decide the expressions around them.
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
      const auto rows = find(atom.args, extent);
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

/// Return whether an assertion holds for some sizes.
bool can_hold(const std::string& text, const SymbolScope& scope) {
  SymbolScope one = scope;
  const size_t before = one.assertions().size();
  if (!one.assert_text(text).ok() || one.assertions().size() == before) return false;
  const std::vector<Dim>& claims = one.assertions().back().non_negative;
  for (const int64_t size : {1, 16, 256, 4096, 65536}) {
    Bindings bindings;
    for (const std::string& symbol : one.symbols()) bindings.emplace_back(symbol, size);
    const auto holds = [&](const Dim& claim) { return claim.eval(bindings).value_or(-1) >= 0; };
    if (all_of(claims, holds)) return true;
  }
  return false;
}

}  // namespace

Dim presumed(Graph& graph, const Dim& bound, const Dim& extent) {
  Dim out = graph.scope.simplify(bound);
  for (int round = 0; round < kMaxPresumptions && !out.is_const(); ++round) {
    const auto text = presumption(graph, out, extent);
    if (!text || !can_hold(*text, graph.scope) || !graph.scope.assert_text(*text).ok()) break;
    Dim next = graph.scope.simplify(out);
    if (next == out) break;
    out = std::move(next);
  }
  return out;
}

std::string assertion_for(const Dim& size) {
  std::vector<std::string> symbols;
  size.collect_symbols(&symbols);
  if (symbols.size() != 1) return "S >= 16";
  // If x < 0, then -x - 1 >= 0.
  const auto breach = DimPattern::of(Dim(-1) - size, symbols[0]);
  const auto last = breach.ok() ? breach->last_non_negative() : Result(std::optional<int64_t>());
  return str_cat(symbols[0], " >= ", last.ok() && *last ? **last + 1 : 16);
}

Status presume_sign(Graph& graph, const Dim& bound, const Dim& extent) {
  const SymbolScope& scope = graph.scope;
  presumed(graph, ge(bound, Dim(0)), extent);
  if (scope.proves_non_negative(bound) || scope.proves_ge(Dim(-1), bound)) return {};
  for (const std::string& text : {str_cat(bound, " >= 0"), str_cat(bound, " <= -1")}) {
    if (can_hold(text, scope) && graph.scope.assert_text(text).ok()) return {};
  }
  return fail(Code::kSymbol, "the bound ", bound, " counts from the start if it is 0 or more, ",
              "else from the end, and its sign is open")
      .hint(str_cat("Assert it, as in --assert '", assertion_for(bound), "', or set the symbols"));
}

}  // namespace rill::ops
