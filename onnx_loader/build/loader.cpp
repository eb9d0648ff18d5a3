#include "onnx_loader/build/loader.h"

#include <algorithm>
#include <array>

#include "core/base/limits.h"
#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/graph/walk.h"
#include "core/optim/precision.h"
#include "onnx_loader/build/appended.h"
#include "onnx_loader/build/in_f32.h"
#include "onnx_loader/build/masks.h"
#include "onnx_loader/build/node_call.h"
#include "onnx_loader/build/order.h"
#include "onnx_loader/build/sequences.h"

namespace rill::onnx {
namespace {

constexpr int kMostWarnings = 8;
constexpr std::string_view kFormatKey = "onnx.";
/// Operators between the last layer of a network and its output that keep the shape.
constexpr std::array<std::string_view, 12> kElementwise = {"Add",  "Cast",     "Clip", "Div",
                                                           "Exp",  "Identity", "Mul",  "Neg",
                                                           "Relu", "Sigmoid",  "Sub",  "Tanh"};

int64_t version_of(const Opsets& opsets, std::string_view domain) {
  for (const auto& [name, version] : opsets) {
    if (name == domain) return version;
  }
  return 0;
}

std::string node_name(const NodeProto& node, const Env& env) {
  std::string_view name = node.name;
  for (const std::string_view output : node.outputs) {
    if (name.empty()) name = output;
  }
  return str_cat(env.prefix, name.empty() ? node.op_type : name);
}

/// Add the file's node, its operator and the opset to an error.
Status blamed(Status status, const NodeProto& node, const std::string& name, int64_t version) {
  Error& error = status.error();
  // Report the innermost of nested nodes.
  if (error.op.find(", opset ") != std::string::npos) return status;
  error.node = name;
  error.op =
      str_cat(node.domain, node.domain.empty() ? "" : ".", node.op_type, ", opset ", version);
  if (!node.trace.empty() && error.hint.empty()) {
    const std::string_view last = trimmed(node.trace.substr(0, node.trace.find('\n')));
    error.hint = str_cat("The node comes from ", last);
  }
  return status;
}

}  // namespace

Loader::Loader(const ModelProto& model, ProtoBudget budget, TensorReader tensors,
               const Operators& ops, const LoadOptions& options, const Findings& findings)
    : model_(model),
      modules_(ops.modules),
      budget_(budget),
      tensors_(std::move(tensors)),
      options_(options),
      findings_(findings),
      index_(ops.onnx),
      no_resources_({}),
      nnef_index_(ops.modules, options.left_out),
      builder_(no_document_, no_quant_, &no_resources_, &nnef_index_, options) {
  nnef_index_.enable_all();
}

void Loader::warn(std::string_view message) {
  if (!options_.warn || warnings_ > kMostWarnings) return;
  const bool last = warnings_++ == kMostWarnings;
  options_.warn(options_.warn_user, last ? "More of the file's shapes do not hold" : message);
}

Status Loader::check_opsets() {
  constexpr int64_t kOldestIr = 3;
  if (model_.ir_version < kOldestIr) {
    return fail(Code::kUnsupported, "the file is of IR version ", model_.ir_version, ", expected ",
                kOldestIr, " or newer")
        .hint("Convert it, as onnx.version_converter does");
  }
  const int64_t version = version_of(model_.opsets, "");
  if (version > kNewestOpset) {
    warn(str_cat("The file is of opset ", version, ", read as ", kNewestOpset,
                 ", the newest that rill knows"));
  }
  return {};
}

Result<Graph> Loader::build() {
  RILL_TRY(check_opsets());
  if (model_.graph.empty()) return fail(Code::kParse, "the file has no graph");
  RILL_ASSIGN(const GraphProto graph, read_graph(model_.graph, &budget_));
  target_.graph.name = graph.name;
  nnef::Scope scope;
  scope.target = &target_;
  Env env;
  env.scope = &scope;
  env.opsets = &model_.opsets;
  for (const ValueInfo& info : graph.value_info) declared_.emplace(info.name, &info);
  for (const ValueInfo& info : graph.outputs) declared_.emplace(info.name, &info);
  for (const ValueInfo& info : graph.inputs) {
    for (const DimProto& dim : info.shape) extent_names_.insert(dim.param);
  }
  for (const NodeProto& node : graph.nodes) {
    const auto is_it = [&](std::string_view name) { return name == node.op_type; };
    if (none_of(kElementwise, is_it)) continue;
    for (const std::string_view input : node.inputs) {
      for (const std::string_view output : node.outputs) made_of_.emplace(input, output);
    }
  }
  keep_metadata(graph, &target_.graph);
  for (const std::string& text : options_.assertions) {
    RILL_TRY(target_.graph.scope.assert_text(text));
  }
  Status status = add_inputs(graph, &env);
  if (status.ok()) status = run_graph(graph, &env);
  if (status.ok()) status = add_outputs(graph, &env);
  if (!status.ok() && options_.read_so_far) *options_.read_so_far = target_.graph;
  RILL_TRY(std::move(status));
  return upcast_chains(std::move(target_.graph), modules_);
}

void Loader::keep_metadata(const GraphProto&, Graph* out) {
  const auto keep = [&](std::string_view key, std::string_view text) {
    if (text.empty()) return;
    out->properties[str_cat(kFormatKey, key)] = Tensor::scalar(std::string(text));
  };
  keep("producer_name", model_.producer);
  keep("producer_version", model_.producer_version);
  for (const auto& [key, text] : model_.metadata) {
    out->properties[std::string(key)] = Tensor::scalar(std::string(text));
  }
}

Result<OutletId> Loader::add_const(std::string_view name, TensorPtr value, Env* env) {
  nnef::Target& target = *env->scope->target;
  const OutletId wire = target.graph.add_const(target.names.claim(name), std::move(value));
  RILL_TRY(builder_.audit(&target));
  return wire;
}

Result<OutletId> Loader::find(std::string_view name, Env* env) {
  if (const auto it = env->values.find(name); it != env->values.end()) return it->second;
  if (const auto it = env->constants.find(name); it != env->constants.end()) {
    // Other nodes would compute with bytes where the file has fewer bits.
    const bool packed = dequantizes_ && is_packed(*it->second);
    RILL_ASSIGN(TensorPtr tensor,
                packed ? tensors_.read_packed(*it->second) : tensors_.read(*it->second));
    RILL_ASSIGN(const OutletId wire, add_const(str_cat(env->prefix, name), std::move(tensor), env));
    if (!packed) env->values.emplace(name, wire);
    return wire;
  }
  if (env->lists.contains(name)) {
    return fail(Code::kUnsupported, "\"", name, "\" is a sequence, expected a tensor");
  }
  if (env->absent.contains(name)) {
    return fail(Code::kUnsupported, "the optional value \"", name, "\" is absent");
  }
  if (!env->outer) {
    return fail(Code::kParse, "the value \"", name, "\" is read, but nothing computes it")
        .hint("The file lacks an input, a constant or a node of this name");
  }
  RILL_ASSIGN(OutletId wire, find(name, env->outer));
  if (env->captured) {
    RILL_ASSIGN(wire, captured(wire, name, env));
    env->values.emplace(name, wire);
  }
  return wire;
}

Result<OutletId> Loader::captured(OutletId outside, std::string_view name, Env* env) {
  const Fact& fact = env->outer->graph().fact(outside);
  nnef::Target& target = *env->scope->target;
  if (fact.konst) {
    RILL_ASSIGN(const OutletId wire, add_const(name, fact.konst, env));
    const TensorPtr real = env->outer->scope->target->sizes.value(outside);
    if (real) target.sizes.set_value(target.graph, wire, real);
    if (env->outer->scope->target->sizes.is_of_32_bits(outside)) target.sizes.set_32_bits(wire);
    return wire;
  }
  env->captured->push_back(outside);
  const OutletId wire = target.graph.add_source(target.names.claim(name), fact);
  target.sizes.clamp(&target.graph, wire);
  return wire;
}

Result<const Sequence*> Loader::find_sequence(std::string_view name, Env* env) {
  if (const auto it = env->lists.find(name); it != env->lists.end()) return &it->second;
  if (!is_sequence(name, *env)) return nullptr;
  RILL_ASSIGN(const Sequence* outside, find_sequence(name, env->outer));
  if (!env->captured) return outside;
  Sequence all;
  for (const OutletId& item : outside->items) {
    RILL_ASSIGN(const OutletId wire, captured(item, name, env));
    all.items.push_back(wire);
  }
  if (outside->rows.valid()) {
    RILL_ASSIGN(all.rows, captured(outside->rows, name, env));
  }
  RILL_TRY(keep_sequence(name, std::move(all), env));
  return &env->lists.at(name);
}

Status Loader::keep_sequence(std::string_view name, Sequence all, Env* env) {
  RILL_TRY(take_tensors(static_cast<int64_t>(all.items.size())));
  if (env->lists.emplace(name, std::move(all)).second) return {};
  return fail(Code::kParse, "the value \"", name, "\" is computed twice");
}

std::optional<int> Loader::stated_rank(std::string_view name) const {
  constexpr int kMostSteps = 32;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto at = declared_.find(name);
    if (at != declared_.end() && at->second->has_shape) {
      return static_cast<int>(at->second->shape.size());
    }
    const auto next = made_of_.find(name);
    if (next == made_of_.end()) break;
    name = next->second;
  }
  return std::nullopt;
}

