// Statements and fragments.

#include "core/base/search.h"
#include "nnef_loader/build/builder.h"
#include "nnef_loader/build/limits.h"

namespace rill::nnef {
namespace {

void flatten(const LValue& left, std::vector<std::string>* names) {
  if (left.kind == LValue::Kind::kName) names->push_back(left.name);
  for (const LValue& item : left.items) flatten(item, names);
}

}  // namespace

const CallArgument* find_argument(const FragmentDecl& decl, const Call& call,
                                  std::string_view parameter) {
  for (const CallArgument& argument : call.arguments) {
    if (argument.name == parameter) return &argument;
  }
  for (size_t i = 0; i < decl.parameters.size() && i < call.arguments.size(); ++i) {
    if (!call.arguments[i].name.empty()) return nullptr;
    if (decl.parameters[i].name == parameter) return &call.arguments[i];
  }
  return nullptr;
}

Naming Builder::naming_for(std::vector<std::string> names, const Scope& scope) const {
  Naming naming;
  naming.root = true;
  naming.exact = !scope.is_inlined;
  if (scope.is_inlined) naming.parts = str_cat(scope.prefix, "_", names[0]);
  for (std::string& name : names) {
    if (!scope.is_inlined) {
      naming.targets.push_back(std::move(name));
      continue;
    }
    const auto result = scope.result_names.find(name);
    const bool is_result = result != scope.result_names.end();
    naming.targets.push_back(is_result ? result->second : str_cat(scope.prefix, "_", name));
    if (is_result && naming.targets.size() == 1) naming.exact = scope.exact_results;
  }
  naming.statement = naming.targets[0];
  return naming;
}

Status Builder::quant_types(std::span<const std::string> names, Naming* naming) const {
  for (const std::string& name : names) {
    naming->quant.emplace_back();
    const auto it = quant_.find(name);
    if (it == quant_.end()) continue;
    auto type = quant_type(it->second);
    if (!type.ok()) {
      return std::move(type).take_status().at("graph.quant", it->second.line).in_node(name, "");
    }
    naming->quant.back() = QuantType{type->first, type->second};
  }
  return {};
}

bool Builder::keeps_list(const RValue& right) {
  if (right.as<Identifier>()) return true;
  const auto* invocation = right.as<Invocation>();
  if (!invocation) return false;
  const auto callee = index_.find(invocation->callee);
  return callee.ok() && callee->decl->results.size() == 1 && callee->decl->results[0].type.is_array;
}

Status Builder::run_statement(const Assignment& statement, Scope& scope) {
  if (scope.from_document) place_ = statement.place;
  // On the heap: it would overflow the stack of nested fragments.
  const auto naming = std::make_unique<Naming>();
  RILL_TRY(name_results(statement, scope, naming.get()));
  RILL_ASSIGN(const Value value, eval(statement.right, scope, *naming));
  Status status = bind_results(statement, value, scope, *naming);
  if (status.ok()) return status;
  return placed(std::move(status).in_node(naming->statement, ""));
}

Status Builder::name_results(const Assignment& statement, const Scope& scope, Naming* naming) {
  std::vector<std::string> names;
  flatten(statement.left, &names);
  if (names.empty()) return placed(fail(Code::kParse, "the statement assigns nothing"));
  *naming = naming_for(names, scope);
  if (scope.is_graph_body && !quant_.empty()) return quant_types(names, naming);
  return {};
}

Status Builder::bind_results(const Assignment& statement, const Value& value, Scope& scope,
                             const Naming& naming) {
  RILL_TRY(charge(1));
  size_t position = 0;
  return bind(statement.left, value, keeps_list(statement.right), scope, naming, &position);
}

Status Builder::bind(const LValue& left, const Value& value, bool keep_list, Scope& scope,
                     const Naming& naming, size_t* position) {
  if (left.kind == LValue::Kind::kName) {
    return bind_name(left.name, value, keep_list, scope, naming, (*position)++);
  }
  RILL_ASSIGN(const List elements, elements_of(value, scope.target->graph));
  if (elements.size() != left.items.size()) {
    return fail(Code::kParse, "expected ", left.items.size(), " results, one per name, found ",
                elements.size());
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    RILL_TRY(bind(left.items[i], elements[i], keep_list, scope, naming, position));
  }
  return {};
}

Status Builder::bind_name(const std::string& identifier, const Value& value, bool keep_list,
                          Scope& scope, const Naming& naming, size_t position) {
  const List* list = value.get<List>();
  const bool one = list && keep_list && list->size() == 1;
  if (list && keep_list && !one) {
    scope.values[identifier] = value;
    return {};
  }
  // A list of one result is that result: `y = unstack(x)` of extent 1.
  if (one) scope.lists_of_one[identifier] = value;
  const std::string& name = naming.targets[position];
  RILL_ASSIGN(OutletId wire, to_wire(one ? list->front() : value, scope, name, naming.exact));
  if (position < naming.quant.size() && naming.quant[position]) {
    RILL_ASSIGN(wire, quantised(wire, *naming.quant[position], name, scope));
  }
  scope.values[identifier] = Value(wire);
  return {};
}

Result<OutletId> Builder::quantised(OutletId wire, const QuantType& type, const std::string& name,
                                    Scope& scope) {
  Target& target = *scope.target;
  const Fact& fact = target.graph.fact(wire);
  if (fact.dtype == type.dtype && (!is_quantised(type.dtype) || fact.q == type.q)) return wire;
  const Node& made = target.graph.node(wire.node);
  const bool own = made.line == place_.line && made.name.starts_with(str_cat(name, "_"));
  if (made.name == name || (options_.tract_names && own && !made.op->as<Source>())) {
    // Name both values as tract does.
    target.graph.nodes[static_cast<size_t>(wire.node)].name =
        target.names.claim(str_cat(name, "_raw"));
  }
  Naming naming{name, true, true, {name}, {}, {}};
  if (fact.dtype == DType::kDim) {
    const CallArgument as_float[] = {{"", nullptr, Value(wire)},
                                     {"to", nullptr, Value(std::string("f32"))}};
    RILL_ASSIGN(wire, invoke_needed("tract_core_cast", as_float, scope, naming.nested()));
  }
  naming.quant = {type};
  const CallArgument input[] = {{"", nullptr, Value(wire)}};
  RILL_ASSIGN(const OutletId out, invoke_needed("tract_core_cast", input, scope, naming));
  Node& node = target.graph.nodes[static_cast<size_t>(out.node)];
  if (!node.name.starts_with(name)) return out;
  node.name = options_.tract_names ? target.names.claim(str_cat(name, "_cast_to_q")) : name;
  return out;
}

Result<Value> Builder::parameter_value(const FragmentDecl& decl, const Parameter& parameter,
                                       const Call& call, Scope& scope, const Naming& naming) {
  if (const CallArgument* argument = find_argument(decl, call, parameter.name)) {
    if (!argument->expression) return argument->value;
    return eval(*argument->expression, scope, naming.nested());
  }
  if (parameter.default_value) {
    Scope empty;
    empty.target = scope.target;
    empty.from_document = false;
    return eval(*parameter.default_value, empty, naming.nested());
  }
  return fail(Code::kParse, "expected argument \"", parameter.name, "\" of \"", decl.name, "\"");
}

namespace {

/// Return the value of a call: its only result, or a list of all results.
[[gnu::noinline]] Value results_of(const FragmentDecl& decl, Scope* scope) {
  List results;
  for (const ResultDecl& result : decl.results) {
    results.push_back(std::move(scope->values.find(result.name)->second));
  }
  if (results.size() == 1) return std::move(results[0]);
  return Value(std::move(results));
}

/// Return the environment of a fragment's body; its results get the names that the caller assigns.
Scope inlined_scope(const Callee& callee, const Call& call, const Scope& caller,
                    const Naming& naming) {
  Scope inner;
  inner.target = caller.target;
  inner.from_document = callee.from_document;
  inner.is_inlined = true;
  inner.exact_results = naming.root && naming.exact;
  inner.prefix = shortened(str_cat(naming.statement, "_", call.callee));
  const std::vector<ResultDecl>& results = callee.decl->results;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = results[i].name;
    const bool assigned = naming.root && i < naming.targets.size();
    inner.result_names[name] = assigned              ? naming.targets[i]
                               : results.size() == 1 ? inner.prefix
                                                     : str_cat(inner.prefix, "_", name);
  }
  return inner;
}

}  // namespace

