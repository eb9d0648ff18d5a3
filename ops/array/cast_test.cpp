#include "ops/array/cast.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Cast, GivesTheSameInEveryLayout) {
  expect_every_layout(make_op<Cast>(DType::kI32), {random_f32(1, {2, 3, 4})});
}

TEST(Cast, ConvertsToAndFromQuantisedTypes) {
  const QParams q{10, 0.5F};
  const Tensor x = f32({4}, {0.0F, 1.3F, -200.0F, 1000.0F});
  const Tensor quantised = eval(Cast(DType::kQU8, q), {x}).value()[0];
  EXPECT_EQ(quantised.data<uint8_t>()[0], 10);
  EXPECT_EQ(quantised.data<uint8_t>()[1], 13);  // 1.3 / 0.5 + 10 = 12.6
  EXPECT_EQ(quantised.data<uint8_t>()[2], 0);
  EXPECT_EQ(quantised.data<uint8_t>()[3], 255);
  const Tensor back = eval(Cast(DType::kF32), {quantised}).value()[0];
  expect_same(back, f32({4}, {0.0F, 1.5F, -5.0F, 122.5F}));
}

TEST(Cast, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2"}};
  expect_load_error(x, "y = tract_core_cast(x, to = 'f33');", Code::kDType, "no type \"f33\"");
  expect_load_error(x, "y = tract_core_cast(x);", Code::kDType, "neither");
  expect_load_error(x, "y = tract_core_cast(x, to = 'string');", Code::kDType, "no cast");
}

TEST(Cast, ToTheSameTypeVanishes) {
  const Graph graph = graph_of({{"x", "S"}}, "y = tract_core_cast(x, to = 'f32');");
  EXPECT_EQ(declutter(graph).value().nodes.size(), 1U);
}

TEST(Cast, OfIntegersToF64AndBackVanishes) {
  const std::string text =
      "a = tract_core_cast(x, to = 'i32'); b = tract_core_cast(a, to = 'f64');";
  const Graph back = graph_of({{"x", "S"}}, text + " y = tract_core_cast(b, to = 'i32');");
  EXPECT_EQ(declutter(back).value().nodes.size(), 2U);
  const Graph narrower = graph_of({{"x", "S"}}, text + " y = tract_core_cast(b, to = 'i16');");
  EXPECT_EQ(declutter(narrower).value().nodes.size(), 4U);
}

TEST(ShapeOf, ContainsSymbols) {
  const Graph graph = graph_of({{"x", "B, 3 + S, 4"}}, "y = tract_core_shape_of(x);");
  const TensorPtr value = graph.fact(graph.outputs[0]).konst;
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->data<Dim>()[1], Dim::symbol("S") + Dim(3));
}

TEST(ShapeOf, GivesNumbersOnceTheSymbolsAreBound) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "s = tract_core_shape_of(x); y = tract_core_cast(s, to = 'i64');"
                               " z = add(s, 1);",
                               "y, z");
  const auto out = run(graph, {random_f32(1, {2, 7})}).value();
  expect_same(out[0], i64({2}, {2, 7}));
  expect_same(out[1], i64({2}, {3, 8}));  // dims are output as i64
}

TEST(Cast, OfASymbolWaitsForItsValue) {
  const Graph graph = graph_of({{"x", "S"}},
                               "s = tract_core_shape_of(x); n = squeeze(s, axes = [0]);"
                               " f = tract_core_cast(n, to = 'f32'); y = div(x, f);");
  expect_same(run(graph, {f32({2}, {4, 6})}).value()[0], f32({2}, {2, 3}));
}

TEST(Cast, Streams) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = mul(x, 100.0);"
                               " b = tract_core_cast(a, to = 'i32');"
                               " y = tract_core_cast(b, to = 'f32');");
  expect_streams(graph, 1, {1, 4}, {1, 9}, {0, 0});
}

TEST(Cast, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "3"}}, "y = tract_core_cast(x, to = 'i16');");
  expect_written_and_read(graph, {f32({3}, {1.5F, -2.5F, 7.0F})});
}

}  // namespace
}  // namespace rill::ops::test
