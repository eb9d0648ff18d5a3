#include "ops/math/unary.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Unary, GivesTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 3, 5});
  for (const UnaryKind kind :
       {UnaryKind::kTanh, UnaryKind::kExp, UnaryKind::kSigmoid, UnaryKind::kErf, UnaryKind::kSin,
        UnaryKind::kAsinh, UnaryKind::kFloor, UnaryKind::kIsNan, UnaryKind::kHardSwish}) {
    expect_every_layout(make_op<Unary>(kind), {x});
  }
}

TEST(Unary, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2", "i64"}, {"b", "2", "bool"}, {"f", "2"}};
  expect_load_error(x, "y = exp(x);", Code::kDType, "not defined for I64");
  expect_load_error(x, "y = neg(b);", Code::kDType, "not defined for Bool");
  expect_load_error(x, "y = not(f);", Code::kDType, "not defined for F32");
  expect_load_error(x, "y = tract_core_bitnot(f);", Code::kDType, "not defined for F32");
  expect_load_error({{"u", "2", "u8"}}, "y = sqrt(u);", Code::kDType, "not defined for U8");
}

TEST(Unary, IgnoresSurplusArguments) {
  const Graph graph =
      graph_of({{"x", "2"}}, "y = sigmoid(x, axes = [0]); z = abs(x, axes = [0]);", "y, z");
  EXPECT_EQ(graph.outputs.size(), 2U);
}

TEST(Unary, ComputesOnDims) {
  const Graph graph = graph_of({{"x", "S"}},
                               "n = neg(S); y = slice(x, axes = [0], begin = [0],"
                               " end = [floor(S - 1)]);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "-1+S,F32");
}

TEST(Unary, NegatedTwiceIsTheInput) {
  EXPECT_EQ(declutter(graph_of({{"x", "S"}}, "y = neg(neg(x));")).value().nodes.size(), 1U);
  const Graph logic = graph_of({{"x", "S", "bool"}}, "y = not(not(x));");
  EXPECT_EQ(declutter(logic).value().nodes.size(), 1U);
}

TEST(Unary, Streams) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = pad(x, padding = [(0, 0), (2, 0)], value = 0.5);"
                               " y = tanh(sigmoid(a));");
  expect_streams(graph, 1, {1, 3, 8}, {1, 9, 16});
}

TEST(Unary, IsWrittenAndReadBack) {
  const Graph graph =
      graph_of({{"x", "4"}},
               "a = leaky_relu(x, 0.125); b = tract_core_erf(a); c = tract_core_silu(b);"
               " d = tract_core_gelu_approx(c); e = exp(d) + log(abs(d)) + rsqrt(exp(c));"
               " f = tract_core_is_inf(e, detect_positive = false);"
               " y = select(or(f, tract_core_is_nan(e)), round(e), tract_core_round_even(e));");
  expect_written_and_read(graph, {f32({4}, {-1.5F, -0.25F, 0.5F, 2.0F})});
}

}  // namespace
}  // namespace rill::ops::test
