#include "ops/nn/softmax.h"

#include "core/exec/plan.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Softmax, IsNearTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 3, 4});
  for (const char* order : {"0, 1, 2", "2, 1, 0", "1, 0, 2", "0, 2, 1"}) {
    for (const char* axes : {"0", "1", "2", "0, 2", "0, 1, 2"}) {
      for (const char* name : {"softmax", "tract_core_log_softmax"}) {
        const std::string plain = str_cat("y = ", name, "(x, axes = [", axes, "]);");
        const std::string moved = str_cat("a = transpose(neg(x), axes = [", order,
                                          "]); b = neg(a);"
                                          " c = transpose(b, axes = [",
                                          order, "]); y = ", name, "(c, axes = [", axes, "]);");
        const Tensor want = run(graph_of({{"x", "2, 3, 4"}}, plain), {x}).value()[0];
        const Tensor got = run(graph_of({{"x", "2, 3, 4"}}, moved), {x}).value()[0];
        expect_near(got, want, 4e-7, 4e-7);  // 12 terms, in another order
      }
    }
  }
}

TEST(Softmax, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}, {"i", "2", "i64"}};
  const auto plan = prepare(graph_of(x, "y = softmax(x, axes = [2]);"));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kShape);
  EXPECT_NE(plan.error().message.find("no axis 2"), std::string::npos) << plan.error().to_string();
  expect_load_error(x, "y = softmax(i, axes = [0]);", Code::kDType, "expected floats");
}

TEST(Softmax, TakesOneAxisForAList) {
  const Graph graph = graph_of({{"x", "1, 2"}}, "y = softmax(x, 1); z = softmax(x);", "y, z");
  const auto out = run(graph, {f32({1, 2}, {3, 3})}).value();
  expect_near(out[0], f32({1, 2}, {0.5F, 0.5F}), 1e-7, 0);
  expect_near(out[1], f32({1, 2}, {0.5F, 0.5F}), 1e-7, 0);
}

TEST(Softmax, OfHalvesIsNear) {
  const auto out = eval(Softmax({0}, false), {typed(DType::kF16, {2}, {1, 1})}).value();
  expect_near(out[0], typed(DType::kF16, {2}, {0.5, 0.5}), 1e-3, 0);
}

TEST(Softmax, OverChannelsStreams) {
  for (const char* name : {"softmax", "tract_core_log_softmax"}) {
    const Graph rows = graph_of({{"x", "S, 12"}}, str_cat("y = ", name, "(x, axes = [1]);"));
    expect_streams(rows, 0, {1, 3, 8}, {1, 9}, {0, 0, 0});
    const Graph columns = graph_of({{"x", "12, S"}}, str_cat("y = ", name, "(x, axes = [0]);"));
    expect_streams(columns, 1, {1, 3, 8}, {1, 9}, {0, 0, 0});
  }
}

TEST(Softmax, OverFramesIsRefused) {
  expect_refused(graph_of({{"x", "2, S"}}, "y = softmax(x, axes = [1]);"), 2,
                 "needs the whole stream");
}

TEST(Softmax, IsWrittenAndReadBack) {
  const Graph graph =
      graph_of({{"x", "2, 3"}}, "y = softmax(tract_core_log_softmax(x, 1), axes = [0, 1]);");
  expect_written_and_read(graph, {random_f32(1, {2, 3})});
}

}  // namespace
}  // namespace rill::ops::test
