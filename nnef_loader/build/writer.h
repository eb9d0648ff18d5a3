#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"
#include "nnef_loader/build/names.h"
#include "nnef_loader/load.h"
#include "nnef_loader/syntax/ast.h"
#include "nnef_loader/syntax/quant.h"

namespace rill::nnef {

/// The names used in a written fragment.
struct SavedBody {
  std::string fragment;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// State shared by all bodies of a document.
struct SavedDocument {
  explicit SavedDocument(const SaveOptions& save_options) : options(save_options) {}

  const SaveOptions& options;
  std::set<std::string> registries;
  std::set<std::string> symbols;  ///< mentioned in the written text
  std::map<std::string, std::string> fragments;
  std::map<const Graph*, SavedBody> bodies;
  std::map<std::string, TensorPtr> tensors;                    ///< by label
  std::map<std::string, std::shared_ptr<const Graph>> models;  ///< by label
  NameTable labels;
  QuantInfo quant;
  int depth = 0;
};

/// Writes the statements of a graph: of the model, or of a loop body.
class BodyWriter {
 public:
  BodyWriter(const Graph& graph, SavedDocument* document, bool is_main)
      : graph_(graph), document_(*document), is_main_(is_main) {}

  Status write();

  const Graph& graph() const { return graph_; }
  SavedDocument& document() { return document_; }
  std::vector<std::string> input_names() const;
  const std::vector<std::string>& output_names() const { return output_names_; }
  /// Return the statements, one per line, indented by two spaces.
  const std::string& text() const { return text_; }

  const std::string& wire_name(OutletId outlet) const {
    return wire_names_[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
  }
  /// Return a dim of a node as an expression that reads back as the same dim.
  std::string dim(const Dim& value, int id) const;
  /// Return the name or literal for a wire; emits the statement of a constant.
  Result<std::string> use(OutletId outlet);
  /// Emit `name = variable(...)` with a separate file, under a name derived from the stem.
  Result<std::string> variable(std::string_view stem, const TensorPtr& tensor);
  std::string claim(std::string_view stem);
  void emit(std::string_view left, std::string_view expression);
  Result<const SavedBody*> body(const Graph& body);

 private:
  void find_live_nodes();
  void name_wires();
  Status write_node(int id);
  Status write_source(const Node& node, const std::string& name);
  Status write_constant(int id);
  Status write_variable(const std::string& name, std::string_view stem, const TensorPtr& tensor);
  Status record_quant(const Fact& fact, const std::string& name);
  std::string identifier(std::string_view name) const;
  std::optional<std::string> extent_text(const Dim& dim, int id) const;

  const Graph& graph_;
  SavedDocument& document_;
  bool is_main_;
  NameTable names_;
  std::vector<char> live_;
  std::vector<char> written_;  ///< by constant: whether its statement is written
  std::vector<std::vector<std::string>> wire_names_;
  std::vector<std::string> output_names_;
  std::vector<std::pair<std::string, OutletId>> aliases_;  ///< outputs that are other wires
  std::string text_;
};

/// The interface of an op's writer to one node.
class NodeWriter final : public SaveCtx {
 public:
  NodeWriter(BodyWriter* body, int id)
      : body_(*body), id_(id), assigned_(body->graph().node(id).outputs.size()) {}

  const Graph& graph() const override { return body_.graph(); }
  const Node& node() const override { return body_.graph().node(id_); }
  Result<std::string> in(int i) override;
  std::string dim(const Dim& value) override { return body_.dim(value, id_); }
  Result<std::string> literal(const Tensor& tensor) override;
  Result<std::string> variable(std::string_view label, const TensorPtr& tensor) override;
  void assign(std::string_view expression, int output) override;
  void assign_all(std::string_view expression) override;
  Status assign_declared(const NnefOp& form, std::span<const Argument> own) override;
  std::string temp(std::string_view stem, std::string_view expression) override;
  void need_registry(std::string_view registry) override;
  Result<std::string> body(const Graph& body) override;
  Result<std::string> body_input(const Graph& body, size_t index) override;
  Result<std::string> body_output(const Graph& body, size_t index) override;

  /// Write a model as part of the archive.
  void keep_model(const std::string& label, std::shared_ptr<const Graph> model) {
    body_.document().models[label] = std::move(model);
  }
  bool assigned(size_t output) const { return assigned_[output] != 0; }

 private:
  Result<std::string> inputs_text(const Parameter& tensor, int* input);

  BodyWriter& body_;
  int id_;
  std::vector<char> assigned_;
};

/// Write the fragment that holds the properties of the model.
std::string properties_text(const Graph& graph, SavedDocument* document);
/// Write the extension lines, sorted.
std::string extensions_text(const Graph& graph, SavedDocument* document);

}  // namespace rill::nnef
