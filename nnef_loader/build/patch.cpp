
#include "core/base/search.h"
#include "nnef_loader/build/builder.h"
#include "nnef_loader/statements.h"
#include "nnef_loader/syntax/parser.h"

namespace rill::nnef {
namespace {

void flatten(const LValue& left, std::vector<std::string>* names) {
  if (left.kind == LValue::Kind::kName && !contains(*names, left.name)) {
    names->push_back(left.name);
  }
  for (const LValue& item : left.items) flatten(item, names);
}

}  // namespace

Result<Statements> Builder::statements(const Graph& model) {
  Statements out;
  main_.graph.name = model.name;
  main_.graph.scope = model.scope;
  index_.add_document(document_);
  index_.enable_all();
  Scope scope;
  scope.target = &main_;
  scope.is_graph_body = true;
  for (size_t id = 0; id < model.nodes.size(); ++id) {
    const Node& node = model.nodes[id];
    if (node.outputs.empty()) continue;
    const auto* constant = node.op->as<Const>();
    const std::string name = main_.names.claim(node.name, true);
    const OutletId tap = constant ? main_.graph.add_const(name, constant->value)
                                  : main_.graph.add_source(name, node.outputs[0]);
    out.taps.emplace(tap.node, static_cast<int>(id));
    scope.values.try_emplace(node.name, Value(tap));
    scope.values.try_emplace(mangled(node.name), Value(tap));
    for (size_t i = 0; i < model.outputs.size(); ++i) {
      if (model.outputs[i] != OutletId{static_cast<int>(id), 0}) continue;
      scope.values.try_emplace(model.output_names[i], Value(tap));
    }
  }
  std::vector<std::string> names;
  for (const Assignment& statement : document_.graph.body) {
    RILL_TRY(run_statement(statement, scope));
    flatten(statement.left, &names);
  }
  for (const std::string& name : names) {
    RILL_ASSIGN(const OutletId wire, to_wire(scope.values.find(name)->second, scope, name));
    out.assigned.emplace_back(name, wire);
  }
  out.graph = std::move(main_.graph);
  return out;
}

Result<Statements> load_statements(const Graph& model, std::string_view body,
                                   std::span<const OpModule* const> ops) {
  RILL_ASSIGN(const Document document,
              parse_document(str_cat("version 1.0; graph statements(x) -> (y) {\n", body, "\n}"),
                             "statements"));
  const std::span<const OpModule* const> own = loader_modules();
  std::vector<const OpModule*> modules(own.begin(), own.end());
  modules.insert(modules.end(), ops.begin(), ops.end());
  OpIndex index(modules);
  Resources resources{std::vector<Entry>()};
  const QuantInfo quant;
  const LoadOptions options;
  return Builder(document, quant, &resources, &index, options).statements(model);
}

}  // namespace rill::nnef
