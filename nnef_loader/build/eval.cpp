// Expressions.

#include <cmath>
#include <limits>

#include "core/graph/symbols_before.h"
#include "nnef_loader/build/builder.h"
#include "nnef_loader/build/call.h"
#include "nnef_loader/build/limits.h"
#include "nnef_loader/build/whole_call.h"

// One nested call per level; other work runs before and after it to keep frames small.
#define RILL_OWN_FRAME [[gnu::noinline]]

namespace rill::nnef {
namespace {

std::string_view operator_name(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "add";
    case BinaryOp::kSub:
      return "sub";
    case BinaryOp::kMul:
      return "mul";
    case BinaryOp::kDiv:
      return "div";
    case BinaryOp::kPow:
      return "pow";
    case BinaryOp::kLt:
      return "lt";
    case BinaryOp::kLe:
      return "le";
    case BinaryOp::kGt:
      return "gt";
    case BinaryOp::kGe:
      return "ge";
    case BinaryOp::kEq:
      return "eq";
    case BinaryOp::kNe:
      return "ne";
    case BinaryOp::kAnd:
      return "and";
    case BinaryOp::kOr:
      return "or";
    case BinaryOp::kIn:
      return {};
  }
  return {};
}

/// Divide as tract does: constants round toward zero.
Result<Dim> divided(const Dim& a, const Dim& b) {
  const auto numerator = a.to_int();
  const auto divisor = b.to_int();
  if (divisor && *divisor == 0) return fail(Code::kSymbol, "division of ", a, " by zero");
  if (numerator && divisor && !(*numerator == INT64_MIN && *divisor == -1)) {
    return Dim(*numerator / *divisor);
  }
  if (divisor && *divisor > 0) return floor_div(a, *divisor);
  if (const auto exact = exact_div(a, b)) return *exact;
  return fail(Code::kSymbol, "Can't divide ", a, " by ", b)
      .hint("Symbols divide only where they cancel");
}

/// Compute with integers and symbols; nothing if the graph must compute it with operators.
Result<std::optional<Dim>> fold(BinaryOp op, const Dim& a, const Dim& b, const SymbolScope& scope) {
  std::optional<Dim> out;
  if (op == BinaryOp::kAdd) out = a + b;
  if (op == BinaryOp::kSub) out = a - b;
  if (op == BinaryOp::kMul) out = a * b;
  if (op == BinaryOp::kDiv) {
    RILL_ASSIGN(out, divided(a, b));
  }
  if (!out) return out;
  out = scope.simplify(*out);
  if (!out->valid()) return fail(Code::kSymbol, "a symbolic value is out of range");
  return out;
}

std::optional<float> fold(BinaryOp op, float a, float b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kPow:
      return std::pow(a, b);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Value> Builder::eval(const RValue& expression, Scope& scope, const Naming& naming,
                            bool creates_symbols) {
  const auto part = scope.parts.find(&expression);
  if (part != scope.parts.end()) return part->second;
  if (expression.height > kLevelsAtOnce) {
    return eval_tall(expression, scope, naming, creates_symbols);
  }
  return eval_at_once(expression, scope, naming, creates_symbols);
}

Result<Value> Builder::eval_at_once(const RValue& expression, Scope& scope, const Naming& naming,
                                    bool creates_symbols) {
  const Place outer_place = place_;
  const bool outer_creates = creates_symbols_;
  if (scope.from_document) place_ = expression.place;
  creates_symbols_ = creates_symbols_ || creates_symbols;
  ++eval_depth_;
  Status status = check_depth();
  Result<Value> value = status.ok() ? eval_node(expression, scope, naming) : std::move(status);
  if (!value.ok()) value = placed(value.take_status());
  --eval_depth_;
  creates_symbols_ = outer_creates;
  place_ = outer_place;
  return value;
}

RILL_OWN_FRAME Status Builder::check_depth() {
  RILL_TRY(charge(1));
  if (eval_depth_ <= kMaxEvalDepth) return {};
  return fail(Code::kUnsupported, "expressions are nested over ", kMaxEvalDepth, " deep")
      .hint("Split them into several assignments, and fragments into statements of the graph");
}

Result<Value> Builder::eval_node(const RValue& expression, Scope& scope, const Naming& naming) {
  if (const auto* name = expression.as<Identifier>()) return resolve(name->name, scope);
  if (const auto* number = expression.as<NumberLiteral>()) return value_of(*number);
  if (const auto* text = expression.as<StringLiteral>()) return Value(text->value);
  if (const auto* truth = expression.as<LogicalLiteral>()) return Value(truth->value);
  if (const auto* list = expression.as<ArrayExpr>()) return eval_list(list->items, scope, naming);
  if (const auto* list = expression.as<TupleExpr>()) return eval_list(list->items, scope, naming);
  if (const auto* binary = expression.as<BinaryExpr>()) return eval_binary(*binary, scope, naming);
  if (const auto* unary = expression.as<UnaryExpr>()) return eval_unary(*unary, scope, naming);
  if (const auto* branch = expression.as<IfElseExpr>()) return eval_if(*branch, scope, naming);
  if (const auto* subscript = expression.as<SubscriptExpr>()) {
    return eval_subscript(*subscript, scope, naming);
  }
  if (const auto* invocation = expression.as<Invocation>()) {
    return eval_invocation(*invocation, scope, naming);
  }
  return fail(Code::kUnsupported, kind_text(expression), " is not supported");
}

Result<Value> Builder::resolve(const std::string& name, Scope& scope) {
  const auto it = scope.values.find(name);
  if (it != scope.values.end()) {
    if (it->second.get<List>()) RILL_TRY(charge(leaf_count(it->second)));
    return it->second;
  }
  SymbolScope& symbols = scope.target->graph.scope;
  if (!symbols.declared(name)) {
    // Not an NNEF literal, but operators may produce it.
    if (name == "nan") return Value(std::numeric_limits<float>::quiet_NaN());
    if (!creates_symbols_) {
      return fail(Code::kParse, "Can not resolve \"", name, "\"")
          .hint("Assign it first, or declare it with \"extension tract_symbol\"");
    }
    warn(str_cat("Introducing symbol \"", name, "\", which the file does not declare"));
    symbols.declare(name);
  }
  return Value(symbols.simplify(Dim::symbol(name)));
}

Result<Value> Builder::eval_list(const std::vector<RValue>& items, Scope& scope,
                                 const Naming& naming) {
  List list;
  const Naming inner = naming.nested();
  for (const RValue& item : items) {
    RILL_ASSIGN(Value value, eval(item, scope, inner));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Result<Value> Builder::eval_binary(const BinaryExpr& expression, Scope& scope,
                                   const Naming& naming) {
  RILL_ASSIGN(Value left, eval(*expression.left, scope, naming.nested()));
  RILL_ASSIGN(Value right, eval(*expression.right, scope, naming.nested()));
  return combine(expression.op, std::move(left), std::move(right), scope, naming);
}

RILL_OWN_FRAME Result<Value> Builder::combine(BinaryOp op, Value left, Value right, Scope& scope,
                                              const Naming& naming) {
  const Dim* a = left.get<Dim>();
  const Dim* b = right.get<Dim>();
  if (a && b) {
    RILL_ASSIGN(std::optional<Dim> folded, fold(op, *a, *b, scope.target->graph.scope));
    if (folded) return Value(std::move(*folded));
  }
  if (left.get<float>() && right.get<float>()) {
    if (const auto folded = fold(op, *left.get<float>(), *right.get<float>())) {
      return Value(*folded);
    }
  }
  if (left.get<bool>() && right.get<bool>()) {
    if (op == BinaryOp::kAnd) return Value(*left.get<bool>() && *right.get<bool>());
    if (op == BinaryOp::kOr) return Value(*left.get<bool>() || *right.get<bool>());
  }
  const std::string_view callee = operator_name(op);
  if (callee.empty()) return fail(Code::kUnsupported, "the operator \"in\" is not supported");
  const CallArgument arguments[] = {{"", nullptr, std::move(left)},
                                    {"", nullptr, std::move(right)}};
  return invoke({callee, arguments, {}, true}, scope, naming);
}

Result<Value> Builder::eval_unary(const UnaryExpr& expression, Scope& scope, const Naming& naming) {
  RILL_ASSIGN(Value value, eval(*expression.operand, scope, naming.nested()));
  if (const bool* truth = value.get<bool>()) {
    if (expression.op == '!') return Value(!*truth);
    return fail(Code::kDType, "expected a number after \"", expression.op, "\"");
  }
  if (expression.op == '+') return value;
  if (const float* scalar = value.get<float>(); scalar && expression.op == '-') {
    return Value(-*scalar);
  }
  if (const Dim* dim = value.get<Dim>(); dim && expression.op == '-') {
    const Dim negated = -*dim;
    if (!negated.valid()) return fail(Code::kSymbol, "a symbolic value is out of range");
    return Value(negated);
  }
  const CallArgument arguments[] = {{"", nullptr, std::move(value)}};
  return invoke({expression.op == '!' ? "not" : "neg", arguments, {}}, scope, naming);
}

Result<Value> Builder::eval_subscript(const SubscriptExpr& expression, Scope& scope,
                                      const Naming& naming) {
  const auto* name = expression.base->as<Identifier>();
  const auto kept = name ? scope.lists_of_one.find(name->name) : scope.lists_of_one.end();
  Result<Value> base = kept != scope.lists_of_one.end()
                           ? Result<Value>(kept->second)
                           : eval(*expression.base, scope, naming.nested());
  if (!base.ok()) return base;
  RILL_ASSIGN(const Value index, eval(*expression.index, scope, naming.nested()));
  RILL_ASSIGN(const int64_t position, integer_of(index, scope.target->graph));
  take_numbers(*base, "[]", scope, position);
  return element_of(*base, position, scope.target->graph);
}

void Builder::take_numbers(const Value& value, std::string_view reader, const Scope& scope,
                           std::optional<int64_t> place) {
  const auto* const wire = value.get<OutletId>();
  Graph& graph = scope.target->graph;
  if (!wire || !graph.fact(*wire).konst) return;
  scope.target->sizes.take(&graph, *wire, {graph.node(wire->node).name, reader}, place);
}

namespace {

/// Return the error of an open condition of `if`, with the sizes that decide it. Other errors stay.
Status undecided(const Value& condition, const Graph& graph, Status status) {
  std::vector<std::string> symbols;
  if (const auto* const wire = condition.get<OutletId>()) symbols = symbols_before(graph, *wire);
  if (const auto* const dim = condition.get<Dim>()) dim->collect_symbols(&symbols);
  if (symbols.empty()) return status;
  std::string names;
  std::string sets;
  for (const std::string& symbol : symbols) {
    names += str_cat(names.empty() ? "" : " and ", symbol);
    sets += str_cat(sets.empty() ? "" : " ", "--set ", symbol, "=NUMBER");
  }
  return fail(Code::kUnsupported, "which branch of `if` the model takes depends on ", names)
      .hint(str_cat("Decide it: ", sets));
}

}  // namespace

Result<Value> Builder::eval_if(const IfElseExpr& expression, Scope& scope, const Naming& naming) {
  RILL_ASSIGN(const RValue* const branch, branch_of(expression, scope, naming.nested()));
  return eval(*branch, scope, naming);
}

RILL_OWN_FRAME Result<const RValue*> Builder::branch_of(const IfElseExpr& expression, Scope& scope,
                                                        const Naming& naming) {
  RILL_ASSIGN(const Value condition, eval(*expression.condition, scope, naming));
  take_numbers(condition, "if", scope);
  const auto truth = boolean_of(condition, scope.target->graph);
  if (!truth.ok()) return undecided(condition, scope.target->graph, truth.status());
  return *truth ? &*expression.then : &*expression.otherwise;
}

Result<Value> Builder::eval_invocation(const Invocation& invocation, Scope& scope,
                                       const Naming& naming) {
  std::vector<CallArgument> arguments;
  arguments.reserve(invocation.arguments.size());
  for (const Argument& argument : invocation.arguments) {
    arguments.push_back({argument.name, &argument.value, {}});
  }
  const std::string_view generic =
      invocation.generic ? type_name_text(*invocation.generic) : std::string_view();
  return invoke({invocation.callee, arguments, generic}, scope, naming);
}

Result<Value> Builder::invoke(const Call& call, Scope& scope, const Naming& naming) {
  auto callee = index_.find(call.callee);
  if (!callee.ok()) return callee.take_status().in_node(naming.statement, "");
  if (callee->load) return invoke_op(*callee, call, scope, naming);
  auto results = expand(*callee, call, scope, naming);
  if (!results.ok()) return placed(results.take_status().in_node(naming.statement, ""));
  return results;
}

Result<Value> Builder::invoke_op(const Callee& callee, const Call& call, Scope& scope,
                                 const Naming& naming) {
  if (options_.keep_submodels) {
    auto whole = whole_call(this, callee, call, scope, naming);
    if (!whole.ok()) {
      return placed(whole.take_status().in_node(naming.node_name(call.callee), call.callee));
    }
    if (*whole) return std::move(**whole);
  }
  CallCtx ctx(this, &scope, *callee.decl, call, naming);
  auto value = callee.load(ctx);
  Status status = value.ok() ? audit(scope.target) : value.take_status();
  if (!status.ok()) return placed(std::move(status).in_node(ctx.node_name(), call.callee));
  return with_real_sizes(callee, call, ctx, *value, scope, naming);
}

Value Builder::with_real_sizes(const Callee& callee, const Call& call, const CallCtx& ctx,
                               const Value& value, const Scope& scope, const Naming& naming) {
  std::vector<CallArgument> arguments = ctx.evaluated();
  std::vector<OutletId> wires;
  for (const CallArgument& each : arguments) add_wires(each.value, &wires);
  std::vector<OutletId> outlets;
  add_wires(value, &outlets);
  const auto again = [&](Target* beside, const std::map<OutletId, OutletId>& moves) {
    for (CallArgument& each : arguments) each.value = moved(each.value, moves);
    Scope own;
    own.target = beside;
    own.from_document = false;
    const Call repeated{call.callee, arguments, call.generic, call.infix};
    CallCtx other(this, &own, *callee.decl, repeated, naming);
    return callee.load(other);
  };
  Target* const target = scope.target;
  return moved(value, target->sizes.follow(
                          target, {wires, outlets, ctx.node_name(), call.callee, again}));
}

Result<OutletId> Builder::invoke_needed(std::string_view name,
                                        std::span<const CallArgument> arguments, Scope& scope,
                                        const Naming& naming) {
  RILL_ASSIGN(const Callee callee, index_.find_op(name));
  RILL_ASSIGN(const Value value, invoke_op(callee, {name, arguments, {}}, scope, naming));
  return to_wire(value, scope, naming.node_name(name));
}

Result<OutletId> Builder::to_wire(const Value& value, Scope& scope, std::string_view name,
                                  bool exact) {
  if (const OutletId* wire = value.get<OutletId>()) return *wire;
  Target& target = *scope.target;
  RILL_ASSIGN(std::optional<Tensor> constant, constant_of(value, target.graph));
  if (!constant) return concatenate(*value.get<List>(), scope, name, exact);
  auto shared = std::make_shared<const Tensor>(std::move(*constant));
  const OutletId wire =
      target.graph.add_const(target.names.claim(name, exact), std::move(shared), place_.line);
  RILL_TRY(audit(&target));
  return wire;
}

Result<OutletId> Builder::concatenate(const List& list, Scope& scope, std::string_view name,
                                      bool exact) {
  const Naming naming{std::string(name), true, exact, {std::string(name)}, {}, {}};
  const List axis_zero = {Value(Dim(0))};
  List parts;
  for (const Value& item : list) {
    RILL_ASSIGN(const OutletId wire, to_wire(item, scope, str_cat(name, "_item")));
    const CallArgument arguments[] = {{"", nullptr, Value(wire)},
                                      {"axes", nullptr, Value(axis_zero)}};
    RILL_ASSIGN(const OutletId part, invoke_needed("unsqueeze", arguments, scope, naming.nested()));
    parts.emplace_back(part);
  }
  const CallArgument arguments[] = {{"", nullptr, Value(std::move(parts))},
                                    {"axis", nullptr, Value(Dim(0))}};
  return invoke_needed("concat", arguments, scope, naming);
}

}  // namespace rill::nnef
