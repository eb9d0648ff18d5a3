#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Range, HasASymbolicLength) {
  const Graph graph = graph_of(
      {{"x", "S"}}, "y = tract_core_range(0, S, 2); z = tract_core_range(S, 0, -3);", "y, z");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "(1+S)/2,I64");
  const auto out = run(graph, {random_f32(1, {5})}).value();
  expect_same(out[0], i64({3}, {0, 2, 4}));
  expect_same(out[1], i64({2}, {5, 2}));
}

TEST(Range, OfNumbersBecomesAConstant) {
  const Graph graph = graph_of({{"x", "1"}},
                               "r = tract_core_range(4, 1, -1);"
                               " y = add(r, tract_core_cast(x, to = 'i64'));");
  const Graph simple = declutter(graph).value();
  for (const Node& node : simple.nodes) EXPECT_NE(node.op->name(), "Range");
  expect_same(run(graph, {f32({1}, {1})}).value()[0], i64({3}, {5, 4, 3}));
}

TEST(Range, OfFloatsAddsUp) {
  const Graph graph = graph_of({{"x", "1"}}, "y = tract_core_range(0.0, 0.35, 0.1);");
  const float step = 0.1F;
  expect_same(run(graph, {f32({1}, {0})}).value()[0],
              f32({4}, {0.0F, step, step + step, step + step + step}));
}

TEST(Range, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "1"}};
  expect_load_error(x, "y = tract_core_range(0, 5, 0);", Code::kShape, "step 0");
  expect_load_error(x, "y = tract_core_range(0.0, 5.0, 0.0);", Code::kShape, "no sensible length");
  expect_load_error(x, "y = tract_core_range(0.0, 5, 1);", Code::kDType, "not of one type");
  expect_load_error(x, "y = tract_core_range(0.0, 1e30, 1.0);", Code::kShape, "no sensible length");
  const auto open = prepare(graph_of(x, "y = tract_core_range(x, 5.0, 1.0);"));
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, Code::kSymbol);
  EXPECT_EQ(open.error().op, "Range");
  EXPECT_NE(open.error().message.find("found: range,I64"), std::string::npos)
      << open.error().to_string();
}

TEST(Range, OfTheLengthOfAStreamCountsItsFrames) {
  const Graph graph = graph_of({{"x", "S"}},
                               "r = tract_core_range(0, S, 1);"
                               " y = add(x, tract_core_cast(r, to = 'f32'));");
  expect_streams(graph, 0, {1, 3}, {1, 4, 9}, {0, 0});
  const Graph backwards = graph_of({{"x", "S"}},
                                   "r = tract_core_range(S, 0, -1);"
                                   " y = add(x, tract_core_cast(r, to = 'f32'));");
  expect_refused(backwards, 2, "known only at the end");
}

TEST(Range, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "S"}},
                               "r = tract_core_range(0, S, 1);"
                               " y = add(x, tract_core_cast(r, to = 'f32'));");
  expect_written_and_read(graph, {random_f32(1, {5})});
}

}  // namespace
}  // namespace rill::ops::test
