#include "ops/math/cumsum.h"

#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(CumSum, GivesTheSameInEveryLayout) {
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      auto op = draft_op<CumSum>(1);
      op->exclusive = exclusive;
      op->reverse = reverse;
      expect_every_layout(op, {random_f32(1, {2, 3, 4})});
    }
  }
}

TEST(CumSum, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}, {"b", "2", "bool"}};
  expect_load_error(x, "y = tract_core_cumsum(x, axis = 2);", Code::kShape, "no axis 2");
  expect_load_error(x, "y = tract_core_cumsum(b, axis = 0);", Code::kDType, "not defined for Bool");
  expect_load_error(x, "y = tract_pulse_cumsum(x, axis = 0, skip = -1);", Code::kShape, "skip -1");
}

TEST(CumSum, ContinuesFromPulseToPulse) {
  for (const char* exclusive : {"false", "true"}) {
    const Graph graph =
        graph_of({{"x", "2, S"}},
                 str_cat("y = tract_core_cumsum(x, axis = 1, exclusive = ", exclusive, ");"));
    expect_streams(graph, 1, {1, 3, 8}, {1, 9, 20}, {0, 0, 0});
  }
}

TEST(CumSum, SkipsPositionsBeforeTheFirstFrame) {
  const Graph graph = graph_of({{"x", "2, S"}},
                               "a = slice(x, axes = [1], begin = [3], end = [S]);"
                               " y = tract_core_cumsum(a, axis = 1);");
  expect_streams(graph, 1, {1, 2, 8}, {4, 9, 20}, {3, 3, 3});
}

TEST(CumSum, SumsAVirtualPrefix) {
  for (const char* value : {"0.0", "2.5"}) {
    const Graph graph =
        graph_of({{"x", "2, S"}}, str_cat("a = pad(x, padding = [(0, 0), (2, 0)], value = ", value,
                                          "); b = tract_core_cumsum(a, axis = 1); y = neg(b);"));
    expect_streams(graph, 1, {1, 3}, {1, 9});
  }
}

TEST(CumSum, OfChannelsStreams) {
  const Graph graph =
      graph_of({{"x", "4, S"}}, "y = tract_core_cumsum(x, axis = 0, reverse = true);");
  expect_streams(graph, 1, {1, 3}, {1, 9}, {0, 0});
}

TEST(CumSum, BackwardsAlongFramesIsRefused) {
  expect_refused(graph_of({{"x", "2, S"}}, "y = tract_core_cumsum(x, axis = 1, reverse = true);"),
                 2, "backwards");
}

TEST(CumSum, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "2, 3"}},
                               "y = tract_core_cumsum(x, axis = 1, exclusive = true,"
                               " reverse = true);");
  expect_written_and_read(graph, {random_f32(1, {2, 3})});
}

}  // namespace
}  // namespace rill::ops::test
