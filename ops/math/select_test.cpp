#include "ops/math/select.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Select, GivesTheSameInEveryLayout) {
  const Tensor c = boolean({2, 3, 2}, {1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0});
  expect_every_layout(make_op<Select>(), {c, random_f32(1, {2, 3, 2}), random_f32(2, {1, 3, 1})});
  expect_every_layout(
      make_op<Select>(),
      {boolean({2, 1, 1}, {1, 0}), i64({2, 3, 1}, {1, 2, 3, 4, 5, 6}), i64({1, 1, 2}, {-1, -2})});
}

TEST(Select, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"c", "2", "bool"}, {"x", "2"}, {"i", "2", "i64"}, {"z", "3"}};
  expect_load_error(x, "y = select(c, 1, x);", Code::kDType, "two branches of one type");
  expect_load_error(x, "y = select(c, i, x);", Code::kDType, "two branches of one type");
  expect_load_error(x, "y = select(c, x, z);", Code::kShape, "clash");
}

TEST(Select, OfAConstantIsOneBranch) {
  const Graph graph = graph_of({{"x", "S"}, {"z", "S"}}, "y = select(true, x, z);");
  const Graph simple = declutter(graph).value();
  EXPECT_EQ(simple.outputs[0], simple.inputs[0]);
}

TEST(Select, IgnoresNaNInTheOtherBranch) {
  const Graph graph = graph_of({{"x", "2"}}, "y = select(x > 0.0, log(x), 0.0);");
  expect_same(run(graph, {f32({2}, {1, -1})}).value()[0], f32({2}, {0, 0}));
}

TEST(Select, CombinesDimsAndIntegers) {
  const Graph graph =
      graph_of({{"x", "S", "bool"}},
               "n = tract_core_range(0, S, 1); f = tract_core_cast(n, to = 'tdim') - 2;"
               " z = tract_core_cast(0, to = 'i64');"
               " y = tract_core_cast(select(x, z, f), to = 'i64');");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "S,I64");
}

TEST(Select, Streams) {
  const Graph graph = graph_of({{"x", "2, S"}}, "y = select(x < 0.0, exp(x) - 1.0, x);");
  expect_streams(graph, 1, {1, 4}, {1, 9}, {0, 0});
}

}  // namespace
}  // namespace rill::ops::test
