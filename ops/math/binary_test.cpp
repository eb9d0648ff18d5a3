#include "ops/math/binary.h"

#include <cstdlib>
#include <limits>
#include <tuple>

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
    expect_every_layout(make_op<Binary>(kind), {a, b});
    expect_every_layout(make_op<Binary>(kind), {a, c});
    expect_every_layout(make_op<Binary>(kind), {c, a});
  }
}

TEST(Binary, LimitsByZeroKeepTheOrderOfTheirOperands) {
  for (const float limit : {0.0F, -0.0F, 1e-39F, 0.5F}) {
    for (const BinaryKind kind : {BinaryKind::kMin, BinaryKind::kMax}) {
      Graph graph;
      const OutletId x = graph.add_source("x", Fact::of(DType::kF32, {Dim(2)}));
      const OutletId c = graph.add_const("c", std::make_shared<const Tensor>(f32({1}, {limit})));
      graph.add_output("y", graph.add("y", make_op<Binary>(kind), {c, x}).value()[0]);
      const Graph simple = declutter(graph).value();
      const Node& node = simple.node(simple.outputs[0].node);
      EXPECT_EQ(simple.fact(node.inputs[1]).konst != nullptr, limit == 0.5F) << limit;
      const Tensor zeros = f32({2}, {-0.0F, 0.0F});
      expect_same(run(simple, {zeros}).value()[0], run(graph, {zeros}).value()[0]);
    }
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
  graph.add_output("y", graph.add("y", make_op<Binary>(BinaryKind::kSub), {x, z}).value()[0]);
  expect_same(run(graph, {a, b}).value()[0], y);
  EXPECT_EQ(y.volume(), 384);
  EXPECT_EQ(y.data<float>()[383], a.data<float>()[47] - b.data<float>()[23]);
}

TEST(Binary, RunsOnScalarsAndEmptyTensors) {
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

TEST(Binary, RefusalsNameTheCause) {
  const std::vector<Input> ab = {
      {"a", "2, 3"}, {"b", "2", "i64"}, {"c", "2", "bool"}, {"d", "4, 3"}};
  expect_load_error(ab, "y = add(a, 1);", Code::kDType, "no super type for F32 and TDim");
  expect_load_error(ab, "y = add(a, b);", Code::kDType, "no super type for F32 and I64");
  expect_load_error(ab, "y = sub(c, c);", Code::kDType, "not defined for Bool");
  expect_load_error(ab, "y = and(a, a);", Code::kDType, "not defined for F32");
  expect_load_error(ab, "y = add(a, d);", Code::kShape, "extents of axis 0 clash");
  expect_load_error(ab, "y = tract_shl(a, a);", Code::kDType, "not defined for F32");
}

TEST(Binary, RefusesImpossibleTypes) {
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

TEST(Binary, DividesRoundingDown) {
  const Tensor a = i64({9}, {-9, -9, 9, 9, -8, 7, INT64_MIN, 5, -1});
  const Tensor b = i64({9}, {2, -2, 2, -2, 4, 7, -1, 0, 1000});
  const Tensor expected = i64({9}, {-5, 4, 4, -5, -2, 1, INT64_MIN, 0, -1});
  expect_same(eval(Binary(BinaryKind::kFloorDiv), {a, b}).value()[0], expected);
  const Fact floats[] = {Fact::of(DType::kF32, {Dim(2)}), Fact::of(DType::kF32, {Dim(2)})};
  EXPECT_EQ(Binary(BinaryKind::kFloorDiv).infer(floats).status().code(), Code::kDType);
}

// The properties of files that torch_to_nnef wrote.
constexpr std::string_view kOfPyTorch =
    "fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[])\n"
    "{ properties = [(\"torch_to_nnef_version\", \"0.24.12\")]; }\n";

/// Return the only output of a graph, and expect it to be the same with and without simplification.
Tensor output_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto whole = run(graph, inputs);
  const auto plain = run(graph, inputs, false);
  EXPECT_TRUE(whole.ok() && plain.ok()) << (whole.ok() ? "" : whole.error().to_string());
  if (!whole.ok() || !plain.ok()) return f32({0}, {});
  expect_same((*plain)[0], (*whole)[0]);
  return std::move((*whole)[0]);
}

// The exporter writes PyTorch's `//` as a call of `div`, and the quotient in `fmod` with a slash.
TEST(Binary, DividesIntegersAsPyTorchDoesInItsFiles) {
  const std::vector<Input> ab = {{"a", "6", "i64"}, {"b", "6", "i64"}};
  const Tensor a = i64({6}, {-9, -9, 9, 9, -6, 5});
  const Tensor b = i64({6}, {2, -2, 2, -2, 3, 0});
  const Tensor down = i64({6}, {-5, 4, 4, -5, -2, 0});
  const Tensor to_zero = i64({6}, {-4, 4, 4, -4, -2, 0});
  for (const auto& [statement, of_pytorch, expected] :
       {std::tuple{"y = div(a, b);", true, &down}, std::tuple{"y = a / b;", true, &to_zero},
        std::tuple{"y = div(a, b);", false, &to_zero}}) {
    const Graph graph = graph_of(ab, statement, "y", of_pytorch ? kOfPyTorch : "");
    expect_same(output_of(graph, {a, b}), *expected);
    expect_written_and_read(graph, {a, b});
  }
  const Graph rest = graph_of({{"a", "6", "i64"}}, "y = sub(a, 5) / 3;", "y", kOfPyTorch);
  expect_same(output_of(rest, {a}), i64({6}, {-4, -4, 1, 1, -3, 0}));
  // In files of other origin, floor division takes several operators.
  Graph other = graph_of(ab, "y = div(a, b);", "y", kOfPyTorch);
  other.properties.clear();
  expect_written_and_read(other, {a, b});
}

// Integer literals in a file are sizes: numbers and expressions round alike.
TEST(Binary, DividesByLiteralsLikeIntegers) {
  const Tensor a = i64({6}, {-9, -1, 9, 0, -6, 5});
  const Graph graph = graph_of({{"a", "6", "i64"}}, "y = div(sub(a, 5), 2);", "y", kOfPyTorch);
  expect_same(output_of(graph, {a}), i64({6}, {-7, -3, 2, -3, -6, 0}));
  const Graph sizes = graph_of({{"x", "S"}}, "y = div(sub(tract_core_shape_of(x), 5), 2);");
  expect_same(output_of(sizes, {f32({2}, {0, 0})}), i64({1}, {-2}));
}

// Files of torch_to_nnef omit the type of `arange`.
TEST(Binary, ComputesMixedIntegersAndFloatsInFloats) {
  const std::vector<Input> a = {{"a", "4", "i64"}};
  const Tensor whole = i64({4}, {-3, 0, 1, 4});
  const auto expect = [&](const char* statement, const Tensor& y) {
    expect_same(output_of(graph_of(a, statement, "y", kOfPyTorch), {whole}), y);
  };
  expect("y = a * 0.5;", f32({4}, {-1.5F, 0.0F, 0.5F, 2.0F}));
  expect("y = 0.5 - a;", f32({4}, {3.5F, 0.5F, -0.5F, -3.5F}));
  expect("y = a / 2.0;", f32({4}, {-1.5F, 0.0F, 0.5F, 2.0F}));
  expect("y = div(a, 2.0);", f32({4}, {-1.5F, 0.0F, 0.5F, 2.0F}));
  expect("y = pow(2.0, a);", f32({4}, {0.125F, 1.0F, 2.0F, 16.0F}));
  expect("y = a * 2.0;", i64({4}, {-6, 0, 2, 8}));
  expect("y = pow(a, 2.0);", i64({4}, {9, 0, 1, 16}));
  expect("y = lt(a, 0.5);", boolean({4}, {1, 1, 0, 0}));
  expect("y = select(lt(a, 0), a, 0.25);", f32({4}, {-3.0F, 0.25F, 0.25F, 0.25F}));
  expect("y = sqrt(a * a);", f32({4}, {3.0F, 0.0F, 1.0F, 4.0F}));
  expect("y = tract_core_cast(sin(a - a), to = 'i64');", i64({4}, {0, 0, 0, 0}));
  const std::vector<Input> both = {{"a", "4", "i64"}, {"x", "4"}};
  expect_same(output_of(graph_of(both, "y = x + a;", "y", kOfPyTorch),
                        {whole, f32({4}, {0.5F, 1.0F, -1.0F, 0.0F})}),
              f32({4}, {-2.5F, 1.0F, 0.0F, 4.0F}));
}

TEST(Binary, ComputesOnDims) {
  const Graph graph =
      graph_of({{"x", "B, S"}}, "y = reshape(x, shape = [max(B * 2, 1) / 2, min(S, S + 1)]);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "(max(1, 2*B))/2,S,F32");
}

TEST(Binary, DecidesComparisonsOfDimsForAllValues) {
  const Dim s = Dim::symbol("S");
  const SymbolScope scope;
  EXPECT_TRUE(compare_dims(scope, BinaryKind::kGe, s, Dim(0)).value());
  EXPECT_TRUE(compare_dims(scope, BinaryKind::kNe, s + Dim(1), Dim(0)).value());
  EXPECT_FALSE(compare_dims(scope, BinaryKind::kLt, s + Dim(2), s).value());
  EXPECT_TRUE(compare_dims(scope, BinaryKind::kEq, s + s, Dim(2) * s).value());
  EXPECT_EQ(compare_dims(scope, BinaryKind::kGt, s, Dim(0)).status().code(), Code::kSymbol);
  EXPECT_EQ(combine_dims(BinaryKind::kDiv, Dim(-3), Dim(2)).value(), Dim(-2));
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

/// A graph may find out that an operand is constant only after it is pulsed, written or bound.
TEST(Binary, HasTheBitsOfAnOperandThatIsNotConstant) {
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::min();
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.0F,      -0.0F, 1e-45F, -3e-40F,  least,
                                     -least,    0.3F,  1.0F,   -5.3e30F, most,
                                     2 * least, -most, inf,    -inf,     nan};
  const Tensor x = f32({15}, values);
  for (const char* op : {"+", "-", "*", "/"}) {
    for (const char* number : {"0.0", "(-0.0)", "1.0", "(-1.0)", "2.0", "0.25", "1e-20", "3.0"}) {
      SCOPED_TRACE(str_cat("x ", op, " ", number));
      const Graph known =
          graph_of({{"x", "S"}}, str_cat("y = x ", op, " select(ge(S, 3), ", number, ", 7.0);"));
      const Graph open = graph_of({{"x", "15"}, {"c", "1"}}, str_cat("y = x ", op, " c;"));
      const char* digits = number + (number[0] == '(' ? 1 : 0);
      const Tensor c = f32({1}, {std::strtof(digits, nullptr)});
      expect_same(run(known, {x}).value()[0], run(open, {x, c}).value()[0]);
    }
  }
}

TEST(Binary, ReadsTheInputOfABroadcast) {
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

TEST(Binary, KeepsNaNInProductsWithZero) {
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
