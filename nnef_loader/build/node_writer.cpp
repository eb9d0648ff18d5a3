#include <algorithm>

#include "nnef_loader/build/literals.h"
#include "nnef_loader/build/op_index.h"
#include "nnef_loader/build/writer.h"
#include "nnef_loader/syntax/printer.h"

namespace rill::nnef {

Result<std::string> NodeWriter::in(int i) {
  return body_.use(node().inputs[static_cast<size_t>(i)]);
}

Result<std::string> NodeWriter::literal(const Tensor& tensor) {
  if (const auto text = literal_text(tensor)) {
    if (text->find("tract_core_") != std::string::npos) need_registry("tract_core");
    return *text;
  }
  return variable("const", std::make_shared<const Tensor>(tensor));
}

Result<std::string> NodeWriter::variable(std::string_view label, const TensorPtr& tensor) {
  return body_.variable(str_cat(node().name, "_", label), tensor);
}

void NodeWriter::assign(std::string_view expression, int output) {
  assigned_[static_cast<size_t>(output)] = 1;
  body_.emit(print_identifier(body_.wire_name({id_, output})), expression);
}

void NodeWriter::assign_all(std::string_view expression) {
  if (assigned_.size() == 1) return assign(expression, 0);
  std::string names;
  for (size_t i = 0; i < assigned_.size(); ++i) {
    const OutletId outlet{id_, static_cast<int>(i)};
    names += str_cat(i > 0 ? ", " : "", print_identifier(body_.wire_name(outlet)));
  }
  std::fill(assigned_.begin(), assigned_.end(), char{1});
  body_.emit(str_cat("(", names, ")"), expression);
}

std::string NodeWriter::temp(std::string_view stem, std::string_view expression) {
  const std::string name = print_identifier(body_.claim(str_cat(node().name, "_", stem)));
  body_.emit(name, expression);
  return name;
}

void NodeWriter::need_registry(std::string_view registry) {
  const std::string_view name = canonical_registry(registry);
  if (name != "tract_nnef") body_.document().registries.emplace(name);
}

Result<std::string> NodeWriter::body(const Graph& graph) {
  RILL_ASSIGN(const SavedBody* saved, body_.body(graph));
  return saved->fragment;
}

Result<std::string> NodeWriter::body_input(const Graph& graph, size_t index) {
  RILL_ASSIGN(const SavedBody* saved, body_.body(graph));
  if (index >= saved->inputs.size()) return fail(Code::kInternal, "no such input of the body");
  return saved->inputs[index];
}

Result<std::string> NodeWriter::body_output(const Graph& graph, size_t index) {
  RILL_ASSIGN(const SavedBody* saved, body_.body(graph));
  if (index >= saved->outputs.size()) return fail(Code::kInternal, "no such output of the body");
  return saved->outputs[index];
}

}  // namespace rill::nnef