Result<Env> Loader::inner(Env* outer) {
  if (outer->depth >= kMaxGraphDepth) {
    return fail(Code::kUnsupported, "graphs are nested over ", kMaxGraphDepth, " deep");
  }
  Env env;
  env.outer = outer;
  env.scope = outer->scope;
  env.opsets = outer->opsets;
  env.attributes = outer->attributes;
  env.prefix = outer->prefix;
  env.depth = outer->depth + 1;
  return env;
}

Status Loader::run_graph(const GraphProto& graph, Env* env) {
  for (const TensorProto& tensor : graph.initializers) {
    if (env->constants.emplace(tensor.name, &tensor).second) continue;
    return fail(Code::kParse, "the file has two constants \"", tensor.name, "\"");
  }
  for (const SparseTensorProto& sparse : graph.sparse_initializers) {
    RILL_ASSIGN(TensorPtr tensor, tensors_.read_sparse(sparse));
    RILL_ASSIGN(const OutletId wire, add_const(sparse.values.name, std::move(tensor), env));
    env->values.emplace(sparse.values.name, wire);
  }
  const auto masked = without_places(graph);
  if (!masked) return run_nodes(graph.nodes, env);
  RILL_ASSIGN(const std::vector<const NodeProto*> ordered, in_order(masked->nodes, budget_));
  for (size_t i = 0; i < ordered.size(); ++i) {
    const NodeProto* const node = ordered[i];
    if (!env->outer) RILL_TRY(progress(i, ordered.size()));
    if (!node->outputs.empty() && masked->selected.contains(node->outputs[0])) {
      RILL_TRY(check_selection(*node, env));
    }
    RILL_TRY(run_node(*node, env));
  }
  return {};
}

