#include "nnef_loader/build/builder.h"
#include "nnef_loader/build/taken.h"
#include "nnef_loader/properties.h"

namespace rill::nnef {
namespace {

/// Evaluates the expressions of properties: literals, lists of them, and casts.
Result<Tensor> property_value(const RValue& expression, const Graph& empty);

Result<Value> literal_value(const RValue& expression) {
  if (const auto* text = expression.as<StringLiteral>()) return Value(text->value);
  if (const auto* number = expression.as<NumberLiteral>()) return value_of(*number);
  if (const auto* truth = expression.as<LogicalLiteral>()) return Value(truth->value);
  const auto* array = expression.as<ArrayExpr>();
  if (!array) return fail(Code::kUnsupported, kind_text(expression), " is not a constant");
  List list;
  for (const RValue& item : array->items) {
    RILL_ASSIGN(Value value, literal_value(item));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Result<Tensor> cast_value(const Invocation& call, const Graph& empty) {
  const RValue* to = nullptr;
  for (const Argument& argument : call.arguments) {
    if (argument.name == "to") to = &argument.value;
  }
  if (!to && call.arguments.size() == 2) to = &call.arguments[1].value;
  const auto* text = to ? to->as<StringLiteral>() : nullptr;
  if (call.callee != "tract_core_cast" || call.arguments.empty() || !text) {
    return fail(Code::kUnsupported, "\"", call.callee, "\" is not a constant");
  }
  RILL_ASSIGN(const NamedType type, type_from_text(text->value));
  RILL_ASSIGN(const Tensor input, property_value(call.arguments[0].value, empty));
  return cast(input, type.dtype, type.q);
}

Result<Tensor> property_value(const RValue& expression, const Graph& empty) {
  if (const auto* call = expression.as<Invocation>()) return cast_value(*call, empty);
  RILL_ASSIGN(const Value value, literal_value(expression));
  RILL_ASSIGN(std::optional<Tensor> tensor, constant_of(value, empty));
  if (!tensor) return fail(Code::kInternal, "literals are constants");
  return std::move(*tensor);
}

const FragmentDecl* properties_fragment(const Document& document) {
  for (const FragmentDecl& fragment : document.fragments) {
    if (fragment.name == "tract_core_properties" && fragment.body) return &fragment;
  }
  return nullptr;
}

}  // namespace

Status read_properties(const Document& document, const Builder& builder, Graph* graph) {
  const FragmentDecl* fragment = properties_fragment(document);
  if (!fragment || fragment->body->empty()) return {};
  const auto* array = fragment->body->front().right.as<ArrayExpr>();
  if (!array) {
    builder.warn("Ignore properties: expected a list of (name, value)");
    return {};
  }
  const auto placed = [&](Status status) {
    const Place& place = fragment->place;
    return std::move(status).at(kGraphFile, place.line, place.column);
  };
  std::map<std::string, Tensor> properties;
  const Graph empty;
  for (const RValue& item : array->items) {
    const auto* pair = item.as<TupleExpr>();
    const auto* key =
        pair && pair->items.size() == 2 ? pair->items[0].as<StringLiteral>() : nullptr;
    if (!key) {
      builder.warn(
          str_cat("Ignore property at line ", item.place.line, ": expected (name, value)"));
      continue;
    }
    auto value = property_value(pair->items[1], empty);
    if (!value.ok()) {
      if (describes_streams(key->value) || key->value == kTakenKey) {
        return placed(
            fail(Code::kParse, "property \"", key->value, "\": ", value.error().message));
      }
      builder.warn(str_cat("Ignore property \"", key->value, "\": ", value.error().message));
      continue;
    }
    properties.insert_or_assign(key->value, std::move(value).value());
  }
  Status applied = set_properties(std::move(properties), graph);
  if (!applied.ok()) return placed(std::move(applied));
  if (const auto taken = graph->properties.find(std::string(kTakenKey));
      taken != graph->properties.end()) {
    Status read = take_texts(taken->second, &graph->scope);
    if (!read.ok()) return placed(std::move(read));
    graph->properties.erase(taken);
  }
  // The name of the graph, if the graph's line could not hold it.
  const auto name = graph->properties.find(std::string(kGraphNameKey));
  if (name == graph->properties.end() || name->second.dtype() != DType::kString ||
      name->second.volume() != 1) {
    return {};
  }
  graph->name = *name->second.data<std::string>();
  graph->properties.erase(name);
  return {};
}

}  // namespace rill::nnef
