// Extents that a node requires to be equal: of open inputs, of constants, and of expressions; names
// of extents; and extents that the standard forbids. onnxruntime refuses the inputs that are
// refused here.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

Message floats(const std::string& name, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return tensor_of_floats(name, shape, std::vector<float>(static_cast<size_t>(count), 0.5F));
}

struct Form {
  std::string name;
  std::vector<int64_t> x;  ///< open where below 0
  int axis;                ///< the one that must be the number of features
  std::vector<Message> nodes;
  std::vector<Message> constants;
};

/// Return one node each that takes `n` features of x.
std::vector<Form> forms(int64_t n) {
  const std::vector<int64_t> matrix = {-1, -1};
  const std::vector<int64_t> channels = {-1, -1, -1};
  std::vector<Form> all;
  all.push_back(
      {"MatMul", matrix, 1, {node_of("MatMul", {"x", "w"}, {"y"})}, {floats("w", {n, 4})}});
  all.push_back({"MatMul of a matrix", channels, 1, {node_of("MatMul", {"w", "x"}, {"y"})},
                 {floats("w", {4, n})}});
  all.push_back({"Gemm", matrix, 1,
                 {node_of("Gemm", {"x", "w"}, {"y"}, {integer_attribute("transB", 1)})},
                 {floats("w", {4, n})}});
  all.push_back({"rows of Gemm", matrix, 0,
                 {node_of("Gemm", {"x", "w", "c"}, {"y"})},
                 {floats("w", {3, 4}), floats("c", {n, 4})}});
  all.push_back({"LayerNormalization", matrix, 1,
                 {node_of("LayerNormalization", {"x", "w", "b"}, {"y"})},
                 {floats("w", {n}), floats("b", {n})}});
  all.push_back({"BatchNormalization", channels, 1,
                 {node_of("BatchNormalization", {"x", "w", "w", "w", "w"}, {"y"})},
                 {floats("w", {n})}});
  all.push_back({"InstanceNormalization", channels, 1,
                 {node_of("InstanceNormalization", {"x", "w", "w"}, {"y"})}, {floats("w", {n})}});
  all.push_back({"Split", matrix, 1, {node_of("Split", {"x", "sizes"}, {"y", "z"},
                                              {integer_attribute("axis", 1)})},
                 {tensor_of_integers("sizes", {2}, {1, n - 1})}});
  all.push_back({"QuantizeLinear", matrix, 1, {node_of("QuantizeLinear", {"x", "w"}, {"q"}),
                                               node_of("DequantizeLinear", {"q", "w"}, {"y"})},
                 {floats("w", {n})}});
  for (const auto& [op, gates] : {std::pair("GRU", 3), std::pair("LSTM", 4), std::pair("RNN", 1)}) {
    all.push_back({op, channels, 2, {node_of(op, {"x", "w", "r"}, {"y"},
                                             {integer_attribute("hidden_size", 2)})},
                   {floats("w", {1, 2 * gates, n}), floats("r", {1, 2 * gates, 2})}});
  }
  return all;
}

GraphParts parts_of(const Form& form, const std::vector<int64_t>& x) {
  GraphParts parts;
  parts.nodes = form.nodes;
  parts.initializers = form.constants;
  parts.inputs = {value_info("x", x)};
  parts.outputs = {value_info("y", {})};
  return parts;
}

TEST(Extents, OfOpenInputsAreThoseOfConstants) {
  for (const int64_t n : {2, 3, 7, 40, 131}) {
    for (const Form& form : forms(n)) {
      const auto graph = loaded(model_of(parts_of(form, form.x)));
      ASSERT_TRUE(graph.ok()) << form.name << ": " << graph.error().to_string();
      const Dim found = graph->fact(graph->inputs[0]).dim(form.axis);
      EXPECT_EQ(found, Dim(n)) << form.name << ": " << found.to_string();
    }
  }
}

TEST(Extents, OfOneAreNotRepeated) {
  for (const int64_t n : {2, 7, 40}) {
    for (const Form& form : forms(n)) {
      std::vector<int64_t> shape(form.x.size(), 3);
      shape[static_cast<size_t>(form.axis)] = 1;
      EXPECT_NE(refused(model_of(parts_of(form, shape))), "loaded") << form.name;
      shape[static_cast<size_t>(form.axis)] = n;
      EXPECT_EQ(refused(model_of(parts_of(form, shape))), "loaded") << form.name;
    }
  }
}

TEST(Extents, OfTwoInputsAreOneSymbolThatAConstantFixes) {
  GraphParts parts;
  parts.inputs = {value_info("a", {-1, -1}, {"S", "F"}), value_info("b", {-1, -1}, {"G", "H"})};
  parts.initializers = {floats("w", {5, 4})};
  parts.nodes = {node_of("MatMul", {"a", "b"}, {"ab"}), node_of("MatMul", {"ab", "w"}, {"z"}),
                 node_of("MatMul", {"b", "w"}, {"y"}), node_of("Transpose", {"b"}, {"t"}),
                 node_of("MatMul", {"t", "v"}, {"u"})};
  parts.initializers.push_back(floats("v", {9, 2}));
  parts.outputs = {value_info("y", {}), value_info("z", {}), value_info("u", {})};
  const auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(graph->fact(graph->inputs[0]).dim(1), Dim(9));
  EXPECT_EQ(graph->fact(graph->inputs[1]).dim(0), Dim(9));
  EXPECT_EQ(graph->fact(graph->inputs[1]).dim(1), Dim(5));
}

