#include "transforms/batchify.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::transforms {
namespace {

using ops::test::f32;
using ops::test::graph_of;
using ops::test::random_f32;
using ops::test::run;

Graph projection() {
  return graph_of({{"x", "T, 4"}, {"scale", "1, 3"}},
                  "w = [[1.0, 0.5, -0.25], [0.0, 1.0, 0.5], [-0.5, 0.25, 1.0], [0.75, -1.0, 0.25]];"
                  "p = matmul(x, w); b = p + [[0.5, -0.25, 1.0]]; s = b * scale; a = tanh(s);"
                  "e = pad(a, padding = [(1, 0), (0, 0)]); c = slice(e, axes = [0], begin = [1],"
                  " end = [0]); t = transpose(c, axes = [1, 0]); u = softmax(t, axes = [0]);"
                  "y = sum_reduce(u * t, axes = [0]);");
}

/// Each row of a batch equals the model's output for that row alone.
TEST(Batchify, EveryRowIsThatOfTheModelAlone) {
  const std::vector<std::string> shared{"scale"};
  const auto batched = with_batch(projection(), "B", shared);
  ASSERT_TRUE(batched.ok()) << batched.error().to_string();
  EXPECT_EQ(batched->fact(batched->inputs[0]).to_string(), "B,T,4,F32");
  EXPECT_EQ(batched->fact(batched->inputs[1]).to_string(), "1,3,F32");
  EXPECT_EQ(batched->fact(batched->outputs[0]).to_string(), "B,1,T,F32");
  const Tensor x = random_f32(1, {2, 5, 4});
  const Tensor scale = random_f32(2, {1, 3});
  const auto both = run(*batched, {x, scale});
  ASSERT_TRUE(both.ok()) << both.error().to_string();
  for (int row = 0; row < 2; ++row) {
    const std::vector<float> part(x.data<float>() + row * 20, x.data<float>() + row * 20 + 20);
    const auto alone = run(projection(), {f32({5, 4}, part), scale});
    ASSERT_TRUE(alone.ok());
    const std::vector<float> got((*both)[0].data<float>() + row * 5,
                                 (*both)[0].data<float>() + row * 5 + 5);
    ops::test::expect_near(f32({1, 5}, got), (*alone)[0], 1e-6, 1e-6);
  }
}

TEST(Batchify, ABatchThatLiesInsideMovesToTheFront) {
  const Graph inside = graph_of({{"x", "T, B, 4"}}, "y = sum_reduce(x * 2.0, axes = [2]);");
  const auto batched = with_batch(inside, "B", {});
  ASSERT_TRUE(batched.ok()) << batched.error().to_string();
  EXPECT_EQ(batched->fact(batched->inputs[0]).to_string(), "B,T,4,F32");
  EXPECT_EQ(batched->fact(batched->outputs[0]).to_string(), "B,T,1,F32");
  const auto out = run(*batched, {f32({2, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], f32({2, 1, 1}, {20, 52}));
}

/// The matmul absorbs the transpositions, because it reads and writes any order of axes.
TEST(Batchify, MovesOfTheBatchAreAbsorbed) {
  const Graph inside =
      graph_of({{"x", "T, B, 4"}},
               "w = [[[1.0, 0.5, -0.25], [0.0, 1.0, 0.5], [-0.5, 0.25, 1.0], [0.75, -1.0, 0.25]]];"
               "y = sum_reduce(relu(matmul(x, w)) + 1.0, axes = [2]);");
  const auto batched = with_batch(inside, "B", {});
  ASSERT_TRUE(batched.ok()) << batched.error().to_string();
  for (const Node& node : batched->nodes) EXPECT_NE(node.op->name(), "MoveAxis") << node.name;
  const Tensor x = random_f32(3, {5, 2, 4});
  std::vector<float> transposed(40);
  for (int t = 0; t < 5; ++t) {
    for (int b = 0; b < 2; ++b) {
      for (int k = 0; k < 4; ++k) {
        transposed[static_cast<size_t>((b * 5 + t) * 4 + k)] = x.data<float>()[(t * 2 + b) * 4 + k];
      }
    }
  }
  const auto want = run(inside, {x});
  const auto got = run(*batched, {f32({2, 5, 4}, transposed)});
  ASSERT_TRUE(want.ok() && got.ok());
  for (int t = 0; t < 5; ++t) {
    for (int b = 0; b < 2; ++b) {
      EXPECT_NEAR((*got)[0].data<float>()[b * 5 + t], (*want)[0].data<float>()[t * 2 + b], 1e-6);
    }
  }
}

TEST(Batchify, OperatorsThatWouldMixTheBatchAreNamed) {
  const Graph conv = graph_of({{"x", "1, 1, T"}}, "k = [[[1.0, 2.0]]]; y = conv(x, k);");
  const auto batched = with_batch(conv, "B", {});
  ASSERT_FALSE(batched.ok());
  EXPECT_NE(batched.error().to_string().find("Conv"), std::string::npos);
  const std::vector<std::string> nothing{"z"};
  EXPECT_EQ(with_batch(conv, "B", nothing).status().code(), Code::kArg);
}

TEST(Batchify, LoopsAreNamed) {
  const auto loop = ops::test::load_text(R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
fragment add_one(one: tensor<scalar>, before: tensor<scalar>) -> (sum: tensor<scalar>)
{
    sum = one + before;
}
graph network(x) -> (y)
{
    x = tract_core_external(shape = [S, 3], datum_type = 'f32');
    first = slice(x, axes = [0], begin = [0], end = [1]);
    zero = first - first;
    y = tract_core_scan(body = "add_one", scan = [("one", x, 0, 1)], full = [],
                        state = [("before", zero, "sum")], output = [("sum", "full", 0, 1)],
                        skip = 0, reset_every_turn = false);
}
)");
  ASSERT_TRUE(loop.ok()) << loop.error().to_string();
  const auto batched = with_batch(*loop, "B", {});
  ASSERT_FALSE(batched.ok());
  const std::string message = batched.error().to_string();
  EXPECT_NE(message.find("(Scan)"), std::string::npos) << message;
  EXPECT_NE(message.find("Export the model with a batch axis"), std::string::npos) << message;
}

}  // namespace
}  // namespace rill::transforms
