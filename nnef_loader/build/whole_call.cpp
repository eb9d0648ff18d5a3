#include "nnef_loader/build/whole_call.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/base/search.h"
#include "nnef_loader/build/call.h"
#include "nnef_loader/build/literals.h"

namespace rill::nnef {
namespace {

/// An operator that loads as several nodes, and its name in tract's dumps.
struct Whole {
  std::string_view callee;
  std::string_view registry;
  std::string_view name;
};

constexpr std::array kWholes{
    Whole{"tract_core_gru_seq", "tract_core", "GruSeq"},
    Whole{"tract_transformers_apply_rope", "tract_transformers", "ApplyRope"},
    Whole{"tract_transformers_causal_conv1d_update", "tract_transformers", "CausalConv1dUpdate"},
    Whole{"tract_transformers_scaled_masked_softmax", "tract_transformers", "ScaledMaskedSoftmax"},
    Whole{"tract_transformers_sdpa", "tract_transformers", "SDPA"},
};

/// An argument for writing: input `wire`, or a text if `wire` is -1.
struct Argument {
  std::string name;
  int64_t wire = -1;
  std::string text;
};

/// Represents an operator that loads as several nodes by one node. Shapes and types: those of its
/// nodes. Errors: kUnsupported when it is prepared or pulsed; for that, load the model expanded.
/// Stream: refused. Source: tract, the operators of `kWholes`.
struct WholeCall final : OpBase<WholeCall> {
  const Whole* whole = nullptr;
  std::vector<Argument> arguments;
  Facts outs;

  std::string_view name() const override { return whole->name; }
  void fields(FieldVisitor& visitor) override {
    for (Argument& argument : arguments) {
      if (argument.wire < 0) {
        visitor.field(argument.name.c_str(), argument.text);
      } else {
        visitor.field(argument.name.c_str(), argument.wire);
      }
    }
  }
  OpPtr with_symbol(std::string_view symbol, const Dim& by) const override {
    auto copy = draft_op<WholeCall>(*this);
    for (Fact& fact : copy->outs) fact = substitute(fact, symbol, by);
    return copy;
  }
  Result<Facts> infer(FactSpan) const override { return outs; }
  Status eval(EvalCtx&) const override {
    return fail(Code::kUnsupported, "an operator kept for display does not run");
  }
  bool foldable() const override { return false; }
  Status save(SaveCtx& ctx) const override {
    std::string list;
    for (const Argument& argument : arguments) {
      std::string text = argument.text;
      if (argument.wire >= 0) {
        RILL_ASSIGN(text, ctx.in(static_cast<int>(argument.wire)));
      }
      list += str_cat(list.empty() ? "" : ", ", argument.name, " = ", text);
    }
    ctx.need_registry(whole->registry);
    ctx.assign_all(str_cat(whole->callee, "(", list, ")"));
    return {};
  }
};

/// Format a number, a bool or a string; nothing for other values.
std::optional<std::string> spelled(const Value& value) {
  if (const auto* dim = value.get<Dim>()) return dim_text(*dim);
  if (const auto* number = value.get<float>()) return nnef_text(*number);
  if (const auto* truth = value.get<bool>()) return nnef_text(*truth);
  if (const auto* text = value.get<std::string>()) return nnef_text(std::string_view(*text));
  return std::nullopt;
}

std::vector<OutletId> outlets_of(const Value& value) {
  std::vector<OutletId> outlets;
  if (const auto* wire = value.get<OutletId>()) outlets.push_back(*wire);
  if (const auto* list = value.get<List>()) {
    for (const Value& item : *list) {
      if (const auto* wire = item.get<OutletId>()) outlets.push_back(*wire);
    }
  }
  return outlets;
}

/// A call with its arguments; tensor arguments are wires of the graph.
struct Read {
  std::vector<Argument> arguments;
  std::vector<Value> values;
  std::vector<OutletId> wires;
};

/// Read the arguments that are given; nothing if one could not be written back.
Result<std::optional<Read>> read_arguments(CallCtx& ctx, const FragmentDecl& decl) {
  Read read;
  for (const Parameter& parameter : decl.parameters) {
    if (!ctx.given(parameter.name)) continue;
    Argument argument{parameter.name, -1, {}};
    if (parameter.type.kind == TypeSpec::Kind::kTensor && !parameter.type.is_array) {
      RILL_ASSIGN(const OutletId wire, ctx.wire(parameter.name));
      argument.wire = static_cast<int64_t>(read.wires.size());
      read.wires.push_back(wire);
      read.values.emplace_back(wire);
    } else {
      RILL_ASSIGN(Value value, ctx.value(parameter.name));
      const auto text = spelled(value);
      if (!text) return std::optional<Read>();
      argument.text = *text;
      read.values.push_back(std::move(value));
    }
    read.arguments.push_back(std::move(argument));
  }
  return std::optional<Read>(std::move(read));
}

/// Return the facts of the outputs, by expanding the call in a scratch graph.
Result<Facts> facts_of_outputs(Builder* builder, const Callee& callee, const Call& call,
                               const Graph& graph, Read read, const Naming& naming) {
  Target side;
  side.graph.scope = graph.scope;
  for (Value& value : read.values) {
    const auto* wire = value.get<OutletId>();
    if (!wire) continue;
    const Fact& fact = graph.fact(*wire);
    const std::string name = side.graph.unique_name("input");
    value = Value(fact.konst ? side.graph.add_const(name, fact.konst)
                             : side.graph.add_source(name, fact.without_value()));
  }
  std::vector<CallArgument> arguments;
  for (size_t i = 0; i < read.values.size(); ++i) {
    arguments.push_back({read.arguments[i].name, nullptr, read.values[i]});
  }
  Scope scope;
  scope.target = &side;
  const Call read_call{call.callee, arguments, call.generic};
  CallCtx ctx(builder, &scope, *callee.decl, read_call, naming);
  RILL_ASSIGN(const Value value, callee.load(ctx));
  RILL_TRY(builder->audit(&side));
  Facts facts;
  for (const OutletId outlet : outlets_of(value)) {
    facts.push_back(side.graph.fact(outlet).without_value());
  }
  return facts;
}

}  // namespace

Result<std::optional<Value>> whole_call(Builder* builder, const Callee& callee, const Call& call,
                                        Scope& scope, const Naming& naming) {
  const auto whole = find_if(kWholes, [&](const Whole& row) { return row.callee == call.callee; });
  if (whole == kWholes.end()) return std::optional<Value>();
  CallCtx ctx(builder, &scope, *callee.decl, call, naming);
  RILL_ASSIGN(std::optional<Read> read, read_arguments(ctx, *callee.decl));
  if (!read) return std::optional<Value>();
  auto op = draft_op<WholeCall>();
  op->whole = &*whole;
  op->arguments = read->arguments;
  std::vector<OutletId> wires = read->wires;
  RILL_ASSIGN(op->outs, facts_of_outputs(builder, callee, call, scope.target->graph,
                                         std::move(*read), naming));
  if (op->outs.empty()) return std::optional<Value>();
  RILL_ASSIGN(const auto outlets, ctx.add(std::move(op), wires, ""));
  if (outlets.size() == 1) return std::optional<Value>(Value(outlets[0]));
  return std::optional<Value>(Value::of_wires(outlets));
}

}  // namespace rill::nnef