Result<Value> Builder::expand(const Callee& callee, const Call& call, Scope& scope,
                              const Naming& naming) {
  const FragmentDecl& decl = *callee.decl;
  // On the heap: a scope per nested fragment would overflow the stack.
  const auto inner = std::make_unique<Scope>();
  RILL_TRY(enter(callee, call, scope, naming, inner.get()));
  RILL_TRY(run_body(decl, *inner));
  return results_of(decl, inner.get());
}

[[gnu::noinline]] Status Builder::enter(const Callee& callee, const Call& call, Scope& scope,
                                        const Naming& naming, Scope* inner) {
  *inner = inlined_scope(callee, call, scope, naming);
  for (const Parameter& parameter : callee.decl->parameters) {
    RILL_ASSIGN(inner->values[parameter.name],
                parameter_value(*callee.decl, parameter, call, scope, naming));
  }
  return {};
}

Status Builder::run_body(const FragmentDecl& decl, Scope& scope) {
  if (contains(active_, &decl)) {
    return fail(Code::kParse, "fragment \"", decl.name, "\" calls itself");
  }
  if (static_cast<int>(active_.size()) >= kMaxFragmentDepth) {
    return fail(Code::kUnsupported, "fragments are nested over ", kMaxFragmentDepth, " deep");
  }
  const Place call_place = place_;
  active_.push_back(&decl);
  Status status;
  for (const Assignment& statement : *decl.body) {
    status = run_statement(statement, scope);
    if (!status.ok()) break;
  }
  active_.pop_back();
  place_ = call_place;
  RILL_TRY(status);
  for (const ResultDecl& result : decl.results) {
    if (scope.values.find(result.name) != scope.values.end()) continue;
    return fail(Code::kParse, "fragment \"", decl.name, "\" never assigns its result \"",
                result.name, "\"");
  }
  return {};
}

}  // namespace rill::nnef
