#include <gtest/gtest.h>

#include <cmath>

#include "nnef_loader/build/test_ops.h"
#include "nnef_loader/tensor_file/tensor_file.h"

namespace rill::nnef {
namespace {

using namespace test;  // NOLINT: the helpers of these tests

constexpr const char* kVariable =
    "version 1.0;\ngraph network() -> (w) {\n"
    " w = variable<scalar>(label = 'a/b.c', shape = [2]);\n}\n";

TEST(Variable, ReadsTheFileOfItsLabel) {
  const Tensor value = floats({2}, {1, 2});
  const Graph g = loaded(load_text(kVariable, {tensor_file("a/b.c", value)}));
  ASSERT_TRUE(output_value(g).same_bits(value));
  EXPECT_EQ(g.node(g.outputs[0].node).name, "w");
  EXPECT_EQ(g.node(g.outputs[0].node).line, 3);
  const Graph slash =
      loaded(load_text("version 1.0; graph network() -> (w)"
                       "{ w = variable(label = '/v', shape = [2]); }",
                       {tensor_file("v", value)}));
  EXPECT_TRUE(output_value(slash).same_bits(value));
}

TEST(Variable, IsReadOnceAndShared) {
  const Graph g =
      loaded(load_text("version 1.0; graph network() -> (a, b) {"
                       "a = variable(label = 'v', shape = [2]);"
                       "b = variable(label = 'v', shape = [2]); }",
                       {tensor_file("v", floats({2}, {1, 2}))}));
  EXPECT_EQ(g.fact(g.outputs[0]).konst, g.fact(g.outputs[1]).konst);
}

TEST(Variable, ErrorsNameFileAndLine) {
  expect_error(load_text(kVariable),
               {"graph.nnef:3:", "No data for tensor \"a/b.c\"", "a/b.c.dat"});
  expect_error(load_text(kVariable, {tensor_file("a/b.c", floats({1, 2}, {1, 2}))}),
               {"graph.nnef:3:", "Wrong shape for tensor \"a/b.c\"", "[1, 2]", "[2]"});
  expect_error(load_text(kVariable, {file("a/b.c.dat", "junk")}), {"graph.nnef:3:", "a/b.c.dat"});
  expect_error(load_text("version 1.0;\nextension tract_symbol S; graph network() -> (w)\n"
                         "{ w = variable(label = 'v', shape = [S]); }"),
               {"graph.nnef:3:", "unbound symbol S"});
}

TEST(Variable, UnreferencedFilesAreNotRead) {
  EXPECT_TRUE(
      load_text(document("z = add(x, y);"), {file("bad.dat", "junk"), file("README", "")}).ok());
}

TEST(Archive, MustHaveAGraphAtItsRoot) {
  expect_error(load_entries({file("model/graph.nnef", "version 1.0;")}, ops()),
               {"Resource graph.nnef was not found", "model/graph.nnef"});
  expect_error(load_text("version 1.0;\ngraph network(x -> (y) {}"), {"graph.nnef:2:"});
}

TEST(Inputs, TypesAndOrder) {
  const Graph g = loaded(
      load_text("version 1.0; extension tract_registry tract_core; extension tract_symbol B;"
                "graph network(a, b, c, d, e) -> (a) { b = external<integer>(shape = [3 + B * 2]);"
                "a = external(shape = []); c = external<logical>(shape = [1]);"
                "d = tract_core_external(shape = [B, 2], datum_type = 'F16');"
                "e = tract_core_external(datum_type = 'QU8(Z:128 S:0.5)', shape = [1]); }"));
  ASSERT_EQ(g.inputs.size(), 5U);
  EXPECT_EQ(g.input_name(0), "b");
  EXPECT_EQ(g.fact(g.inputs[0]).to_string(), "3+2*B,I64");
  EXPECT_EQ(g.fact(g.inputs[1]).to_string(), ",F32");
  EXPECT_EQ(g.fact(g.inputs[2]).dtype, DType::kBool);
  EXPECT_EQ(g.fact(g.inputs[3]).to_string(), "B,2,F16");
  EXPECT_EQ(g.fact(g.inputs[4]).q, (QParams{128, 0.5F}));
}

TEST(Inputs, BadOnesAreErrors) {
  const auto with = [](std::string_view call) {
    return load_text(
        str_cat("version 1.0;\nextension tract_registry tract_core;\n"
                "graph network(x) -> (x) {\n x = ",
                call, ";\n}"));
  };
  expect_error(with("external<string>(shape = [1])"), {"graph.nnef:4:", "external<string>"});
  expect_error(with("tract_core_external(shape = [1], datum_type = 'complexf32')"),
               {"graph.nnef:4:", "complexf32"});
  expect_error(with("external(shape = [-1])"), {"negative"});
  expect_error(with("external(shape = [1, 1, 1, 1, 1, 1, 1, 1, 1])"), {"rank 9"});
  expect_error(with("external(shape = [4611686018427387904, 4])"), {"too many"});
  expect_error(with("external()"), {"expected argument \"shape\""});
}

TEST(Inputs, ShapesCanBeReplaced) {
  const std::pair<std::string, std::vector<Dim>> shapes[] = {{"x", {Dim(2), Dim::symbol("T")}}};
  LoadOptions options;
  options.input_shapes = shapes;
  const Graph g = loaded(load_text(document("z = x;"), {}, options));
  EXPECT_EQ(g.fact(g.outputs[0]).to_string(), "2,T,F32");
  EXPECT_TRUE(g.scope.declared("T"));
  const std::pair<std::string, std::vector<Dim>> rank[] = {{"x", {Dim(2)}}};
  options.input_shapes = rank;
  expect_error(load_text(document("z = x;"), {}, options), {"graph.nnef:6:", "rank 1", "rank 2"});
  const std::pair<std::string, std::vector<Dim>> name[] = {{"w", {Dim(2)}}};
  options.input_shapes = name;
  expect_error(load_text(document("z = x;"), {}, options), {"\"w\"", "Inputs: x, y"});
}

Tensor bytes(DType dtype, std::vector<int8_t> values) {
  return std::move(Tensor::of<int8_t>(dtype, {static_cast<int64_t>(values.size())}, values))
      .value();
}

TEST(Quant, VariablesAndInputsTakeTheTypeOfTheirEntry) {
  const Graph g = loaded(load_text(
      "version 1.0; graph network(x) -> (x, s, u, c) { x = external(shape = [2]);"
      "s = variable(label = 's', shape = [2]); u = variable(label = 'u', shape = [2]);"
      "c = variable(label = 's', shape = [2]); }",
      {tensor_file("s", bytes(DType::kI8, {-3, 5})), tensor_file("u", bytes(DType::kU8, {-1, 5})),
       file(
           "graph.quant",
           "\"x\": zero_point_linear_quantize(zero_point = 3, scale = 0.5, bits = 8, signed = true,"
           " symmetric = false);\n"
           "\"s\": zero_point_linear_quantize(zero_point = 0, scale = 0.25, bits = 8,"
           " signed = true, symmetric = true);\n"
           "\"u\": zero_point_linear_quantize(zero_point = 1, scale = 0.25, bits = 8,"
           " signed = true, symmetric = true);\n"
           "\"c\": zero_point_linear_quantize(zero_point = 1, scale = 0.25, bits = 8,"
           " signed = false, symmetric = true);\n")}));
  EXPECT_EQ(g.fact(g.outputs[0]).dtype, DType::kQI8);
  EXPECT_EQ(g.fact(g.outputs[0]).q, (QParams{3, 0.5F}));
  EXPECT_EQ(output_value(g, 1).dtype(), DType::kQI8);
  EXPECT_EQ(output_value(g, 1).data<int8_t>()[0], -3);
  EXPECT_EQ(output_value(g, 2).data<int8_t>()[0], 127);  // 255 clamped
  EXPECT_EQ(output_value(g, 3).dtype(), DType::kQU8);
  EXPECT_EQ(output_value(g, 3).data<uint8_t>()[0], 0);  // -3 clamped
}

TEST(Quant, CastsResultsOfAnotherType) {
  const std::string_view entry =
      "\"z\": zero_point_linear_quantize(zero_point = 3, scale = 0.5, bits = 8, signed = false,"
      " symmetric = false);\n";
  const Graph g =
      loaded(load_text(document("z = relu(x); w = add(z, z);"), {file("graph.quant", entry)}));
  ASSERT_EQ(node_list(g), "x:Source y:Source z_raw:Binary z:Cast w:Binary");
  EXPECT_EQ(g.fact(g.outputs[0]).dtype, DType::kQU8);
  const Graph dims = loaded(load_text(document("z = 4;"), {file("graph.quant", entry)}));
  EXPECT_EQ(output_value(dims).dtype(), DType::kQU8);
  EXPECT_EQ(output_value(dims).data<uint8_t>()[0], 11);  // 4 / 0.5 + 3
  const Graph asked =
      loaded(load_text(document("z = tract_core_cast(x);"), {file("graph.quant", entry)}));
  EXPECT_EQ(node_list(asked), "x:Source y:Source z:Cast");
  expect_error(
      load_text(document("z = x;"), {file("graph.quant",
                                          "\"z\": zero_point_linear_quantize(zero_point = 3,"
                                          "scale = 0.5, bits = 4, signed = false);")}),
      {"graph.quant:1"});
}

TEST(Properties, AreReadAndNeverFail) {
  const auto with = [](std::string_view list) {
    return loaded(load_text(str_cat(
        "version 1.0; fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[])"
        "{ properties = ",
        list, "; } graph network(x) -> (x) { x = external(shape = [1]); }")));
  };
  const Graph g = with(
      "[('name', \"it's\"), ('n', 3), ('f', 0.5), ('axes', tract_core_cast([1, 2], to = \"i64\")),"
      "('s', ['S']), ('list', [1, 2])]");
  EXPECT_EQ(g.properties.at("name").data<std::string>()[0], "it's");
  EXPECT_EQ(g.properties.at("n").data<Dim>()[0], Dim(3));
  EXPECT_EQ(g.properties.at("f").data<float>()[0], 0.5F);
  EXPECT_TRUE(g.properties.at("axes").same_bits(integers({2}, {1, 2})));
  EXPECT_EQ(g.properties.at("s").shape(), (std::vector<int64_t>{1}));
  EXPECT_TRUE(g.properties.at("list").same_bits(integers({2}, {1, 2})));
  EXPECT_EQ(with("[('a', relu(x)), ('b', x), 3, ('c'), ('d', 1)]").properties.size(), 1U);
  EXPECT_TRUE(with("3").properties.empty());
}

/// Fragments f0 ... f`count`, each calling the one before twice.
std::string doubling(int count, std::string_view first, std::string_view call) {
  std::string text =
      str_cat("fragment f0(a: tensor<scalar>) -> (b: tensor<scalar>) { b = ", first, "; }\n");
  for (int i = 1; i <= count; ++i) {
    std::string body(call);
    for (size_t at = body.find("f("); at != std::string::npos; at = body.find("f(")) {
      body.replace(at, 2, str_cat("f", i - 1, "("));
    }
    text += str_cat("fragment f", i, "(a: tensor<scalar>) -> (b: tensor<scalar>) { b = ", body,
                    "; }\n");
  }
  return text;
}

TEST(Hostile, DoublingFragmentsMeetALimit) {
  for (const char* first : {"a", "add(a, a)"}) {
    expect_error(load_body("z = f40(x);", "z", doubling(40, first, "f(f(a))")), {"over"});
  }
  expect_error(load_body("z = f40(x);", "z", doubling(40, "add(a[0], 1.0)", "f([a, a])")),
               {"over"});
  expect_error(
      load_body("z = f40(1.0);", "z", doubling(40, "[a, a]", "concat([f(a), f(a)], axis = 0)")),
      {"graph.nnef"});
}

TEST(Hostile, DepthIsLimited) {
  expect_error(load_body("z = f80(x);", "z", doubling(80, "a", "f(a)")), {"nested over 10"});
  std::string nested = "x";
  for (int i = 0; i < 2000; ++i) nested = str_cat("add(", nested, ", x)");
  expect_error(load_body(str_cat("z = ", nested, ";")), {"graph.nnef"});
  std::string sum = "x";
  for (int i = 0; i < 5000; ++i) sum += " + x";
  expect_error(load_body(str_cat("z = ", sum, ";")), {"graph.nnef"});
  std::string tall = "a";
  for (int i = 0; i < 30; ++i) tall = str_cat("add(", tall, ", a)");
  std::string call(tall);
  call.replace(call.find("(a,"), 3, "(f(a),");
  expect_error(load_body("z = f20(x);", "z", doubling(20, tall, call)), {"nested over"});
}

TEST(Hostile, SymbolsAndConstantsStayBounded) {
  std::string growing = "a = S;";
  for (int i = 0; i < 200; ++i) growing += "a = a * a + S;";
  expect_error(load_body(growing + "z = reshape(x, shape = [a]);"), {"out of range"});
  std::string stack = "a = [1.0, 2.0];";
  for (int i = 0; i < 60; ++i) stack += "a = concat([a, a], axis = 0);";
  EXPECT_NE(error_of(load_body(stack + "z = a;")), "");
}

}  // namespace
}  // namespace rill::nnef
