#include <gtest/gtest.h>

#include <cstring>

#include "nnef_loader/build/test_ops.h"
#include "nnef_loader/tensor_file/tensor_file.h"

namespace rill::nnef::test {

Entry file(std::string_view name, std::string_view text) {
  Entry entry;
  entry.name = name;
  entry.bytes.resize(text.size());
  if (!text.empty()) std::memcpy(entry.bytes.data(), text.data(), text.size());
  return entry;
}

Entry tensor_file(std::string_view label, const Tensor& tensor) {
  auto bytes = write_tensor(tensor);
  EXPECT_TRUE(bytes.ok());
  return {str_cat(label, ".dat"), std::move(bytes).value()};
}

Tensor floats(std::vector<int64_t> shape, std::vector<float> values) {
  return std::move(Tensor::of<float>(DType::kF32, std::move(shape), values)).value();
}

Tensor integers(std::vector<int64_t> shape, std::vector<int64_t> values) {
  return std::move(Tensor::of<int64_t>(DType::kI64, std::move(shape), values)).value();
}

std::string document(std::string_view statements, std::string_view results, std::string_view head) {
  return str_cat("version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n",
                 head, "\ngraph network(x, y) -> (", results,
                 ") {\nx = external<scalar>(shape = [2, S]);\n"
                 "y = external<scalar>(shape = [2, S]);\n",
                 statements, "\n}\n");
}

Result<Graph> load_text(std::string_view text, std::vector<Entry> more,
                        const LoadOptions& options) {
  more.push_back(file("graph.nnef", text));
  return load_entries(std::move(more), ops(), options);
}

Result<Graph> load_body(std::string_view statements, std::string_view results,
                        std::string_view head) {
  return load_text(document(statements, results, head));
}

const Tensor& output_value(const Graph& graph, size_t index) {
  static const Tensor kNone;
  EXPECT_LT(index, graph.outputs.size());
  if (index >= graph.outputs.size()) return kNone;
  const TensorPtr& value = graph.fact(graph.outputs[index]).konst;
  EXPECT_TRUE(value) << "not a constant";
  return value ? *value : kNone;
}

std::string error_of(const Result<Graph>& result) {
  return result.ok() ? "loaded" : result.error().to_string();
}

Graph loaded(Result<Graph> result) {
  EXPECT_TRUE(result.ok()) << error_of(result);
  return result.ok() ? std::move(result).value() : Graph();
}

void expect_error(const Result<Graph>& result, std::vector<std::string> parts) {
  const std::string text = error_of(result);
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
  }
}

std::string node_list(const Graph& graph) {
  std::string out;
  for (const Node& node : graph.nodes) {
    if (node.op->name() == "Const") continue;
    out += str_cat(out.empty() ? "" : " ", node.name, ":", node.op->name());
  }
  return out;
}

}  // namespace rill::nnef::test
