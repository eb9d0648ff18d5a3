#include "nnef_loader/build/builder.h"

#include <limits>

#include "core/base/checked.h"
#include "core/base/progress.h"
#include "core/base/raise_limit.h"
#include "core/base/search.h"
#include "core/optim/precision.h"
#include "nnef_loader/build/limits.h"
#include "nnef_loader/syntax/lexer.h"

namespace rill::nnef {
namespace {

constexpr const char* kWriterKey = "tract_nnef_ser_version";

/// Read the single identifier of an extension line, plain or `i"..."`.
Result<std::string> only_name(const Extension& extension) {
  Lexer lexer(extension.rest, kGraphFile);
  auto name = lexer.next();
  auto end = lexer.next();
  const bool well_formed =
      name.ok() && end.ok() && name->kind == Token::Kind::kName && end->kind == Token::Kind::kEnd;
  if (!well_formed) {
    return fail(Code::kParse, "extension ", extension.name, ": expected one name, found \"",
                std::string_view(extension.rest).substr(0, 80), "\"");
  }
  return name->value;
}

void collect_names(const std::vector<Assignment>& body, NameTable* names) {
  std::vector<const LValue*> open;
  for (const Assignment& statement : body) open.push_back(&statement.left);
  while (!open.empty()) {
    const LValue* left = open.back();
    open.pop_back();
    if (left->kind == LValue::Kind::kName) names->reserve(left->name);
    for (const LValue& item : left->items) open.push_back(&item);
  }
}

}  // namespace

Status Builder::placed(Status status) const {
  return std::move(status).at(kGraphFile, place_.line, place_.column);
}

void Builder::warn(std::string_view message) const {
  if (!options_.warn) return;
  const std::string text =
      place_.line > 0 ? str_cat(kGraphFile, ":", place_.line, ": ", message) : std::string(message);
  options_.warn(options_.warn_user, text);
}

Status Builder::charge(int64_t steps) {
  steps_ += steps;
  const int64_t most = options_.limits.max_unfolding_steps;
  if (steps_ <= most) return {};
  return fail(Code::kUnsupported, "the graph takes over ", most, " steps to unfold")
      .hint("Fragments that call others several times multiply");
}

Status Builder::audit(Target* target) {
  const std::vector<Node>& nodes = target->graph.nodes;
  nodes_ += static_cast<int64_t>(nodes.size() - target->audited);
  for (; target->audited < nodes.size(); ++target->audited) {
    const Node& node = nodes[target->audited];
    if (const auto* constant = node.op->as<Const>()) folded_bytes_ += constant->value->size_bytes();
  }
  const LoadLimits& limits = options_.limits;
  if (nodes_ > limits.max_nodes) {
    return fail(Code::kUnsupported, "the graph has at least ", counted(nodes_, "node"),
                ": the limit is ", limits.max_nodes)
        .hint(str_cat(raise_load_limit("max_nodes"),
                      ". Fragments that call others several times multiply"));
  }
  if (folded_bytes_ > limits.max_folded_bytes) {
    return fail(Code::kUnsupported, "the constants of the graph take at least ",
                counted(folded_bytes_, "byte"), ": the limit is ", limits.max_folded_bytes)
        .hint(raise_load_limit("max_folded_bytes"));
  }
  return check_symbols(target->graph);
}

Status Builder::check_symbols(const Graph& graph) const {
  const int64_t most = options_.limits.max_symbols;
  const auto symbols = static_cast<int64_t>(graph.scope.symbols().size());
  if (symbols <= most) return {};
  return fail(Code::kUnsupported, "the graph has at least ", counted(symbols, "symbol"),
              ": the limit is ", most)
      .hint(raise_load_limit("max_symbols"));
}

Status Builder::apply_extension(const Extension& extension,
                                std::vector<const Extension*>* scenarios) {
  if (extension.name == "tract_registry") {
    RILL_ASSIGN(const std::string registry, only_name(extension));
    if (canonical_registry(registry) == "tract_core" && !options_.tract_core) {
      return fail(Code::kUnsupported, "Registry not found: \"tract_core\" is switched off");
    }
    return index_.enable(registry);
  }
  if (extension.name == "tract_symbol") {
    RILL_ASSIGN(const std::string symbol, only_name(extension));
    main_.graph.scope.declare(symbol);
    return check_symbols(main_.graph);
  }
  if (extension.name == "tract_assert") {
    const int64_t most = (checked(options_.limits.max_symbols) * kAssertionsPerSymbol)
                             .at_most(std::numeric_limits<int64_t>::max());
    if (++assertions_ > most) {
      return fail(Code::kUnsupported, "the graph has at least ",
                  counted(assertions_, "assertion"), ": the limit is ", most, ", ",
                  kAssertionsPerSymbol, " per symbol")
          .hint(raise_load_limit("max_symbols"));
    }
    if (extension.rest.find(':') == std::string::npos) {
      return main_.graph.scope.assert_text(extension.rest);
    }
    scenarios->push_back(&extension);
    return {};
  }
  const bool known =
      extension.name.starts_with("KHR_") || extension.name == "tract_pulse_streaming_symbol";
  if (!known) {
    warn(str_cat("Ignore unknown extension ", extension.name, " ",
                 std::string_view(extension.rest).substr(0, 80)));
  }
  return {};
}

Status Builder::apply_extensions() {
  std::vector<const Extension*> scenarios;
  for (const Extension& extension : document_.extensions) {
    place_ = extension.place;
    Status status = apply_extension(extension, &scenarios);
    if (!status.ok()) return placed(std::move(status));
  }
  for (const Extension* extension : scenarios) {
    place_ = extension->place;
    Status status = main_.graph.scope.assert_text(extension->rest);
    if (!status.ok()) return placed(std::move(status));
  }
  place_ = {};
  return {};
}

Status Builder::check_input_shapes(const Graph& graph) const {
  for (const auto& [name, shape] : options_.input_shapes) {
    std::vector<std::string> inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i) inputs.push_back(graph.input_name(i));
    if (contains(inputs, name)) continue;
    return fail(Code::kArg, "a shape is given for \"", name, "\", which is not an input")
        .hint(str_cat("Inputs: ", join(inputs, ", ")));
  }
  return {};
}

