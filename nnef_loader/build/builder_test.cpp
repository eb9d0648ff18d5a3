#include <gtest/gtest.h>

#include <cmath>

#include "nnef_loader/build/test_ops.h"
#include "nnef_loader/build/values.h"

namespace rill::nnef {
namespace {

using namespace test;  // NOLINT: the helpers of these tests

TEST(Literals, IntegersAreDimsAndFloatsAreF32) {
  const Graph g = loaded(
      load_body("a = 1; b = 1.0; c = -inf; d = true; e = 'text'; f = 1e3;", "a, b, c, d, e, f"));
  ASSERT_EQ(g.outputs.size(), 6U);
  EXPECT_EQ(output_value(g, 0).dtype(), DType::kDim);
  EXPECT_EQ(output_value(g, 1).dtype(), DType::kF32);
  EXPECT_EQ(output_value(g, 2).data<float>()[0], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(output_value(g, 3).dtype(), DType::kBool);
  EXPECT_EQ(output_value(g, 4).data<std::string>()[0], "text");
  EXPECT_EQ(output_value(g, 5).data<float>()[0], 1000.0F);
}

// NNEF has no literal `nan`, so it is a number, as in `leaky_relu(x, nan)`, unless a wire has that
// name.
TEST(Literals, NanIsANumberUnlessItIsAName) {
  const Graph g = loaded(load_body("a = nan; b = [1.0, nan];", "a, b"));
  EXPECT_TRUE(std::isnan(output_value(g, 0).data<float>()[0]));
  EXPECT_TRUE(std::isnan(output_value(g, 1).data<float>()[1]));
  const Graph named = loaded(load_body("nan = 2.0; a = nan;", "a"));
  EXPECT_EQ(output_value(named, 0).data<float>()[0], 2.0F);
}

TEST(Literals, RangeOfNumbers) {
  const Graph g = loaded(
      load_body("a = -9223372036854775808; b = 1e50; c = -1e-400; d = 16777217.0;", "a, b, c, d"));
  EXPECT_EQ(*output_value(g, 0).data<Dim>()[0].to_int(), INT64_MIN);
  EXPECT_EQ(output_value(g, 1).data<float>()[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(output_value(g, 2).data<float>()[0], 0.0F);
  EXPECT_EQ(output_value(g, 3).data<float>()[0], 16777216.0F);
  expect_error(load_body("z = 9223372036854775808;"), {"graph.nnef:8:", "64 bits"});
}

TEST(Literals, ListsStack) {
  const Graph g = loaded(load_body(
      "a = [1, 2, 9223372036854775807]; b = [[1.0, 2], [3, 4]]; c = [S, 3]; d = []; e = ['p', 'q'];"
      "f = [[[0.5]]]; g = [true, false];",
      "a, b, c, d, e, f, g"));
  EXPECT_TRUE(output_value(g, 0).same_bits(integers({3}, {1, 2, INT64_MAX})));
  EXPECT_TRUE(output_value(g, 1).same_bits(floats({2, 2}, {1, 2, 3, 4})));
  EXPECT_EQ(output_value(g, 2).dtype(), DType::kDim);
  EXPECT_EQ(output_value(g, 2).data<Dim>()[0].to_string(), "S");
  EXPECT_EQ(output_value(g, 3).shape(), (std::vector<int64_t>{0}));
  EXPECT_EQ(output_value(g, 4).data<std::string>()[1], "q");
  EXPECT_EQ(output_value(g, 5).shape(), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(output_value(g, 6).dtype(), DType::kBool);
  expect_error(load_body("z = [[1, 2], [3]];"), {"graph.nnef:8:", "one length"});
  expect_error(load_body("z = [1, true];"), {"graph.nnef:8:", "mixes"});
  expect_error(load_body("z = [1.0, S];"), {"No super type"});
}

TEST(Literals, ListsOfWiresAreConcatenated) {
  const Graph g = loaded(load_body("z = [x, y];"));
  EXPECT_EQ(g.fact(g.outputs[0]).to_string(), "2,2,S,F32");
  EXPECT_EQ(g.node(g.outputs[0].node).name, "z");
  EXPECT_EQ(g.node(g.outputs[0].node).op->name(), "Concat");
}

TEST(Expressions, FoldOnNumbersAndSymbols) {
  const Graph g = loaded(load_body(
      "a = (S + 3) * 2 - 1; b = 7 / 2; c = -7 / 2; d = (S + 1) / 2; e = 1.0 / 4.0; f = 2.0 ^ 3.0;"
      "g = -S; h = [1, 2][1]; i = 3 if true else 4;",
      "a, b, c, d, e, f, g, h, i"));
  EXPECT_EQ(output_value(g, 0).data<Dim>()[0], Dim::symbol("S") * Dim(2) + Dim(5));
  EXPECT_EQ(output_value(g, 1).data<Dim>()[0], Dim(3));
  EXPECT_EQ(output_value(g, 2).data<Dim>()[0], Dim(-3));
  EXPECT_EQ(output_value(g, 3).data<Dim>()[0], floor_div(Dim::symbol("S") + Dim(1), 2));
  EXPECT_EQ(output_value(g, 4).data<float>()[0], 0.25F);
  EXPECT_EQ(output_value(g, 5).data<float>()[0], 8.0F);
  EXPECT_EQ(output_value(g, 6).data<Dim>()[0], Dim(0) - Dim::symbol("S"));
  EXPECT_EQ(output_value(g, 7).data<Dim>()[0], Dim(2));
  EXPECT_EQ(output_value(g, 8).data<Dim>()[0], Dim(3));
  expect_error(load_body("z = S / (S + 1);"), {"graph.nnef:8:", "Can't divide"});
  expect_error(load_body("z = 1 / 0;"), {"by zero"});
  expect_error(load_body("z = 9223372036854775807 * 2;"), {"out of range"});
}

TEST(Expressions, OperatorsOnWiresCallOperators) {
  const Graph g = loaded(load_body("z = (x + y) * (x - 1.0) + x;"));
  EXPECT_EQ(node_list(g), "x:Source y:Source z_add:Binary z_sub:Binary z_mul:Binary z:Binary");
}

TEST(Expressions, UnsupportedOnesAreNamed) {
  expect_error(load_body("z = x[0:1];"), {"graph.nnef:8:", "is not supported"});
  expect_error(load_body("z = [for i in [1, 2] yield i];"), {"is not supported"});
  expect_error(load_body("z = x in y;"), {"\"in\" is not supported"});
  expect_error(load_body("z = 1.0 if x else 2.0;"), {"known when the model is loaded"});
}

TEST(Arguments, DefaultsPositionsAndNames) {
  const auto attributes = [](std::string_view call) {
    const Graph g = loaded(load_body(str_cat("z = probe(", call, ");")));
    return g.nodes.empty() ? std::string() : g.nodes.back().op->attributes();
  };
  EXPECT_EQ(attributes("x"), "n=7 f=0.5 flag=true s=abc list=[1, 2] dims=[] pads=[]");
  EXPECT_EQ(attributes("x, 3, 1.5"), "n=3 f=1.5 flag=true s=abc list=[1, 2] dims=[] pads=[]");
  EXPECT_EQ(attributes("s = 'q', input = x, flag = false"),
            "n=7 f=0.5 flag=false s=q list=[1, 2] dims=[] pads=[]");
  EXPECT_EQ(attributes("x, list = 5, dims = S, pads = [(1, 2), [3, 4]]"),
            "n=7 f=0.5 flag=true s=abc list=[5] dims=[S] pads=[(1, 2), (3, 4)]");
  EXPECT_EQ(attributes("x, n = [4], f = 2, flag = 0"),
            "n=4 f=2 flag=false s=abc list=[1, 2] dims=[] pads=[]");
  EXPECT_EQ(attributes("x, unheard_of = [1]"),
            "n=7 f=0.5 flag=true s=abc list=[1, 2] dims=[] pads=[]");
  EXPECT_EQ(attributes("x, extra = 9"), "n=9 f=0.5 flag=true s=abc list=[1, 2] dims=[] pads=[]");
}

TEST(Arguments, ConstantWiresReadAsNumbers) {
  const Graph g =
      loaded(load_body("s = tract_core_shape_of(x); k = 3; eps = 0.25; t = 'deep'; "
                       "z = probe(x, n = k, f = eps, dims = s, list = [k, 4], s = t, flag = k);"));
  EXPECT_EQ(g.nodes.back().op->attributes(),
            "n=3 f=0.25 flag=true s=deep list=[3, 4] dims=[2, S] pads=[]");
}

TEST(Arguments, FailuresNameTheArgument) {
  expect_error(load_body("z = add(x);"),
               {"graph.nnef:8:", "node \"z\"", "expected argument \"y\""});
  expect_error(load_body("\n\nz = probe(x, n = y);"),
               {"graph.nnef:10:", "argument \"n\"", "computed wire \"y\""});
  expect_error(load_body("z = probe(x, n = S);"), {"argument \"n\"", "unbound symbol S"});
  expect_error(load_body("z = probe(x, s = 3);"),
               {"argument \"s\"", "expected a string", "found 3"});
  expect_error(load_body("z = probe(x, n = 'three');"), {"unknown symbol \"three\""});
  expect_error(load_body("z = probe(x, n = 1e30);"), {"expected an integer"});
  expect_error(load_body("z = probe(x, pads = [1, 2]);"), {"(before, after)"});
  expect_error(load_body("z = add(x, 1);"), {"graph.nnef:8", "(Binary)", "No super type"});
  expect_error(load_body("z = probe(flag = true, x);"), {"graph.nnef"});
}

TEST(Names, AssignedNamesGoToTheNodesThatProduceThem) {
  const Graph g = loaded(load_body(
      "a_mul = add(x, y); a = a_mul * (x + y) * x; pre = relu(a); z = relu(relu(pre));", "z"));
  EXPECT_EQ(node_list(g),
            "x:Source y:Source a_mul:Binary a_add:Binary a_mul_1:Binary a:Binary pre:Binary "
            "z_relu:Binary z:Binary");
}

TEST(Names, ResultsOfFragmentsAreNamedByTheCaller) {
  const Graph g = loaded(
      load_body("p, q = both(x, y);", "p, q",
                "fragment both(a: tensor<scalar>, b: tensor<scalar>)"
                " -> (s: tensor<scalar>, d: tensor<scalar>) { t = a * b; s = t + a; d = t - a; }"));
  EXPECT_EQ(node_list(g), "x:Source y:Source p_both_t:Binary p:Binary q:Binary");
}

TEST(Statements, AliasesAndDuplicates) {
  const Graph g = loaded(load_body("a = x; z = add(x, y); z = add(z, a); w = z;", "z, w, a"));
  EXPECT_EQ(node_list(g), "x:Source y:Source z:Binary z_1:Binary");
  EXPECT_EQ(g.outputs[0], g.outputs[1]);
  EXPECT_EQ(g.outputs[2], g.inputs[0]);
  EXPECT_EQ(g.output_names, (std::vector<std::string>{"z", "w", "a"}));
}

TEST(Statements, SeveralResults) {
  const Graph g = loaded(
      load_body("a, b = pair(x); (c, d) = pair(y); [e, f] = unstack(x, axis = 0);"
                "l = unstack(x, axis = 0); h = concat(l, axis = 0); i = l[1]; j, k = (a, 2.0);",
                "a, b, c, d, e, f, h, i, k"));
  EXPECT_EQ(g.outputs[1].slot, 1);
  EXPECT_EQ(g.fact(g.outputs[6]).to_string(), "2,S,F32");
  expect_error(load_body("a, b, z = pair(x);"), {"graph.nnef:8:", "expected 3 results", "found 2"});
}

TEST(Statements, TheOnlyResultOfAListIsMeantByItsName) {
  const Graph g = loaded(load_body(
      "a = slice(x, axes = [0], begin = [0], end = [1]); z = unstack(a, axis = 0);"
      "w = mul(z, z); l = concat(z, axis = 0); e = z[0];",
      "z, w, l, e"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(g.fact(g.outputs[i]).to_string(), "1,S,F32");
  EXPECT_EQ(g.outputs[3], g.outputs[0]);
}

TEST(Statements, UnboundNamesAreErrors) {
  expect_error(load_body("z = add(x, w);"), {"graph.nnef:8:12", "Can not resolve \"w\""});
  expect_error(load_body("a = add(x, y);"), {"Could not find variable for output \"z\""});
}

TEST(Symbols, AreDeclaredOrCreatedWhereTheDialectAllows) {
  std::string warnings;
  LoadOptions options;
  options.warn_user = &warnings;
  options.warn = [](void* user, std::string_view text) {
    *static_cast<std::string*>(user) += str_cat(text, "\n");
  };
  const Graph g = loaded(load_text(
      "version 1.0;\nextension KHR_enable_fragment_definitions;\nextension made_up thing;\n"
      "graph g(x) -> (z) {\n x = external(shape = [N, 2]);\n"
      " z = slice(x, axes = [0], begin = [0], end = [N - M]);\n}",
      {}, options));
  EXPECT_EQ(g.name, "g");
  EXPECT_TRUE(g.scope.declared("N"));
  EXPECT_TRUE(g.scope.declared("M"));
  EXPECT_NE(warnings.find("Ignore unknown extension made_up thing"), std::string::npos);
  EXPECT_NE(warnings.find("graph.nnef:5: Introducing symbol \"N\""), std::string::npos);
  expect_error(load_body("z = reshape(x, shape = [Q]);"), {"Can not resolve \"Q\""});
}

TEST(Symbols, AssertionsAndScenarios) {
  const Graph g = loaded(load_text(
      "version 1.0; extension tract_assert tg: S == 1; extension tract_symbol S;"
      "extension tract_symbol T; extension tract_assert S >= 1; extension tract_assert T == 4;"
      "extension tract_assert pp: 2 <= S;"
      "graph network(x) -> (x) { x = external(shape = [S, T]); }"));
  EXPECT_EQ(g.fact(g.outputs[0]).to_string(), "S,4,F32");
  EXPECT_EQ(g.scope.assertions().size(), 2U);
  ASSERT_EQ(g.scope.scenarios().size(), 2U);
  EXPECT_EQ(g.scope.scenarios()[0].name, "tg");
  expect_error(load_text("version 1.0;\nextension tract_assert S !! 1;\n"
                         "graph network(x) -> (x) { x = external(shape = [1]); }"),
               {"graph.nnef:2:", "assertion"});
}

TEST(Registries, MustBeEnabledByTheFile) {
  const std::string_view body =
      "graph network(x) -> (z) {\n x = external(shape = [1]);\n z = tract_core_shape_of(x);\n}";
  expect_error(load_text(str_cat("version 1.0;\n", body)),
               {"graph.nnef:4:", "No definition for operator \"tract_core_shape_of\"",
                "extension tract_registry tract_core;"});
  EXPECT_TRUE(load_text(str_cat("version 1.0; extension tract_registry tract_core;", body)).ok());
  EXPECT_TRUE(load_text(str_cat("version 1.0; extension tract_registry pulse;"
                                "extension tract_registry tract_core;",
                                body))
                  .ok());
  expect_error(load_text(str_cat("version 1.0;\nextension tract_registry tract_kore;\n", body)),
               {"graph.nnef:2:", "Registry not found", "tract_transformers"});
  LoadOptions options;
  options.tract_core = false;
  expect_error(
      load_text(str_cat("version 1.0;\nextension tract_registry tract_core;\n", body), {}, options),
      {"graph.nnef:2:", "switched off"});
  expect_error(load_body("z = tract_extra_thing(x);"), {"tract_registry tract_extra;"});
  expect_error(load_body("z = nothing_like_it(x);"),
               {"graph.nnef:8:", "No definition for operator \"nothing_like_it\""});
  expect_error(load_body("z = roi_resample(x);"), {"NNEF has it"});
}

TEST(Registries, AliasesAreVisibleFromBoth) {
  for (const char* registry : {"tract_core", "tract_transformers"}) {
    EXPECT_TRUE(load_text(str_cat("version 1.0; extension tract_registry ", registry,
                                  "; graph network(x) -> (z) { x = external(shape = [1]);"
                                  "z = tract_transformers_rms_norm(x, n = 1, f = 0.1, flag = true,"
                                  "s = 'a', list = [], dims = [], pads = []); }"))
                    .ok())
        << registry;
  }
}

TEST(Fragments, HaveASeparateScope) {
  expect_error(
      load_body("w = add(x, y); z = peek(x);", "z",
                "fragment peek(a: tensor<scalar>) -> (b: tensor<scalar>) {\n b = a + w;\n}"),
      {"graph.nnef:5:", "Can not resolve \"w\""});
  EXPECT_TRUE(load_body("z = peek(x);", "z",
                        "fragment peek(a: tensor<scalar>) -> (b: tensor<scalar>)"
                        "{ b = reshape(a, shape = [S * 2]); }")
                  .ok());
}

TEST(Fragments, ShadowOperatorsAndTakeDefaults) {
  const Graph g =
      loaded(load_body("z = relu(x) + scaled(x) + scaled(y, 3.0);", "z",
                       "fragment relu(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x * 2.0; }"
                       "fragment scaled(x: tensor<scalar>, by: scalar = 0.5) -> (y: tensor<scalar>)"
                       "{ y = relu(x) * by; }"));
  for (const Node& node : g.nodes) EXPECT_NE(node.op->attributes(), "what=M") << node.name;
}

TEST(Fragments, RecursionIsRefused) {
  expect_error(load_body("z = f(x);", "z",
                         "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>) {\n b = g(a);\n}\n"
                         "fragment g(a: tensor<scalar>) -> (b: tensor<scalar>) {\n b = f(a);\n}"),
               {"fragment \"f\" calls itself"});
  expect_error(load_body("z = tract_core_scan(body = 'f', full = [x]);", "z",
                         "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>) {"
                         " b = tract_core_scan(body = 'f', full = [a]); }"),
               {"fragment \"f\" calls itself"});
}

TEST(Fragments, ErrorsInThemHaveTheirPlace) {
  expect_error(load_body("z = f(x);", "z", "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>);"),
               {"graph.nnef:8:", "No definition", "gives it no body"});
  expect_error(load_body("z = f(x);", "z",
                         "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>) { c = a; }"),
               {"never assigns its result \"b\""});
  expect_error(load_body("z = f(x);", "z",
                         "fragment f(a: tensor<scalar>, k: integer) -> (b: tensor<scalar>)"
                         "{ b = a; }"),
               {"graph.nnef:8:", "expected argument \"k\""});
  // A standard fragment has no position; the call has.
  expect_error(load_body("\nz = batch_normalization(x, y);"),
               {"graph.nnef:9:", "expected argument \"variance\""});
  expect_error(load_body("z = tract_core_scan(body = 'f', full = [x]);", "z",
                         "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>)"
                         "{ b = external(shape = [1]); }"),
               {"not in the body of a loop"});
}

TEST(Fragments, MayDeclareInputsOfTheModel) {
  const Graph g =
      loaded(load_body("z = f(x) + f(y);", "z",
                       "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>)"
                       "{ c = external(label = unknown, shape = [2, 3]); b = c; }"));
  ASSERT_EQ(g.inputs.size(), 4U);
  EXPECT_EQ(g.fact(g.inputs[2]).to_string(), "2,3,F32");
  EXPECT_NE(g.input_name(2), g.input_name(3));
}

TEST(Scan, BodiesAreSeparateGraphs) {
  const Graph g = loaded(
      load_body("s = tract_core_scan(body = 'step', full = [x, 2.0]); z = relu(s);", "z",
                "fragment step(a: tensor<scalar>, k: tensor<scalar>) -> (out: tensor<scalar>)"
                "{ t = a * 3.0; out = relu(t + a); }"));
  ASSERT_EQ(node_list(g), "x:Source y:Source s:Scan z:Binary");
  EXPECT_EQ(g.node(g.outputs[0].node - 2).op->attributes(),
            "body=a:Source k:Source t:Binary out_add:Binary out:Binary");
  expect_error(load_body("z = tract_core_scan(body = 'step', full = [x]);"),
               {"graph.nnef:8:", "no fragment \"step\""});
}

}  // namespace
}  // namespace rill::nnef
