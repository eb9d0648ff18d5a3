#include "nnef_loader/build/call.h"

#include <array>

#include "core/base/search.h"

namespace rill::nnef {
bool creates_symbols(std::string_view callee, std::string_view parameter) {
  constexpr std::array<std::array<std::string_view, 2>, 9> kPlaces = {{
      {"external", "shape"},
      {"tract_core_external", "shape"},
      {"slice", "begin"},
      {"slice", "end"},
      {"tract_core_broadcast", "shape"},
      {"tract_transformers_dyn_kv_cache", "past_sequence_shape"},
      {"tract_transformers_dyn_kv_cache", "input_sequence_shape"},
      {"tract_transformers_quantized_dyn_kv_cache", "past_sequence_shape"},
      {"tract_transformers_quantized_dyn_kv_cache", "input_sequence_shape"},
  }};
  if (callee.starts_with("tract_pulse_")) return parameter != "input";
  return any_of(kPlaces,
                [&](const auto& place) { return place[0] == callee && place[1] == parameter; });
}

namespace {

bool is_integer(const TypeSpec& type) {
  return type.kind == TypeSpec::Kind::kPlain && type.name == TypeName::kInteger;
}

}  // namespace

std::vector<CallArgument> CallCtx::evaluated() const {
  std::vector<CallArgument> out;
  for (size_t i = 0; i < call_.arguments.size(); ++i) {
    const CallArgument& each = call_.arguments[i];
    out.push_back({each.name, nullptr, values_[i].value_or(each.value)});
  }
  return out;
}

Status CallCtx::blame(Status status, std::string_view name) const {
  if (status.ok()) return status;
  if (status.error().message.find("argument \"") == std::string::npos) {
    status.error().message = str_cat("argument \"", name, "\": ", status.error().message);
  }
  return builder_.placed(std::move(status));
}

const Parameter* CallCtx::parameter(std::string_view name) const {
  for (const Parameter& candidate : decl_.parameters) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

bool CallCtx::given(std::string_view name) const {
  return find_argument(decl_, call_, name) != nullptr;
}

bool CallCtx::has(std::string_view name) const {
  const Parameter* declared = parameter(name);
  return given(name) || (declared && declared->default_value);
}

Result<Value> CallCtx::value(std::string_view name) {
  if (const CallArgument* argument = find_argument(decl_, call_, name)) {
    if (!argument->expression) return argument->value;
    auto& cached = values_[static_cast<size_t>(argument - call_.arguments.data())];
    if (!cached) {
      RILL_ASSIGN(Value found, builder_.eval(*argument->expression, scope_, naming_.nested(),
                                             creates_symbols(call_.callee, name)));
      const Parameter* declared = parameter(name);
      if (declared && is_integer(declared->type)) RILL_TRY(blame(read_dims(&found), name));
      cached = std::move(found);
    }
    return *cached;
  }
  return default_value(name);
}

// The writer emits dims as strings if NNEF has no expression for them.
Status CallCtx::read_dims(Value* value) const {
  if (value->get<std::string>()) {
    RILL_ASSIGN(*value, dim_of(*value, scope_.target->graph));
  } else if (auto* list = std::get_if<List>(&value->v)) {
    for (Value& item : *list) RILL_TRY(read_dims(&item));
  }
  return {};
}

// On the heap: a scope per nested call would overflow the stack.
[[gnu::noinline]] Result<Value> CallCtx::default_value(std::string_view name) {
  const Parameter* declared = parameter(name);
  if (declared && declared->default_value) {
    Scope empty;
    empty.target = scope_.target;
    empty.from_document = false;
    return builder_.eval(*declared->default_value, empty, naming_.nested());
  }
  return fail(Code::kParse, "expected argument \"", name, "\" of \"", call_.callee, "\"");
}

Result<OutletId> CallCtx::wire(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  auto out = builder_.to_wire(found, scope_, str_cat(name_, "_", name));
  if (!out.ok()) return blame(out.take_status(), name);
  return out;
}

Result<std::vector<OutletId>> CallCtx::wires(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  const List* list = found.get<List>();
  const std::span<const Value> items =
      list ? std::span<const Value>(*list) : std::span<const Value>(&found, 1);
  std::vector<OutletId> out;
  for (const Value& item : items) {
    auto one = builder_.to_wire(item, scope_, str_cat(name_, "_", name));
    if (!one.ok()) return blame(one.take_status(), name);
    out.push_back(*one);
  }
  return out;
}

Result<Dim> CallCtx::dim(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  auto out = dim_of(found, graph());
  if (!out.ok()) return blame(out.take_status(), name);
  return out;
}

Result<std::vector<Dim>> CallCtx::dims(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  RILL_ASSIGN(const List elements, elements_of(found, graph()));
  std::vector<Dim> out;
  for (const Value& element : elements) {
    // A nested list contributes its elements.
    RILL_ASSIGN(const List parts, elements_of(element, graph()));
    for (const Value& part : parts) {
      auto one = dim_of(part, graph());
      if (!one.ok()) return blame(one.take_status(), name);
      out.push_back(*one);
    }
  }
  return out;
}

Result<int64_t> CallCtx::integer(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  auto out = integer_of(found, graph());
  if (!out.ok()) return blame(out.take_status(), name);
  return out;
}

Result<std::vector<int64_t>> CallCtx::integers(std::string_view name) {
  RILL_ASSIGN(const std::vector<Dim> list, dims(name));
  std::vector<int64_t> out;
  for (const Dim& item : list) {
    auto one = item.as_int();
    if (!one.ok()) return blame(one.take_status(), name);
    out.push_back(*one);
  }
  return out;
}

Result<float> CallCtx::number(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  auto out = number_of(found, graph());
  if (!out.ok()) return blame(out.take_status(), name);
  return out;
}

Result<bool> CallCtx::boolean(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  auto out = boolean_of(found, graph());
  if (!out.ok()) return blame(out.take_status(), name);
  return out;
}

Result<std::string> CallCtx::text(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  auto out = text_of(found, graph());
  if (!out.ok()) return blame(out.take_status(), name);
  return out;
}

Result<Pads> CallCtx::pads(std::string_view name) {
  RILL_ASSIGN(const Value found, value(name));
  RILL_ASSIGN(const List elements, elements_of(found, graph()));
  Pads out;
  for (const Value& element : elements) {
    RILL_ASSIGN(const List pair, elements_of(element, graph()));
    if (pair.size() != 2) {
      return blame(
          fail(Code::kParse, "expected a list of (before, after), found an entry of ", pair.size()),
          name);
    }
    auto before = integer_of(pair[0], graph());
    auto after = integer_of(pair[1], graph());
    if (!before.ok()) return blame(before.take_status(), name);
    if (!after.ok()) return blame(after.take_status(), name);
    out.emplace_back(*before, *after);
  }
  return out;
}

Result<OutletId> CallCtx::to_wire(const Value& value) {
  return builder_.to_wire(value, scope_, str_cat(name_, "_const"));
}

Result<Dim> CallCtx::to_dim(const Value& value) { return dim_of(value, graph()); }

std::string CallCtx::claim_name(std::string_view suffix) {
  const bool plain = suffix.empty();
  const bool inner = naming_.root && !naming_.parts.empty();
  const std::string& stem = inner ? naming_.parts : name_;
  return scope_.target->names.claim(plain ? name_ : str_cat(stem, "_", suffix),
                                    plain && naming_.root && naming_.exact);
}

Result<std::vector<OutletId>> CallCtx::add(OpPtr op, WireList inputs, std::string_view suffix) {
  const std::string name = claim_name(suffix);
  auto outlets = graph().add_folded(name, std::move(op), inputs, line());
  if (!outlets.ok()) return builder_.placed(outlets.take_status());
  RILL_TRY(builder_.audit(scope_.target));
  return outlets;
}

Result<OutletId> CallCtx::konst(Tensor value, std::string_view suffix) {
  const OutletId outlet = graph().add_const(
      claim_name(suffix), std::make_shared<const Tensor>(std::move(value)), line());
  RILL_TRY(builder_.audit(scope_.target));
  return outlet;
}

std::optional<QuantType> CallCtx::quant(int output) const {
  const auto index = static_cast<size_t>(output);
  if (!naming_.root || index >= naming_.quant.size()) return std::nullopt;
  return naming_.quant[index];
}

std::string CallCtx::assigned_name(int output) const {
  const auto index = static_cast<size_t>(output);
  if (naming_.root && index < naming_.targets.size()) return naming_.targets[index];
  return output == 0 ? name_ : str_cat(name_, "_", output);
}

Result<TensorPtr> CallCtx::resource(std::string_view label) {
  return builder_.resources().tensor(label);
}

Result<const FragmentDecl*> CallCtx::body(std::string_view fragment) const {
  if (const FragmentDecl* decl = builder_.index().fragment(fragment)) return decl;
  return fail(Code::kParse, "no fragment \"", fragment, "\" with a body in the file");
}

Result<std::vector<std::string>> CallCtx::fragment_parameters(std::string_view fragment) {
  RILL_ASSIGN(const FragmentDecl* decl, body(fragment));
  std::vector<std::string> names;
  for (const Parameter& each : decl->parameters) names.push_back(each.name);
  return names;
}

Result<std::vector<std::string>> CallCtx::fragment_results(std::string_view fragment) {
  RILL_ASSIGN(const FragmentDecl* decl, body(fragment));
  std::vector<std::string> names;
  for (const ResultDecl& each : decl->results) names.push_back(each.name);
  return names;
}

Result<Graph> CallCtx::fragment_graph(std::string_view fragment, std::span<const Fact> facts) {
  return builder_.body_graph(fragment, facts, scope_.target);
}

}  // namespace rill::nnef
