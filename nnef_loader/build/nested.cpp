#include "nnef_loader/build/nested.h"

#include <algorithm>
#include <map>

#include "core/base/printable.h"
#include "nnef_loader/build/call.h"
#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/build/submodel.h"
#include "nnef_loader/syntax/json.h"

namespace rill::nnef {
namespace {

/// The maximum depth of nested models, which bounds the stack.
constexpr int kMaxNesting = 8;

/// Return the label of a nested archive: its path without .nnef.tgz or .nnef.tar and, if it has
/// one, the extension before that. Empty for other files.
std::string_view archive_label(std::string_view path) {
  for (const std::string_view suffix : {".nnef.tgz", ".nnef.tar"}) {
    if (!path.ends_with(suffix)) continue;
    path.remove_suffix(suffix.size());
    const size_t dot = path.rfind('.');
    const size_t slash = path.rfind('/');
    const bool more =
        dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
    return more ? path.substr(0, dot) : path;
  }
  return {};
}

/// Return the files of the model with a label: those of a nested archive, or of a folder.
Result<std::vector<Entry>> files_of(const Resources& resources, const LoadLimits& limits,
                                    std::string_view label) {
  for (const std::string& name : resources.names()) {
    if (archive_label(name) == label) {
      return read_archive_memory(resources.bytes(name), name, limits);
    }
  }
  const std::string folder = str_cat(label, "/");
  std::vector<Entry> files;
  for (const std::string& name : resources.names()) {
    if (!name.starts_with(folder)) continue;
    const std::span<const std::byte> bytes = resources.bytes(name);
    files.push_back({name.substr(folder.size()), {bytes.begin(), bytes.end()}});
  }
  if (!files.empty()) return files;
  return fail(Code::kIo, "No model \"", label, "\" in the archive")
      .hint(str_cat("The archive must hold \"", label, ".nnef.tgz\", \"", label,
                    ".nnef.tar\" or \"", label, "/", kGraphFile, "\""));
}

/// Rename the symbols of a nested model to unique names, then bind those that the wires determine.
Result<Graph> fitted(Graph nested, const Graph& outer, std::span<const Fact> wires) {
  const std::vector<std::string> symbols = nested.scope.symbols();
  for (const std::string& symbol : symbols) {
    std::string own = symbol;
    while (own == symbol || outer.scope.declared(own) || nested.scope.declared(own)) own += "_";
    RILL_ASSIGN(nested, nested.with_symbol(symbol, Dim::symbol(own)));
    nested.scope.declare(own);
  }
  for (size_t i = 0; i < wires.size(); ++i) {
    for (int axis = 0; axis < wires[i].rank(); ++axis) {
      const Fact& declared = nested.fact(nested.inputs[i]);
      if (declared.rank() != wires[i].rank()) break;
      if (const auto symbol = declared.dim(axis).as_symbol()) {
        RILL_ASSIGN(nested, nested.with_symbol(*symbol, wires[i].dim(axis)));
      }
    }
    const Fact& declared = nested.fact(nested.inputs[i]);
    if (!declared.same_type(wires[i])) {
      return fail(declared.dtype == wires[i].dtype ? Code::kShape : Code::kDType, "input \"",
                  nested.input_name(i), "\" of the model is ", declared, ", found ", wires[i]);
    }
  }
  return nested;
}

/// Inline the nodes of a nested model into the graph, with the wires as its inputs.
Result<Value> inlined(CallCtx& ctx, const Graph& nested, const std::vector<OutletId>& wires) {
  std::map<OutletId, OutletId> mapped;
  for (size_t i = 0; i < wires.size(); ++i) mapped[nested.inputs[i]] = wires[i];
  Graph& graph = ctx.graph();
  for (size_t id = 0; id < nested.nodes.size(); ++id) {
    const Node& node = nested.nodes[id];
    const auto own = static_cast<int>(id);
    if (node.op->as<Source>()) continue;
    const std::string name = ctx.claim_name(node.name);
    if (const auto* constant = node.op->as<Const>()) {
      mapped[{own, 0}] = graph.add_const(name, constant->value, ctx.line());
      continue;
    }
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(mapped.at(input));
    RILL_ASSIGN(const auto outs, graph.add_folded(name, node.op, inputs, ctx.line()));
    for (size_t slot = 0; slot < outs.size(); ++slot) {
      mapped[{own, static_cast<int>(slot)}] = outs[slot];
    }
    RILL_TRY(ctx.builder().audit(ctx.scope().target));
  }
  for (const std::string& symbol : nested.scope.symbols()) graph.scope.declare(symbol);
  std::vector<OutletId> outs;
  for (const OutletId& output : nested.outputs) outs.push_back(mapped.at(output));
  if (outs.size() == 1) return Value(outs[0]);
  return Value::of_wires(outs);
}

/// Add the nested model as one node, named after the label.
Result<Value> kept(CallCtx& ctx, Graph nested, std::string label, std::vector<OutletId> wires) {
  Graph& graph = ctx.graph();
  for (const std::string& symbol : nested.scope.symbols()) graph.scope.declare(symbol);
  auto op = draft_op<Submodel>();
  op->model = std::make_shared<const Graph>(std::move(nested));
  op->label = std::move(label);
  const std::string name = graph.unique_name(op->label);
  RILL_ASSIGN(const auto outs, graph.add(name, std::move(op), wires, ctx.line()));
  RILL_TRY(ctx.builder().audit(ctx.scope().target));
  return Value::of_wires(outs);
}

/// Load a nested model. If inlined, its states become states of the outer model.
Result<Value> load_submodel(LoadCtx& base) {
  auto& ctx = static_cast<CallCtx&>(base);
  RILL_ASSIGN(const std::vector<OutletId> wires, ctx.wires("input"));
  RILL_ASSIGN(const std::string label, ctx.text("label"));
  Builder& builder = ctx.builder();
  if (builder.nesting() >= kMaxNesting) {
    return fail(Code::kUnsupported, "models are nested over ", kMaxNesting, " deep");
  }
  LoadOptions options = builder.options();
  options.input_shapes = {};
  RILL_ASSIGN(std::vector<Entry> files, files_of(builder.resources(), options.limits, label));
  auto loaded = load_entries(std::move(files), builder.modules(), options, builder.nesting() + 1);
  if (!loaded.ok()) {
    Status status = loaded.take_status();
    Error& error = status.error();
    error.message = str_cat("model \"", printable(label), "\": ", error.to_string());
    error.file.clear();
    error.line = 0;
    return status;
  }
  RILL_CHECK(loaded->inputs.size() == wires.size(), "model \"", label, "\" has ",
             counted(loaded->inputs.size(), "input"), ", found ", wires.size());
  std::vector<Fact> facts;
  for (const OutletId& wire : wires) facts.push_back(ctx.fact(wire).without_value());
  RILL_ASSIGN(Graph nested, fitted(std::move(loaded).value(), ctx.graph(), facts));
  if (options.keep_submodels) return kept(ctx, std::move(nested), label, wires);
  return inlined(ctx, nested, wires);
}

Result<Value> value_of(const Json& json) {
  if (const auto* truth = json.get<bool>()) return Value(*truth);
  if (const auto* whole = json.get<int64_t>()) return Value(Dim(*whole));
  if (const auto* real = json.get<double>()) return Value(static_cast<float>(*real));
  if (const auto* text = json.get<std::string>()) return Value(*text);
  if (const auto* array = json.get<Json::Array>()) {
    std::vector<Value> list;
    for (const Json& item : *array) {
      RILL_ASSIGN(Value value, value_of(item));
      list.push_back(std::move(value));
    }
    return Value(std::move(list));
  }
  return fail(Code::kArg, json.get<Json::Object>() ? "an object" : "null",
              " has no value in NNEF: expected a number, a truth value, a text or a list");
}

Result<Value> load_resource(LoadCtx& base) {
  auto& ctx = static_cast<CallCtx&>(base);
  RILL_ASSIGN(const std::string label, ctx.text("label"));
  RILL_ASSIGN(const std::string key, ctx.text("key"));
  const std::string name = str_cat(label, ".json");
  const Resources& resources = ctx.builder().resources();
  if (!resources.has(name)) {
    return fail(Code::kIo, "No resource \"", label, "\"")
        .hint(str_cat("The archive must hold \"", name, "\""));
  }
  RILL_ASSIGN(const Json json, parse_json(resources.text(name), name));
  RILL_ASSIGN(const Json* found, json.at(key));
  if (!found) return fail(Code::kArg, "no \"", key, "\" in ", name);
  return value_of(*found);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_submodel(input: tensor<?>[], label: string) -> (outputs: tensor<?>[]);",
     load_submodel},
    {"tract_resource",
     "fragment tract_resource_get(label: string, key: string) -> (value: tensor<?>);",
     load_resource},
};

constexpr OpModule kRoom = {"nested", kOps};

}  // namespace

const OpModule& nested_module() { return kRoom; }

}  // namespace rill::nnef