namespace {

/// Return whether rill wrote the file: its casts already mark the operators that compute in f32.
bool is_by_rill(const Graph& graph) {
  const auto writer = graph.properties.find(kWriterKey);
  return writer != graph.properties.end() && writer->second.dtype() == DType::kString &&
         writer->second.volume() == 1 &&
         std::string_view(writer->second.data<std::string>()[0]).starts_with("rill ");
}

}  // namespace

Result<Graph> Builder::build() {
  const GraphDecl& decl = document_.graph;
  main_.graph.name = decl.name;
  index_.add_document(document_);
  RILL_TRY(apply_extensions());
  collect_names(decl.body, &main_.names);
  RILL_TRY(read_properties(document_, *this, &main_.graph));
  // A file that an engine wrote keeps its names; so does any file, unless tract's names are
  // requested.
  const bool keeps = !options_.tract_names && !main_.graph.properties.contains(kWriterKey);
  if (keeps) main_.graph.properties[kWriterKey] = Tensor::scalar(0.0F);
  Scope scope;
  scope.target = &main_;
  scope.is_graph_body = true;
  for (size_t i = 0; i < decl.body.size(); ++i) {
    RILL_TRY(progress(i, decl.body.size()));
    Status read = run_statement(decl.body[i], scope);
    if (!read.ok() && options_.read_so_far) *options_.read_so_far = std::move(main_.graph);
    RILL_TRY(std::move(read));
  }
  if (keeps) main_.graph.properties.erase(kWriterKey);
  place_ = decl.place;
  // Operators may have added outputs, which follow the file's.
  const std::vector<OutletId> added = std::move(main_.graph.outputs);
  const std::vector<std::string> added_names = std::move(main_.graph.output_names);
  main_.graph.outputs.clear();
  main_.graph.output_names.clear();
  for (const std::string& name : decl.results) {
    const auto it = scope.values.find(name);
    if (it == scope.values.end()) {
      return placed(fail(Code::kParse, "Could not find variable for output \"", name, "\"")
                        .hint("Every result of the graph must be assigned in its body"));
    }
    auto wire = to_wire(it->second, scope, name);
    if (!wire.ok()) return placed(wire.take_status());
    if (main_.graph.fact(*wire).konst) main_.sizes.take(&main_.graph, *wire, {name, "output"});
    main_.graph.add_output(name, *wire);
  }
  for (size_t i = 0; i < added.size(); ++i) main_.graph.add_output(added_names[i], added[i]);
  RILL_TRY(check_input_shapes(main_.graph));
  RILL_TRY(progress(1));
  return upcast_chains(std::move(main_.graph), modules_, is_by_rill(main_.graph));
}

Result<Graph> Builder::body_graph(std::string_view fragment, std::span<const Fact> facts,
                                  Target* outer) {
  const FragmentDecl* decl = index_.fragment(fragment);
  if (!decl) return fail(Code::kParse, "no fragment \"", fragment, "\" with a body in the file");
  if (facts.size() != decl->parameters.size()) {
    return fail(Code::kInternal, "fragment \"", fragment, "\" has ", decl->parameters.size(),
                " parameters, found ", facts.size(), " facts");
  }
  Target body;
  body.graph.name = decl->name;
  body.graph.scope = outer->graph.scope;
  // The names in a body stay as written.
  body.graph.properties[kWriterKey] = Tensor::scalar(0.0F);
  collect_names(*decl->body, &body.names);
  Scope scope;
  scope.target = &body;
  for (size_t i = 0; i < facts.size(); ++i) {
    const std::string& name = decl->parameters[i].name;
    const OutletId wire =
        body.graph.add_source(body.names.claim(name, true), facts[i], place_.line);
    body.sizes.clamp(&body.graph, wire);
    scope.values[name] = Value(wire);
  }
  eval_depth_ += kLevelsOfALoop;
  const Status ran = run_body(*decl, scope);
  eval_depth_ -= kLevelsOfALoop;
  RILL_TRY(ran);
  body.graph.properties.clear();
  if (!body.graph.outputs.empty() || body.graph.inputs.size() != facts.size()) {
    return fail(Code::kUnsupported, "a cache in the body of a loop: fragment \"", fragment, "\"");
  }
  for (const ResultDecl& result : decl->results) {
    const Value& value = scope.values.find(result.name)->second;
    RILL_ASSIGN(const OutletId wire, to_wire(value, scope, result.name));
    body.graph.add_output(result.name, wire);
  }
  // Symbols created in the body must not be created again outside.
  for (const std::string& symbol : body.graph.scope.symbols()) outer->graph.scope.declare(symbol);
  add_taken(body.graph.scope, &outer->graph.scope);
  return upcast_chains(std::move(body.graph), modules_, is_by_rill(main_.graph));
}

}  // namespace rill::nnef