Status Loader::check_selection(const NodeProto& node, Env* env) {
  RILL_ASSIGN(const OutletId mask, find(node.inputs[0], env));
  RILL_ASSIGN(const OutletId value, find(node.inputs[1], env));
  RILL_ASSIGN(const OutletId data, find(node.inputs[2], env));
  const Graph& graph = env->graph();
  const Fact& written = graph.fact(value);
  const Fact& all = graph.fact(data);
  const bool fits = written.shape == all.shape ||
                    (written.rank() <= all.rank() && volume(written.shape) == Dim(1));
  const Fact& set = graph.fact(mask);
  if (set.dtype == DType::kBool && set.shape == all.shape && fits) return {};
  return blamed(fail(Code::kUnsupported, "where ", set, " is set, ", written, " is written to ",
                     all, ": expected a mask and values of its shape"),
                node, node_name(node, *env), version_of(*env->opsets, node.domain));
}

Status Loader::run_nodes(const std::vector<NodeProto>& nodes, Env* env) {
  RILL_ASSIGN(const std::vector<const NodeProto*> ordered, in_order(nodes, budget_));
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (!env->outer) RILL_TRY(progress(i, ordered.size()));
    RILL_TRY(run_node(*ordered[i], env));
  }
  return {};
}

Result<std::vector<OutletId>> Loader::outputs_of(const GraphProto& graph, Env* env) {
  std::vector<OutletId> out;
  for (const ValueInfo& info : graph.outputs) {
    RILL_ASSIGN(const OutletId wire, find(info.name, env));
    out.push_back(wire);
  }
  return out;
}

const FunctionProto* Loader::function_of(const NodeProto& node) const {
  for (const FunctionProto& each : model_.functions) {
    if (each.name == node.op_type && each.domain == node.domain && each.overload == node.overload) {
      return &each;
    }
  }
  return nullptr;
}

