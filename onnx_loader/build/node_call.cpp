#include "onnx_loader/build/node_call.h"

#include <algorithm>

#include "core/optim/precision.h"

namespace rill::onnx {
namespace {

using nnef::CallArgument;
using nnef::FragmentDecl;
using nnef::Parameter;
using nnef::TypeName;
using nnef::TypeSpec;
using Type = AttributeProto::Type;

bool is_input(const Parameter& parameter) {
  return parameter.type.kind == TypeSpec::Kind::kTensor;
}

std::string_view type_text(Type type) {
  constexpr std::string_view kNames[] = {
      "of no type", "a float",   "an integer",      "a string",  "a tensor",
      "a graph",    "floats",    "integers",        "strings",   "tensors",
      "graphs",     "a sparse tensor", "sparse tensors", "a type", "types"};
  return kNames[static_cast<size_t>(type)];
}

/// Return the attribute type of a declared parameter; undefined accepts all.
Type declared_type(const TypeSpec& type) {
  switch (type.name) {
    case TypeName::kInteger:
      return type.is_array ? Type::kInts : Type::kInt;
    case TypeName::kLogical:
      return Type::kInt;
    case TypeName::kScalar:
      return type.is_array ? Type::kFloats : Type::kFloat;
    case TypeName::kString:
      return type.is_array ? Type::kStrings : Type::kString;
    default:
      return Type::kUndefined;
  }
}

template <class T>
Value list_of(const std::vector<T>& items) {
  std::vector<Value> out;
  for (const T& item : items) {
    if constexpr (std::is_same_v<T, int64_t>) {
      out.emplace_back(Dim(item));
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      out.emplace_back(std::string(item));
    } else {
      out.emplace_back(item);
    }
  }
  return Value(std::move(out));
}

Result<Value> value_of(const AttributeProto& attribute, const Parameter& parameter,
                       const std::string& name, Loader* loader, Env* env) {
  const bool logical = parameter.type.name == TypeName::kLogical;
  switch (attribute.type) {
    case Type::kFloat:
      return Value(attribute.f);
    case Type::kInt:
      return logical ? Value(attribute.i != 0) : Value(Dim(attribute.i));
    case Type::kString:
      return Value(std::string(attribute.s));
    case Type::kFloats:
      return list_of(attribute.floats);
    case Type::kInts:
      return list_of(attribute.ints);
    case Type::kStrings:
      return list_of(attribute.strings);
    case Type::kGraph:
      return Value(std::string(attribute.name));
    case Type::kTensor: {
      RILL_ASSIGN(const TensorProto proto, read_tensor_message(attribute.message));
      RILL_ASSIGN(TensorPtr tensor, loader->tensors().read(proto));
      return as_value(loader->add_const(name, std::move(tensor), env));
    }
    case Type::kSparseTensor: {
      RILL_ASSIGN(const SparseTensorProto proto, read_sparse_tensor(attribute.message));
      RILL_ASSIGN(TensorPtr tensor, loader->tensors().read_sparse(proto));
      return as_value(loader->add_const(name, std::move(tensor), env));
    }
    default:
      return fail(Code::kUnsupported, "attribute \"", attribute.name, "\" is ",
                  type_text(attribute.type), ", which rill does not read");
  }
}

/// Return the attribute, or the one that it refers to in the call of the enclosing function; null
/// if there is none.
Result<const AttributeProto*> resolved(const AttributeProto& attribute, const Env& env) {
  if (attribute.ref.empty()) return &attribute;
  if (!env.attributes) {
    return fail(Code::kParse, "attribute \"", attribute.name, "\" refers to \"", attribute.ref,
                "\" of a function, but is in no function");
  }
  for (const AttributeProto& each : *env.attributes) {
    if (each.name == attribute.ref) return &each;
  }
  return nullptr;
}

Result<CallArgument> argument_of(const AttributeProto& attribute, const FragmentDecl& decl,
                                 const std::string& name, Loader* loader, Env* env) {
  const Parameter* parameter = nullptr;
  for (const Parameter& each : decl.parameters) {
    if (!is_input(each) && each.name == attribute.name) parameter = &each;
  }
  if (!parameter) {
    std::vector<std::string> names;
    for (const Parameter& each : decl.parameters) {
      if (!is_input(each)) names.push_back(each.name);
    }
    return fail(Code::kUnsupported, "attribute \"", attribute.name,
                "\" is not known for this operator and opset")
        .hint(names.empty() ? "It has no attributes"
                            : str_cat("Its attributes are ", join(names, ", ")));
  }
  RILL_ASSIGN(const AttributeProto* found, resolved(attribute, *env));
  if (!found) return CallArgument{};
  const Type expected = declared_type(parameter->type);
  // Empty lists have no elements, so only the type identifies them.
  if (expected != Type::kUndefined && found->type != expected) {
    return fail(Code::kDType, "attribute \"", attribute.name, "\": expected ", type_text(expected),
                ", found ", type_text(found->type));
  }
  RILL_ASSIGN(Value value,
              value_of(*found, *parameter, str_cat(name, "_", parameter->name), loader, env));
  return CallArgument{parameter->name, nullptr, std::move(value)};
}

}  // namespace

Result<std::vector<CallArgument>> arguments_of(const NodeProto& node, const FragmentDecl& decl,
                                               const std::string& name, Loader* loader, Env* env) {
  std::vector<CallArgument> out;
  size_t next = 0;
  for (const Parameter& parameter : decl.parameters) {
    if (!is_input(parameter) || next >= node.inputs.size()) continue;
    if (!parameter.type.is_array) {
      const std::string_view input = node.inputs[next++];
      if (input.empty()) continue;
      RILL_ASSIGN(const OutletId wire, loader->find(input, env));
      out.push_back({parameter.name, nullptr, Value(wire)});
      continue;
    }
    std::vector<Value> list;
    for (; next < node.inputs.size(); ++next) {
      RILL_ASSIGN(const OutletId wire, loader->find(node.inputs[next], env));
      list.emplace_back(wire);
    }
    out.push_back({parameter.name, nullptr, Value(std::move(list))});
  }
  if (next < node.inputs.size()) {
    const auto most = std::count_if(decl.parameters.begin(), decl.parameters.end(), is_input);
    return fail(Code::kParse, "the node has ", counted(node.inputs.size(), "input"),
                ", expected at most ", static_cast<int64_t>(most));
  }
  for (const AttributeProto& attribute : node.attributes) {
    const auto has_its_name = [&](const AttributeProto& other) {
      return other.name == attribute.name;
    };
    if (std::count_if(node.attributes.begin(), node.attributes.end(), has_its_name) > 1) {
      return fail(Code::kParse, "attribute \"", attribute.name, "\" is given twice");
    }
    RILL_ASSIGN(CallArgument argument, argument_of(attribute, decl, name, loader, env));
    if (!argument.name.empty()) out.push_back(std::move(argument));
  }
  return out;
}

Result<TensorPtr> NodeCall::constant(std::string_view name) {
  RILL_ASSIGN(const OutletId found, call_.wire(name));
  if (const TensorPtr value = fact(found).konst) return value;
  return fail(Code::kUnsupported, "input \"", name, "\" depends on data")
      .hint("Give its value: --constantize NAME=VALUE for the input that it depends on");
}

const OnnxCtx::Quantised* NodeCall::quantised(OutletId real) const {
  for (const Env* env = &env_; env; env = env->captured ? nullptr : env->outer) {
    const auto found = env->quantised.find(real);
    if (found != env->quantised.end()) return &found->second;
  }
  return nullptr;
}

Result<Value> NodeCall::call(std::string_view nnef, std::span<const Argument> arguments) {
  std::vector<CallArgument> list;
  for (const Argument& each : arguments) list.push_back({each.name, nullptr, each.value});
  return loader_.builder().call({nnef, list, {}}, *env_.scope, naming_);
}

Result<std::shared_ptr<const GraphProto>> NodeCall::graph_attribute(std::string_view attribute) {
  const AttributeProto* found = node_.attribute(attribute);
  if (!found || found->type != Type::kGraph) {
    return fail(Code::kParse, "expected a graph as the attribute \"", attribute, "\"");
  }
  if (found->graph) return found->graph;
  RILL_ASSIGN(GraphProto graph, loader_.read(found->message));
  return std::make_shared<const GraphProto>(std::move(graph));
}

Result<std::vector<OutletId>> NodeCall::branch(std::string_view attribute,
                                                std::span<const OutletId> inputs) {
  RILL_ASSIGN(const auto held, graph_attribute(attribute));
  const GraphProto& graph = *held;
  if (graph.inputs.size() != inputs.size()) {
    return fail(Code::kParse, "the graph \"", attribute, "\" has ",
                counted(graph.inputs.size(), "input"), ", expected ", inputs.size());
  }
  RILL_ASSIGN(Env env, loader_.inner(&env_));
  for (size_t i = 0; i < inputs.size(); ++i) env.values[graph.inputs[i].name] = inputs[i];
  RILL_TRY(loader_.run_graph(graph, &env));
  return loader_.outputs_of(graph, &env);
}

Result<OnnxCtx::Body> NodeCall::body(std::string_view attribute, std::span<const Fact> facts) {
  RILL_ASSIGN(const auto held, graph_attribute(attribute));
  const GraphProto& graph = *held;
  if (graph.inputs.size() != facts.size()) {
    return fail(Code::kParse, "the graph \"", attribute, "\" has ",
                counted(graph.inputs.size(), "input"), ", expected ", facts.size());
  }
  RILL_ASSIGN(Env env, loader_.inner(&env_));
  Body body;
  nnef::Target target;
  nnef::Scope scope;
  target.graph.name = graph.name;
  target.graph.scope = env_.graph().scope;
  const size_t asserted = target.graph.scope.assertions().size();
  scope.target = &target;
  env.scope = &scope;
  env.captured = &body.captured;
  for (size_t i = 0; i < facts.size(); ++i) {
    const std::string_view name = graph.inputs[i].name;
    const OutletId wire = target.graph.add_source(target.names.claim(name), facts[i]);
    target.sizes.clamp(&target.graph, wire);
    env.values[name] = wire;
  }
  RILL_TRY(loader_.run_graph(graph, &env));
  RILL_ASSIGN(const std::vector<OutletId> outputs, loader_.outputs_of(graph, &env));
  for (size_t i = 0; i < outputs.size(); ++i) {
    target.graph.add_output(graph.outputs[i].name, outputs[i]);
  }
  // Symbols created in the body must not be created again outside. Its assertions hold outside too,
  // and its numbers must.
  for (const std::string& symbol : target.graph.scope.symbols()) {
    env_.graph().scope.declare(symbol);
  }
  const auto& assertions = target.graph.scope.assertions();
  for (size_t i = asserted; i < assertions.size(); ++i) {
    RILL_TRY(env_.graph().scope.assert_text(assertions[i].text));
  }
  nnef::add_taken(target.graph.scope, &env_.graph().scope);
  RILL_ASSIGN(body.graph, upcast_chains(std::move(target.graph), loader_.modules()));
  return body;
}

}  // namespace rill::onnx