TEST(Extents, OfExpressionsAreAsserted) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, -1, 4}, {"S", "F"})};
  parts.initializers = {tensor_of_integers("flat", {3}, {0, -1, 1}), floats("w", {12, 2}),
                        tensor_of_integers("last", {1}, {2})};
  parts.nodes = {node_of("Reshape", {"x", "flat"}, {"f"}), node_of("Squeeze", {"f", "last"}, {"g"}),
                 node_of("MatMul", {"g", "w"}, {"y"})};
  parts.outputs = {value_info("y", {})};
  auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  ASSERT_EQ(graph->scope.assertions().size(), 1U);
  EXPECT_EQ(graph->scope.assertions()[0].text, "4*F == 12");
}

TEST(Extents, HaveNamesWithHyphens) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, -1}, {"batch-size", "time+steps"})};
  parts.nodes = {node_of("Relu", {"x"}, {"y"})};
  parts.outputs = {value_info("y", {})};
  auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->scope.symbols().size(), 2U);
  const Dim named = graph->fact(graph->inputs[0]).dim(0);
  EXPECT_TRUE(named.as_symbol()) << named.to_string();
  // PyTorch writes sums of symbols that are extents too.
  parts.inputs = {value_info("x", {-1, -1}, {"s0", "s1"}), value_info("z", {-1}, {"s0+s1"})};
  graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok());
  const Fact& x = graph->fact(graph->inputs[0]);
  EXPECT_EQ(graph->fact(graph->inputs[1]).dim(0), x.dim(0) + x.dim(1));
}

Message packed(const std::string& name, int64_t type, int64_t count, const std::string& bytes) {
  Message tensor;
  return tensor.integer(1, count).integer(2, type).text(8, name).text(9, bytes);
}

TEST(PackedIntegers, AreDequantised) {
  // Low bits first: 0x8F is -1, -8, or 15, 8; 0x27 is 7, 2.
  const std::string bytes = {'\x8F', '\x27', '\x03'};
  const std::vector<std::pair<int64_t, std::vector<float>>> types = {
      {22, {-1, -8, 7, 2, 3}}, {21, {15, 8, 7, 2, 3}}, {26, {-1, -1, 0, -2, -1}},
      {25, {3, 3, 0, 2, 3}}};
  for (const auto& [type, values] : types) {
    GraphParts parts;
    parts.inputs = {value_info("x", {-1, 3}, {"S"})};
    parts.initializers = {packed("q", type, 5, type > 22 ? bytes.substr(0, 2) : bytes),
                          tensor_of_floats("scale", {}, {0.5F})};
    parts.nodes = {node_of("DequantizeLinear", {"q", "scale"}, {"y"})};
    parts.outputs = {value_info("y", {5})};
    std::vector<float> expected;
    for (const float value : values) expected.push_back(0.5F * value);
    EXPECT_EQ(run_on(model_of(parts, 25), {0, 0, 0}), expected) << type;
    // Other nodes do not see bytes in their place.
    parts.nodes.push_back(node_of("Cast", {"q"}, {"z"}, {integer_attribute("to", 1)}));
    parts.outputs.push_back(value_info("z", {5}));
    EXPECT_NE(refused(model_of(parts, 25)).find("Only DequantizeLinear"), std::string::npos);
  }
}

TEST(Functions, OmitTheInputsThatTheirCallsOmit) {
  const std::vector<std::vector<std::string>> calls = {
      {"x", "", "high"}, {"x", "low", ""}, {"x", "low"}, {"x"}, {"x", "low", "high"}};
  const std::vector<std::vector<float>> expected = {{-4, 1, 2}, {-1, 1, 5}, {-1, 1, 5},
                                                    {-4, 1, 5}, {-1, 1, 2}};
  for (size_t i = 0; i < calls.size(); ++i) {
    GraphParts parts;
    parts.inputs = {value_info("x", {-1, 3}, {"S"})};
    parts.outputs = {value_info("y", {-1, 3}, {"S"})};
    parts.initializers = {tensor_of_floats("low", {}, {-1}), tensor_of_floats("high", {}, {2})};
    Message call = node_of("Bound", calls[i], {"y"});
    call.text(7, "local");
    parts.nodes = {call};
    const Message opset = Message().text(1, "").integer(2, 17);
    const Message function = Message()
                                 .text(1, "Bound")
                                 .text(4, "v")
                                 .text(4, "lo")
                                 .text(4, "hi")
                                 .text(5, "out")
                                 .message(7, node_of("Clip", {"v", "lo", "hi"}, {"out"}))
                                 .message(9, opset)
                                 .text(10, "local");
    Message model = model_of(parts);
    model.message(8, Message().text(1, "local").integer(2, 1)).message(25, function);
    EXPECT_EQ(run_on(model, {-4, 1, 5}), expected[i]) << i;
  }
}

TEST(Models, HaveEachNameOnce) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {})};
  parts.initializers = {floats("w", {3}), floats("w", {3})};
  parts.nodes = {node_of("Add", {"x", "w"}, {"y"})};
  EXPECT_NE(refused(model_of(parts)).find("two constants"), std::string::npos);
  parts.initializers = {tensor_of_integers("begin", {2}, {0, 1}),
                        tensor_of_integers("end", {2}, {2, 3}),
                        tensor_of_integers("axes", {2}, {1, -1})};
  parts.nodes = {node_of("Slice", {"x", "begin", "end", "axes"}, {"y"})};
  EXPECT_NE(refused(model_of(parts)), "loaded");
  parts.nodes = {node_of("Softmax", {"x"}, {"y"},
                         {integer_attribute("axis", 0), integer_attribute("axis", 1)})};
  EXPECT_NE(refused(model_of(parts)).find("given twice"), std::string::npos);
}

}  // namespace
}  // namespace rill::onnx
