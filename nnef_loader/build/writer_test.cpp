#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "nnef_loader/archive/test_support.h"
#include "nnef_loader/build/literals.h"
#include "nnef_loader/build/test_ops.h"

namespace rill::nnef {
namespace {

using namespace test;  // NOLINT: the helpers of these tests

std::string text_of_graph(const Graph& graph, const SaveOptions& options = {}) {
  auto text = graph_text(graph, options);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().to_string());
  return text.ok() ? *text : std::string();
}

/// Return the part of a document after the properties.
std::string graph_part(const std::string& text) { return text.substr(text.find("\ngraph ") + 1); }

TEST(Writer, WritesTheFormOfTheDialect) {
  Graph g =
      loaded(load_body("a = add(x, 1.5); b = mul(a, [[2.0], [3.0]]); z = relu(b);", "z",
                       "extension tract_assert S >= 1; extension tract_symbol Unused;"
                       "extension tract_assert Unused >= 3; extension tract_assert tg: S==1;"));
  g.properties["frames"] = integers({1}, {3});
  g.properties["author"] = Tensor::scalar(std::string("it's \"me\""));
  const std::string text = text_of_graph(g);
  EXPECT_EQ(text,
            "version 1.0;\n\n"
            "extension tract_assert S >= 1;\n"
            "extension tract_assert tg: S == 1;\n"
            "extension tract_registry tract_core;\n"
            "extension tract_symbol S;\n"
            "\n"
            "fragment tract_core_properties(\n) -> (properties: (string, tensor<scalar>)[])\n{\n"
            "  properties = [(\"author\", \"it\\'s \\\"me\\\"\"), (\"frames\", "
            "tract_core_cast([3], to = \"i64\")), (\"tract_nnef_ser_version\", \"rill 0.1.0\"), "
            "(\"tract_nnef_format_version\", \"beta1\")];\n}\n"
            "\n"
            "graph network(x, y) -> (z) {\n"
            "  x = tract_core_external(shape = [2, S], datum_type = \"F32\");\n"
            "  y = tract_core_external(shape = [2, S], datum_type = \"F32\");\n"
            "  a = add(x, 1.5);\n"
            "  b_y = [[2.0], [3.0]];\n"
            "  b = mul(a, b_y);\n"
            "  z = max(b, 0.0);\n"
            "}\n");
}

TEST(Writer, ConcreteFloatInputsAreExternals) {
  const Graph g =
      loaded(load_text("version 1.0; graph net(x) -> (x) { x = external(shape = [2, 3]); }"));
  EXPECT_EQ(graph_part(text_of_graph(g)),
            "graph net(x) -> (x) {\n  x = external(shape = [2, 3]);\n}\n");
  EXPECT_EQ(text_of_graph(g).find("extension"), std::string::npos);
}

TEST(Writer, OutputsKeepTheirNames) {
  const Graph g =
      loaded(load_body("a = add(x, y); b = a; c, d = pair(a); k = 2.0;", "b, a, x, d, k, y"));
  EXPECT_EQ(graph_part(text_of_graph(g)),
            "graph network(x, y) -> (b, a, x, d, k, y) {\n"
            "  x = tract_core_external(shape = [2, S], datum_type = \"F32\");\n"
            "  y = tract_core_external(shape = [2, S], datum_type = \"F32\");\n"
            "  a = add(x, y);\n"
            "  (c, d) = pair(a);\n"
            "  k = 2.0;\n"
            "  b = a;\n"
            "}\n");
  Graph swapped = loaded(load_body("z = x;"));
  swapped.outputs = {swapped.inputs[0], swapped.inputs[1]};
  swapped.output_names = {"y", "x"};
  const std::string text = graph_part(text_of_graph(swapped));
  EXPECT_NE(text.find("-> (y_1, x_1)"), std::string::npos) << text;
  EXPECT_NE(text.find("  y_1 = x;\n  x_1 = y;\n"), std::string::npos) << text;
}

TEST(Writer, NamesBecomeIdentifiers) {
  Graph g;
  const OutletId x = g.add_source("in.put/1", Fact::of(DType::kF32, {Dim(2)}));
  const OutletId y = g.add_source("in_put_1", Fact::of(DType::kF32, {Dim(2)}));
  const OutletId i = g.add_source("info", Fact::of(DType::kF32, {Dim(2)}));
  const OutletId n = g.add_source("2nd", Fact::of(DType::kF32, {Dim(2)}));
  for (const OutletId& wire : {x, y, i, n}) g.add_output(g.node(wire.node).name, wire);
  EXPECT_NE(text_of_graph(g).find("graph network(in_put_1, in_put_1_1, _info, _2nd) -> "),
            std::string::npos)
      << text_of_graph(g);
  SaveOptions options;
  options.extended_identifiers = true;
  const std::string extended = text_of_graph(g, options);
  EXPECT_NE(extended.find("graph network(i\"in.put/1\", in_put_1, i\"info\", i\"2nd\") -> "),
            std::string::npos)
      << extended;
  const Graph back = loaded(load_text(extended));
  EXPECT_EQ(back.input_name(0), "in.put/1");
}

TEST(Writer, WiresDoNotHideSymbols) {
  const Graph g =
      loaded(load_text("version 1.0; extension tract_symbol S; graph network(x) -> (T)"
                       "{ x = external(shape = [S]); T = add(x, x); }"));
  Graph renamed = g;
  renamed.nodes.back().name = "S";
  renamed.output_names[0] = "S";
  EXPECT_NE(text_of_graph(renamed).find("S_1 = add(x, x)"), std::string::npos);
}

TEST(Literals, EveryTypeReadsBack) {
  const auto text = [](const Tensor& t) { return literal_text(t).value_or("none"); };
  EXPECT_EQ(text(Tensor::scalar(1.0F)), "1.0");
  EXPECT_EQ(text(Tensor::scalar(-0.0F)), "-0.0");
  EXPECT_EQ(text(Tensor::scalar(std::nanf(""))), "none");
  EXPECT_EQ(text(Tensor::scalar(-INFINITY)), "-inf");
  EXPECT_EQ(text(floats({1, 1, 1}, {0.5F})), "[[[0.5]]]");
  EXPECT_EQ(text(floats({0}, {})), "[]");
  EXPECT_EQ(text(floats({0, 2}, {})), "none");
  EXPECT_EQ(text(integers({2}, {1, -2})), "tract_core_cast([1, -2], to = \"i64\")");
  EXPECT_EQ(text(integers({1}, {int64_t{1} << 40})), "none");
  EXPECT_EQ(text(Tensor::scalar(INT64_MIN)), "tract_core_cast(-9223372036854775808, to = \"i64\")");
  EXPECT_EQ(text(Tensor::scalar(Dim::symbol("S") + Dim(1))), "(S + 1)");
  const Dim dims[] = {Dim(2), Dim::symbol("S")};
  EXPECT_EQ(text(Tensor::dims(dims)), "[2, S]");
  EXPECT_EQ(text(Tensor::dims(std::span(dims, 1))), "tract_core_cast([2], to = \"tdim\")");
  EXPECT_EQ(text(Tensor::scalar(true)), "true");
  EXPECT_EQ(text(Tensor::scalar(std::string("a'b"))), "\"a\\'b\"");
}

TEST(Literals, DimsReadBackUnchanged) {
  const Dim s = Dim::symbol("S");
  const Dim b = Dim::symbol("B");
  const Dim cases[] = {s,
                       s * Dim(-1),
                       s * Dim(3) - Dim(4),
                       floor_div(s + Dim(1), 2),
                       floor_div(s + Dim(1), 2) * Dim(3) + Dim(1),
                       floor_div(s, 3) * b,
                       floor_div(s, 3) * floor_div(b, 2) * Dim(5),
                       min(s, b) + Dim(2),
                       max(max(s, b), Dim(7)),
                       s * b * s - b,
                       Dim(INT64_MIN) + s,
                       floor_div(floor_div(s + Dim(1), 2) * b + Dim(1), 4)};
  for (const Dim& dim : cases) {
    ASSERT_TRUE(dim_expression(dim).has_value());
    const Graph g =
        loaded(load_body(str_cat("z = ", dim_text(dim), ";"), "z", "extension tract_symbol B;"));
    ASSERT_EQ(output_value(g).dtype(), DType::kDim) << dim_text(dim);
    EXPECT_EQ(output_value(g).data<Dim>()[0], dim) << dim_text(dim);
  }
}

// NNEF has no expression for these that is known at load time: they are strings.
TEST(Literals, DimsWithoutAnExpressionReadBackAsAttributes) {
  const Dim s = Dim::symbol("S");
  const Dim b = Dim::symbol("B");
  const Dim cases[] = {broadcast(s, b),
                       broadcast(s - Dim(1), s) + Dim(2),
                       ge(s, b + Dim(3)),
                       eq(s, b) * Dim(2) - Dim(5),
                       floor_div(broadcast(s, b) + Dim(1), 4) * ge(s, Dim(7)),
                       min(s, eq(s, b) + b),
                       max(broadcast(s, b), ge(b, s) * s) + s * b};
  for (const Dim& dim : cases) {
    EXPECT_FALSE(dim_expression(dim).has_value()) << dim.to_string();
    const Graph g = loaded(
        load_text(str_cat("version 1.0; extension tract_symbol S; extension tract_symbol B;"
                          "graph network(x) -> (x) { x = external(shape = [",
                          dim_text(dim), "]); }")));
    EXPECT_EQ(g.fact(g.outputs[0]).shape[0], dim) << dim_text(dim);
  }
}

/// Saves to a file and loads it again.
class RoundTrip : public InFolder {
 protected:
  Graph again(const Graph& graph, const std::string& name = "m.nnef.tar",
              Container container = Container::kTar, const SaveOptions& options = {}) const {
    const Status status = save(graph, path(name), container, options);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().to_string());
    return loaded(load(path(name), ops()));
  }
  static void expect_equal(const Graph& a, const Graph& b) {
    ASSERT_EQ(text_of_graph(a), text_of_graph(b));
    ASSERT_EQ(a.outputs.size(), b.outputs.size());
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      const Fact& left = a.fact(a.outputs[i]);
      const Fact& right = b.fact(b.outputs[i]);
      EXPECT_TRUE(left.same_type(right)) << left.to_string() << " " << right.to_string();
      ASSERT_EQ(left.konst == nullptr, right.konst == nullptr);
      if (left.konst) {
        EXPECT_TRUE(left.konst->same_bits(*right.konst)) << i;
      }
    }
  }
};