Status Loader::run_node(const NodeProto& node, Env* env) {
  const std::string name = node_name(node, *env);
  const FunctionProto* function = function_of(node);
  const int64_t version = version_of(*env->opsets, node.domain);
  const int64_t read_as = std::min(version, kNewestOpset);
  dequantizes_ = !function && node.op_type == "DequantizeLinear";
  Status status;
  if (!function && is_of_sequences(node, *env)) {
    take_inputs(node, name, env);
    status = run_sequences(node, read_as, name, this, env);
  } else if (!function && AppendingLoop::is_loop(node)) {
    take_inputs(node, name, env);
    status = run_loop(node, read_as, name, env);
  } else {
    auto outlets =
        function ? run_function(*function, node, name, env) : read_node(node, read_as, name, env);
    status = outlets.ok() ? bind_outputs(node, *outlets, env) : outlets.take_status();
  }
  dequantizes_ = false;
  if (status.ok()) return {};
  // Include enclosing nodes: one of these may choose whether the node runs at all.
  if (env->scope->target == &target_) {
    for (const std::string_view input : node.inputs) {
      if (input.empty()) continue;
      const auto wire = find(input, env);
      if (wire.ok()) read_by_refused_.push_back(*wire);
    }
  }
  return blamed(std::move(status), node, name, version);
}

Status Loader::run_loop(const NodeProto& node, int64_t version, const std::string& name, Env* env) {
  AppendingLoop loop(node, name, this, env);
  RILL_TRY(loop.look());
  Status appended;
  if (loop.appends()) {
    appended = loop.run(version);
    // In an unrolled loop, rows may differ between iterations.
    if (appended.ok() || loop.has_sequences()) return appended;
  }
  auto outlets = read_node(loop.appends() ? node : loop.plain(), version, name, env);
  if (outlets.ok()) return bind_outputs(node, *outlets, env);
  return loop.appends() ? std::move(appended) : outlets.take_status();
}

bool Loader::find_equal(Findings* findings) const {
  findings->equal.insert(findings->equal.end(), expected_.begin(), expected_.end());
  return !expected_.empty();
}

bool Loader::find_out(Findings* findings) const {
  const bool expected = find_equal(findings);
  if (demanded_) {
    findings->equal.push_back(*demanded_);
    return true;
  }
  if (expected) return true;
  // Shapes depend on integers and bools, and on lists of few floats: scales or limits.
  constexpr int64_t kShort = 16;
  const auto is_known = [&](const std::string& name, bool floats) {
    for (const auto& [input, value] : options_.values) {
      if (input != name) continue;
      const bool is_short = value->rank() <= 1 && value->volume() <= kShort;
      return !is_float(value->dtype()) || (floats && is_short);
    }
    return false;
  };
  for (const bool floats : {false, true}) {
    bool any = false;
    for (const OutletId& wire : read_by_refused_) {
      for (const OutletId& input : target_.graph.inputs) {
        const std::string& name = target_.graph.node(input.node).name;
        const auto is_it = [&](int id) { return id == input.node; };
        if (!is_known(name, floats) || !any_before(target_.graph, wire, is_it)) continue;
        std::vector<std::string>& known = findings->known;
        if (contains(known, name)) continue;
        known.push_back(name);
        any = true;
      }
    }
    if (any) return true;
  }
  return false;
}

Result<std::vector<OutletId>> Loader::read_node(const NodeProto& node, int64_t version,
                                                const std::string& name, Env* env) {
  if (version <= 0) {
    return fail(Code::kParse, "the file imports no opset of the domain \"", node.domain, "\"");
  }
  RILL_ASSIGN(const OnnxCallee callee, index_.find(node.domain, node.op_type, version));
  RILL_ASSIGN(std::vector<nnef::CallArgument> arguments,
              arguments_of(node, *callee.decl, name, this, env));
  const NodeCalled called{node, version, name, callee, std::move(arguments)};
  RILL_ASSIGN(std::vector<OutletId> outlets, call_node(called, env));
  RILL_TRY(follow_sizes(called, &outlets, env));
  return outlets;
}

