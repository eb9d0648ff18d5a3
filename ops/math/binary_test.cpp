#include "ops/math/binary.h"

#include "core/optim/optim.h"
#include "ops/math/dims.h"
#include "ops/math/test_support.h"
#include "ops/math/unary.h"

namespace rill::ops::test {
namespace {

std::string fact_of(const std::vector<Input>& inputs, std::string_view statements,
                    std::string_view extensions = "") {
  const Graph graph = graph_of(inputs, statements, "y", extensions);
  return graph.nodes.empty() ? "" : graph.fact(graph.outputs[0]).to_string();
}

TEST(Binary, GivesTheSameInEveryLayout) {
  const Tensor a = random_f32(1, {2, 3, 4});
  const Tensor b = random_f32(2, {2, 3, 4});
  const Tensor c = random_f32(3, {1, 3, 1});
  for (const BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kDiv, BinaryKind::kMax,
                                BinaryKind::kPow, BinaryKind::kLt, BinaryKind::kNe}) {
    expect_every_layout(std::make_shared<Binary>(kind), {a, b});
    expect_every_layout(std::make_shared<Binary>(kind), {a, c});
    expect_every_layout(std::make_shared<Binary>(kind), {c, a});
  }
}

TEST(Binary, RunsOnEightAxes) {
  const Tensor a = random_f32(1, {2, 1, 2, 1, 2, 1, 2, 3});
  const Tensor b = random_f32(2, {1, 2, 1, 2, 1, 2, 1, 3});
  const auto y = eval(Binary(BinaryKind::kSub), {a, b}).value()[0];
  Graph graph;
  const auto source = [&](const Tensor& t) {
    return graph.add_source("x",
                            Fact::of_tensor(std::make_shared<const Tensor>(t)).without_value());
  };
  const OutletId x = source(a);
  const OutletId z = source(b);
  graph.add_output("y",
                   graph.add("y", std::make_shared<Binary>(BinaryKind::kSub), {x, z}).value()[0]);
  expect_same(run(graph, {a, b}).value()[0], y);
  EXPECT_EQ(y.volume(), 384);
  EXPECT_EQ(y.data<float>()[383], a.data<float>()[47] - b.data<float>()[23]);
}

TEST(Binary, RunsOnScalarsAndOnNothing) {
  const Graph graph = graph_of({{"a", ""}, {"b", ""}}, "y = a * b;");
  expect_same(run(graph, {f32({}, {3}), f32({}, {4})}).value()[0], f32({}, {12}));
  const Graph empty = graph_of({{"a", "0, 3"}, {"b", "1, 3"}}, "y = a * b;");
  EXPECT_EQ(run(empty, {random_f32(1, {0, 3}), random_f32(1, {1, 3})}).value()[0].volume(), 0);
}

TEST(Binary, PromotesTypesAsTheDialectSays) {
  const std::vector<Input> ab = {{"a", "2", "i64"}, {"b", "2", "i32"}};
  EXPECT_EQ(fact_of(ab, "y = add(a, b);"), "2,I64");
  EXPECT_EQ(fact_of(ab, "y = add(a, 1);"), "2,TDim");
  EXPECT_EQ(fact_of(ab, "y = mul(a, 0.5);"), "2,I64");
  EXPECT_EQ(fact_of(ab, "y = ge(a, 2);"), "2,Bool");
  EXPECT_EQ(fact_of(ab, "y = ge(a, 2) * le(a, 5);"), "2,Bool");
  EXPECT_EQ(fact_of(ab, "y = ge(a, 2) + le(a, 0);"), "2,Bool");
  EXPECT_EQ(fact_of({{"a", "2", "f16"}, {"b", "2"}}, "y = add(a, b);"), "2,F32");
  EXPECT_EQ(fact_of({{"a", "2", "f16"}}, "y = mul(a, 2.0);"), "2,F16");
  EXPECT_EQ(fact_of({{"a", "2", "u8"}}, "y = mul(a, [2.0, 3.0]);"), "2,U8");
}

TEST(Binary, NamesWhatIsWrong) {
  const std::vector<Input> ab = {
      {"a", "2, 3"}, {"b", "2", "i64"}, {"c", "2", "bool"}, {"d", "4, 3"}};
  expect_load_error(ab, "y = add(a, 1);", Code::kDType, "no super type for F32 and TDim");
  expect_load_error(ab, "y = add(a, b);", Code::kDType, "no super type for F32 and I64");
  expect_load_error(ab, "y = sub(c, c);", Code::kDType, "not defined for Bool");
  expect_load_error(ab, "y = and(a, a);", Code::kDType, "not defined for F32");
  expect_load_error(ab, "y = add(a, d);", Code::kShape, "extents of axis 0 clash");
  expect_load_error(ab, "y = tract_shl(a, a);", Code::kDType, "not defined for F32");
}

TEST(Binary, RefusesWhatCanNotBe) {
  const Fact a = Fact::of(DType::kF32, {Dim(2)});
  const Fact b = Fact::of(DType::kF32, {Dim(2), Dim(1)});
  const Fact c = Fact::of(DType::kI64, {Dim(2)});
  const Fact ranks[] = {a, b};
  const Fact types[] = {a, c};
  EXPECT_EQ(Binary(BinaryKind::kAdd).infer(ranks).status().code(), Code::kShape);
  EXPECT_EQ(Binary(BinaryKind::kAdd).infer(types).status().code(), Code::kDType);
  EXPECT_FALSE(Binary(BinaryKind::kAdd).infer({&a, 1}).ok());
}

TEST(Binary, DividesTheLeastIntegerByMinusOneWithoutATrap) {
  const auto y = eval(Binary(BinaryKind::kDiv), {i64({2}, {INT64_MIN, 5}), i64({2}, {-1, 0})});
  expect_same(y.value()[0], i64({2}, {INT64_MIN, 0}));
  const Tensor small = typed(DType::kI32, {1}, {-2147483648.0});
  const Tensor minus = typed(DType::kI32, {1}, {-1});
  expect_same(eval(Binary(BinaryKind::kDiv), {small, minus}).value()[0], small);
}

TEST(Binary, ComputesOnDims) {
  const Graph graph =
      graph_of({{"x", "B, S"}}, "y = reshape(x, shape = [max(B * 2, 1) / 2, min(S, S + 1)]);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "(max(1, 2*B))/2,S,F32");
}

TEST(Binary, DecidesWhatDimsSayForAllValues) {
  const Dim s = Dim::symbol("S");
  const SymbolScope scope;
  EXPECT_TRUE(compare_dims(scope, BinaryKind::kGe, s, Dim(0)).value());
  EXPECT_TRUE(compare_dims(scope, BinaryKind::kNe, s + Dim(1), Dim(0)).value());
  EXPECT_FALSE(compare_dims(scope, BinaryKind::kLt, s + Dim(2), s).value());
  EXPECT_TRUE(compare_dims(scope, BinaryKind::kEq, s + s, Dim(2) * s).value());
  EXPECT_EQ(compare_dims(scope, BinaryKind::kGt, s, Dim(0)).status().code(), Code::kSymbol);
  EXPECT_EQ(combine_dims(BinaryKind::kDiv, Dim(-3), Dim(2)).value(), Dim(-1));
  EXPECT_EQ(combine_dims(BinaryKind::kDiv, s * Dim(6), s).value(), Dim(6));
  EXPECT_FALSE(combine_dims(BinaryKind::kDiv, Dim(6), s).ok());
  EXPECT_EQ(combine_dims(BinaryKind::kDiv, Dim(6), Dim(0)).value(), Dim(0));
}

TEST(Binary, UsesTheAssertionsOfTheModel) {
  const char* statements =
      "c = ge(S, 3); y = slice(x, axes = [0], begin = [0], end = [select(c, 3, S)]);";
  EXPECT_EQ(fact_of({{"x", "S"}}, statements, "extension tract_assert S >= 4;\n"), "3,F32");
}

TEST(Binary, IsSimplified) {
  const auto nodes = [](const char* statements) {
    return declutter(graph_of({{"x", "2, S"}}, statements)).value().nodes.size();
  };
  EXPECT_EQ(nodes("y = x * 1.0;"), 1U);
  EXPECT_EQ(nodes("y = 1.0 * x;"), 1U);
  EXPECT_EQ(nodes("y = x / 1.0;"), 1U);
  EXPECT_EQ(nodes("y = x + 0.0;"), 1U);
  EXPECT_EQ(nodes("y = x - 0.0;"), 1U);
  EXPECT_EQ(nodes("y = x ^ 1.0;"), 1U);
  EXPECT_EQ(nodes("y = 0.0 - x;"), 3U);
  EXPECT_EQ(nodes("y = max(max(x, 0.0), 0.0);"), 3U);
}

TEST(Binary, ReadsWhatABroadcastRepeats) {
  const Graph graph = graph_of({{"x", "3, S"}, {"z", "3, 1"}},
                               "b = tract_core_broadcast(z, shape = [3, S]); y = x * b;");
  const Graph simple = declutter(graph).value();
  for (const Node& node : simple.nodes) {
    EXPECT_NE(node.op->name(), "MultiBroadcastTo");
  }
  const Graph both = graph_of({{"x", "1, S"}, {"z", "3, 1"}},
                              "a = tract_core_broadcast(x, shape = [3, S]);"
                              " b = tract_core_broadcast(z, shape = [3, S]); y = a * b;");
  const Tensor x = random_f32(1, {1, 4});
  const Tensor z = random_f32(2, {3, 1});
  expect_same(run(both, {x, z}).value()[0], run(both, {x, z}, false).value()[0]);
}

TEST(Binary, KeepsNaNWhereItMultipliesByZero) {
  const Graph graph = graph_of({{"x", "2"}}, "y = x * 0.0; z = x - x;", "y, z");
  const float nan = __builtin_nanf("");
  const auto out = run(graph, {f32({2}, {nan, 1})}).value();
  expect_same(out[0], f32({2}, {nan, 0}));
  expect_same(out[1], f32({2}, {nan, 0}));
}

TEST(Binary, DividesByPowersOfTwoByMultiplying) {
  const Graph simple = declutter(graph_of({{"x", "S"}}, "y = x / 8.0;")).value();
  EXPECT_EQ(simple.nodes.back().op->name(), "Mul");
  const Graph exact = declutter(graph_of({{"x", "S"}}, "y = x / 3.0;")).value();
  EXPECT_EQ(exact.nodes.back().op->name(), "Div");
}

TEST(Binary, ComputesOnTheRealNumbersOfQuantisedTypes) {
  const QParams q{128, 0.5F};
  Tensor a = std::move(Tensor::zeros(DType::kQU8, {3}, q)).value();
  const uint8_t raw[] = {130, 100, 255};
  std::copy(raw, raw + 3, a.mutable_data<uint8_t>());
  const auto sum = eval(Binary(BinaryKind::kAdd, q), {a, a}).value()[0];
  EXPECT_EQ(sum.data<uint8_t>()[0], 132);
  EXPECT_EQ(sum.data<uint8_t>()[1], 72);
  EXPECT_EQ(sum.data<uint8_t>()[2], 255);
}

TEST(Binary, StreamsWithConstantsAndWithItself) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = slice(x, axes = [1], begin = [1], end = [S]);"
                               " b = slice(x, axes = [1], begin = [0], end = [S - 1]);"
                               " y = (a - b) * [[0.5], [2.0]] + 1.0;");
  expect_streams(graph, 1, {1, 3}, {2, 9}, {1, 1});
}

TEST(Binary, MapsVirtualPrefixes) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = pad(x, padding = [(0, 0), (2, 0)], value = 3.0);"
                               " b = pad(neg(x), padding = [(0, 0), (2, 0)], value = 5.0);"
                               " y = a * b + [[1.0], [7.0]];");
  expect_streams(graph, 1, {1, 3}, {1, 9});
}

TEST(Binary, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "2, 3"}, {"z", "2, 3"}},
                               "y = select(x < z, max(x, 0.25) + z, min(x, z) / (x * x + 1.0));");
  expect_written_and_read(graph, {random_f32(1, {2, 3}), random_f32(2, {2, 3})});
}

}  // namespace
}  // namespace rill::ops::test