TEST_F(RoundTrip, GraphsAndConstantsOfEveryType) {
  const auto t = [](DType type) { return std::move(cast(integers({2}, {1, 0}), type)).value(); };
  Graph g = loaded(
      load_body("z = reshape(mul(add(x, y), 0.25), shape = [S * 2]); u, v = pair(z);", "z, v"));
  int i = 0;
  for (const DType type :
       {DType::kBool, DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kU32, DType::kI32,
        DType::kU64, DType::kF16, DType::kBF16, DType::kF64, DType::kI64}) {
    const std::string name = str_cat("c", i++);
    g.add_output(name, g.add_const(name, std::make_shared<const Tensor>(t(type))));
  }
  const auto add = [&](Tensor value) {
    const std::string name = str_cat("c", i++);
    g.add_output(name, g.add_const(name, std::make_shared<const Tensor>(std::move(value))));
  };
  add(floats({3, 4}, std::vector<float>(12, 0.5F)));
  add(Tensor::scalar(std::nanf("")));
  add(Tensor::scalar(int64_t{5}));
  add(Tensor::scalar(std::string("text")));
  add(floats({0, 4}, {}));
  expect_equal(g, again(g));
  expect_equal(g, again(g, "m.nnef.tgz", Container::kTgz));
  SaveOptions options;
  options.extern_all_constants = true;
  expect_equal(g, again(g, "extern.nnef.tar", Container::kTar, options));
}