Result<std::vector<OutletId>> Loader::call_node(const NodeCalled& called, Env* env) {
  const auto& [node, version, name, callee, given] = called;
  std::vector<nnef::CallArgument> arguments = given;
  CallInF32 wide(&builder_, env->scope, name);
  if (callee.rounding == Rounding::kOnce) RILL_TRY(wide.upcast(&arguments));
  const nnef::Call call{node.op_type, arguments, {}};
  nnef::Naming naming{name, true, false, {}, {}, {}};
  for (const std::string_view output : node.outputs) naming.targets.emplace_back(output);
  if (naming.targets.empty()) naming.targets.push_back(name);
  wide.rename(&naming);
  Value value;
  if (callee.load) {
    NodeCall ctx(this, env, node, version, *callee.decl, call, naming);
    RILL_ASSIGN(value, callee.load(ctx));
  } else {
    RILL_ASSIGN(value, builder_.expand({callee.decl, nullptr, false}, call, *env->scope, naming));
  }
  RILL_TRY(builder_.audit(env->scope->target));
  std::vector<OutletId> outlets;
  const auto* list = value.get<nnef::List>();
  const std::span<const Value> items =
      list ? std::span<const Value>(*list) : std::span<const Value>(&value, 1);
  for (const Value& item : items) {
    RILL_ASSIGN(const OutletId wire, builder_.to_wire(item, *env->scope, name));
    outlets.push_back(wire);
  }
  RILL_TRY(wide.narrow(&outlets));
  return outlets;
}

Result<std::vector<OutletId>> Loader::run_function(const FunctionProto& function,
                                                   const NodeProto& node, const std::string& name,
                                                   Env* env) {
  RILL_ASSIGN(Env inside, inner(env));
  inside.outer = nullptr;
  inside.opsets = &function.opsets;
  inside.prefix = str_cat(name, "/");
  std::vector<AttributeProto> attributes = function.attribute_defaults;
  for (const AttributeProto& attribute : node.attributes) {
    std::erase_if(attributes, [&](const auto& each) { return each.name == attribute.name; });
    AttributeProto value = attribute;
    if (!attribute.ref.empty()) {
      const std::string_view wanted = attribute.ref;
      const auto* around = env->attributes;
      const auto is_it = [&](const AttributeProto& each) { return each.name == wanted; };
      const auto at =
          around ? find_if(*around, is_it) : std::vector<AttributeProto>::const_iterator();
      if (!around || at == around->end()) continue;
      value = *at;
      value.name = attribute.name;
    }
    attributes.push_back(std::move(value));
  }
  inside.attributes = &attributes;
  if (node.inputs.size() > function.inputs.size()) {
    return fail(Code::kParse, "the node has ", counted(node.inputs.size(), "input"),
                ", the function ", function.inputs.size());
  }
  std::vector<NodeProto> nodes = function.nodes;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    if (i < node.inputs.size() && !node.inputs[i].empty()) continue;
    // If the call omits an input, the nodes inside omit it too.
    for (NodeProto& each : nodes) {
      std::replace(each.inputs.begin(), each.inputs.end(), function.inputs[i], std::string_view());
    }
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    RILL_ASSIGN(const Sequence* all, find_sequence(node.inputs[i], env));
    if (all) {
      inside.lists.emplace(function.inputs[i], *all);
      continue;
    }
    RILL_ASSIGN(const OutletId wire, find(node.inputs[i], env));
    inside.values.emplace(function.inputs[i], wire);
  }
  RILL_TRY(run_nodes(nodes, &inside));
  std::vector<OutletId> outlets;
  for (const std::string_view output : function.outputs) {
    RILL_ASSIGN(const OutletId wire, find(output, &inside));
    outlets.push_back(wire);
  }
  return outlets;
}

Status Loader::take_tensors(int64_t count) {
  in_sequences_ += count;
  if (in_sequences_ <= kMostInSequences) return {};
  return fail(Code::kUnsupported, "the sequences of the file have over ", kMostInSequences,
              " tensors");
}

Status Loader::bind_outputs(const NodeProto& node, const std::vector<OutletId>& outlets, Env* env) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view name = node.outputs[i];
    if (name.empty()) continue;
    if (i >= outlets.size() || !outlets[i].valid()) {
      return fail(Code::kUnsupported, "output ", i, ", \"", name, "\", is not supported");
    }
    if (!env->values.emplace(name, outlets[i]).second) {
      return fail(Code::kParse, "the value \"", name, "\" is computed twice");
    }
    const auto declared = env->outer ? declared_.end() : declared_.find(name);
    if (declared != declared_.end()) compare(*declared->second, env->graph().fact(outlets[i]));
  }
  return {};
}

}  // namespace rill::onnx