TEST_F(RoundTrip, QuantisedConstants) {
  Graph g = loaded(load_body("z = x;"));
  Tensor q = std::move(Tensor::zeros(DType::kQU8, {2}, {128, 0.1F})).value();
  q.mutable_data<uint8_t>()[1] = 200;
  g.add_output("q", g.add_const("weights.q", std::make_shared<const Tensor>(q)));
  const Graph back = again(g);
  EXPECT_TRUE(output_value(back, 1).same_bits(q));
}

TEST_F(RoundTrip, LoopBodies) {
  const Graph g = loaded(
      load_body("s = tract_core_scan(body = 'step', full = [x, 2.0]); z = relu(s);", "z",
                "fragment step(a: tensor<scalar>, k: tensor<scalar>) -> (out: tensor<scalar>, b: "
                "tensor<scalar>) { t = a * [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]] * k;"
                " out = relu(t); b = a; }"));
  const std::string text = text_of_graph(g);
  EXPECT_NE(text.find("fragment scan_body_0(\n    a: tensor<scalar>,\n    k: tensor<scalar>\n"
                      ") -> (out: tensor<scalar>, b: tensor<scalar>)\n{\n"
                      "  t_mul_y = variable<scalar>(label = \"t_mul_y\", shape = [1, 9]);\n"
                      "  t_mul = mul(a, t_mul_y);\n"
                      "  t = mul(t_mul, k);\n"
                      "  out = max(t, 0.0);\n"
                      "  b = a;\n}\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("tract_core_scan(body = \"scan_body_0\", full = [x, 2.0])"),
            std::string::npos)
      << text;
  expect_equal(g, again(g));
}

TEST_F(RoundTrip, DimsInAttributes) {
  const Graph g =
      loaded(load_text("version 1.0; extension tract_registry tract_core; extension tract_symbol S;"
                       "extension tract_symbol T; graph network(x, y) -> (a, b, c) {"
                       "x = external(shape = [S]); y = external(shape = [T]); z = add(x, y);"
                       "a = slice(z, axes = [0], begin = [0], end = [3 * ((S + 1) / 2)]);"
                       "b = reshape(z, shape = [1, tract_core_shape_of(z)[0]]);"
                       "c = slice(z, axes = [0], begin = [0], end = [max(min(S, T), 5) - 1]); }"));
  const std::string text = text_of_graph(g);
  EXPECT_NE(text.find("end = [(3 * ((S + 1) / 2))]"), std::string::npos) << text;
  EXPECT_NE(text.find("shape = [1, tract_core_shape_of(z)[0]]"), std::string::npos) << text;
  expect_equal(g, again(g));
}

// The broadcast of S - 1 and S is S for extents of at least 1, and S is in the statement as well.
TEST_F(RoundTrip, DimsThatAreMentionedNextToBroadcasts) {
  const Graph g =
      loaded(load_text("version 1.0; extension tract_registry tract_core; extension tract_symbol S;"
                       "graph network(x, y) -> (z, a) {"
                       "x = external(shape = [S]); y = external(shape = [S + 2, S - 1]);"
                       "z = add(y, unsqueeze(x, axes = [0]));"
                       "a = slice(z, axes = [0], begin = [1], end = [S]); }"));
  const std::string text = text_of_graph(g);
  EXPECT_NE(text.find("begin = [1], end = [S]"), std::string::npos) << text;
  expect_equal(g, again(g));
}

TEST_F(RoundTrip, AFailedWriteLeavesTheOldFile) {
  const Graph g = loaded(load_body("z = add(x, y);"));
  const Graph kept = again(g, "kept.nnef.tar");
  const Graph bad = loaded(load_body("z = probe(x);"));
  const Status status = save(bad, path("kept.nnef.tar"), Container::kTar);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().to_string().find("node \"z\" (Probe)"), std::string::npos);
  EXPECT_TRUE(load(path("kept.nnef.tar"), ops()).ok());
}

}  // namespace
}  // namespace rill::nnef
