#include "ops/array/gather.h"

#include <algorithm>
#include <numeric>

#include "core/optim/optim.h"
#include "ops/math/test_support.h"
#include "pulse/pulse.h"

namespace rill::ops::test {
namespace {

const std::vector<Input> kTable = {{"x", "4, 3"}, {"i", "S", "i64"}};

TEST(Gather, GivesTheSameInEveryLayout) {
  expect_every_layout(make_op<Gather>(1), {random_f32(1, {2, 3, 4}), i64({2}, {2, 0})});
  expect_every_layout(make_op<GatherElements>(1),
                      {random_f32(1, {2, 3}), i64({2, 4}, {0, 1, 2, -1, 2, 2, 0, 1})});
  expect_every_layout(make_op<GatherNd>(0), {random_f32(1, {2, 3}), i64({2, 2}, {0, 1, 1, 2})});
}

TEST(Gather, PutsTheAxesOfTheIndicesInPlaceOfTheAxis) {
  const Graph graph =
      graph_of({{"x", "5, B, 3"}, {"i", "S, 2", "i64"}}, "y = tract_core_gather(x, i, axis = 1);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "5,S,2,3,F32");
}

TEST(Gather, RefusalsNameTheCause) {
  expect_load_error(kTable, "y = tract_core_gather(x, i, axis = 2);", Code::kShape, "no axis 2");
  expect_load_error({{"x", "4, 3"}, {"t", "2", "bool"}}, "y = tract_core_gather(x, t, axis = 0);",
                    Code::kDType, "integer indices");
  expect_load_error(kTable, "y = tract_core_gather(x, [1, 4], axis = 0);", Code::kShape,
                    "index 4 is out of extent 4");
  expect_load_error(kTable, "y = tract_core_gather_elements(x, i, axis = 0);", Code::kShape,
                    "one rank");
  expect_load_error(kTable, "y = tract_core_gather_nd(x, i, batch_dims = 0);", Code::kSymbol, "S");
  expect_load_error(kTable, "y = tract_core_gather_nd(x, i, batch_dims = 1);", Code::kShape,
                    "batch axes");
  expect_load_error(kTable, "y = tract_core_gather(x, i, axis = 0, datum_type = 'q');",
                    Code::kDType, "no type");
}

// In NNEF, numbers without a type are floats.
TEST(Gather, TakesIntegralFloatsAsIndices) {
  const Graph graph = graph_of({{"x", "3"}, {"f", "2"}}, "y = tract_core_gather(x, f, axis = 0);");
  const auto y = run(graph, {f32({3}, {5, 6, 7}), f32({2}, {2, 0})}).value();
  expect_same(y[0], f32({2}, {7, 5}));
}

TEST(Gather, TreatsTheLargestIntegersAsOutOfRange) {
  const Graph graph = graph_of(kTable, "y = tract_core_gather(x, i, axis = 0);");
  const auto y = run(graph, {random_f32(1, {4, 3}), i64({2}, {INT64_MIN, INT64_MAX})}).value();
  expect_same(y[0], f32({2, 3}, {0, 0, 0, 0, 0, 0}));
}

TEST(Gather, OfAnEmptyTableGivesZeros) {
  const Graph graph =
      graph_of({{"x", "0, 3"}, {"i", "2", "i64"}}, "y = tract_core_gather(x, i, axis = 0);");
  const auto y = run(graph, {random_f32(1, {0, 3}), i64({2}, {0, -1})}).value();
  expect_same(y[0], f32({2, 3}, {0, 0, 0, 0, 0, 0}));
}

/// Gather rows of x [S, 3] at positions that are pairs of a constant and an index.
std::string positions_of(const std::string& zeros) {
  return "r = tract_core_range(0, S, 1);"
         " i = unsqueeze(r, axes = [1, 2]);"
         " z = tract_core_broadcast(" + zeros + ", shape = [S, 1, 1]);"
         " y = tract_core_gather_nd(unsqueeze(x, axes = [0]), concat([z, i], axis = 2));";
}

TEST(Gather, AtCountedPositionsOfTheFirstRowStreams) {
  const Graph graph =
      graph_of({{"x", "S, 3"}}, positions_of("tract_core_cast([[[0]]], to = 'i64')"));
  expect_streams(graph, 0, {1, 4}, {1, 9}, {0, 0});
  const Tensor x = random_f32(3, {4, 3});
  const auto y = run(declutter(graph).value(), {x});
  ASSERT_TRUE(y.ok()) << y.error().to_string();
  expect_same((*y)[0], x.reshaped({4, 1, 3}).value());
}

// An index out of range gives zeros.
TEST(Gather, AtPositionsPastTheFirstRowGivesZeros) {
  const Graph graph =
      graph_of({{"x", "S, 3"}}, positions_of("tract_core_cast([[[1]]], to = 'i64')"));
  const auto y = run(declutter(graph).value(), {random_f32(3, {4, 3})});
  ASSERT_TRUE(y.ok()) << y.error().to_string();
  expect_same((*y)[0], f32({4, 1, 3}, std::vector<float>(12, 0.0F)));
}

/// Gather rows of x [S, 2] as a linear interpolation to `times` positions per row reads them.
Graph interpolated(int64_t times, const std::string& scale, bool after) {
  return graph_of({{"x", "S, 2"}},
                  str_cat("r = tract_core_cast(tract_core_range(0, ", times,
                          " * S, 1), to = 'f32');"
                          " at = max((r + 0.5) * ", scale, " - 0.5, 0.0);"
                          " low = tract_core_cast(at, to = 'i64');"
                          " last = tract_core_cast(S - 1, to = 'i64');"
                          " y = tract_core_gather(x, ", after ? "min(low + 1, last)" : "low",
                          ", axis = 0);"));
}

TEST(Gather, OfInterpolatedRowsStreams) {
  // The first position reads the row after the first one.
  expect_streams(interpolated(4, "0.25", false), 0, {1, 4}, {1, 2, 9}, {0, 0});
  expect_streams(interpolated(4, "0.25", true), 0, {1, 4}, {1, 2, 9}, {4, 2});
  expect_streams(interpolated(2, "0.5", true), 0, {1, 2}, {1, 2, 9}, {2, 1});
  for (const int64_t times : {2, 4}) {
    for (const bool after : {false, true}) {
      for (const int64_t frames : {1, 2, 3, 6}) {
        const Tensor x = random_f32(5, {frames, 2});
        const auto graph = declutter(interpolated(times, times == 2 ? "0.5" : "0.25", after));
        const auto y = run(graph.value(), {x});
        ASSERT_TRUE(y.ok()) << y.error().to_string();
        std::vector<float> want;
        for (int64_t place = 0; place < times * frames; ++place) {
          const auto low = static_cast<int64_t>(std::max(
              (static_cast<double>(place) + 0.5) / static_cast<double>(times) - 0.5, 0.0));
          const int64_t row = after ? std::min(low + 1, frames - 1) : low;
          want.push_back(x.values<float>()[static_cast<size_t>(2 * row)]);
          want.push_back(x.values<float>()[static_cast<size_t>(2 * row + 1)]);
        }
        expect_same((*y)[0], f32({times * frames, 2}, want));
      }
    }
  }
}

// No float equals a third or a fifth. Their floats are so near that a place does not round to the
// previous row; NumPy finds none below 2^23.
TEST(Gather, OfRowsBetweenWhichRoundedPlacesLieStreams) {
  expect_streams(interpolated(3, "0.33333334", false), 0, {1, 4}, {1, 2, 9}, {0, 0});
  expect_streams(interpolated(3, "0.33333334", true), 0, {1, 4}, {1, 2, 9}, {3, 2});
  expect_streams(interpolated(5, "0.2", true), 0, {1, 2}, {1, 2, 9}, {5, 3});
  const std::pair<int64_t, const char*> scales[] = {
      {3, "0.33333334"}, {5, "0.2"}, {6, "0.16666667"}, {10, "0.1"}};
  for (const auto& [times, scale] : scales) {
    const int64_t frames = 1001;
    const Tensor x = random_f32(5, {frames, 2});
    const auto y = run(declutter(interpolated(times, scale, false)).value(), {x});
    ASSERT_TRUE(y.ok()) << y.error().to_string();
    std::vector<float> want;
    for (int64_t place = 0; place < times * frames; ++place) {
      const float at = (static_cast<float>(place) + 0.5F) * std::stof(scale) - 0.5F;
      const auto row = static_cast<size_t>(std::max(at, 0.0F));
      want.push_back(x.values<float>()[2 * row]);
      want.push_back(x.values<float>()[2 * row + 1]);
    }
    expect_same((*y)[0], f32({times * frames, 2}, want));
  }
}

// The float nearest to a seventh is so far off that its places may lie in another row.
TEST(Gather, OfRowsBetweenWhichPlacesMayRoundIsRefused) {
  expect_refused(interpolated(7, "0.14285715", false), 2, "not known to count up");
}

TEST(Gather, OfChannelsStreams) {
  const Graph graph =
      graph_of({{"x", "3, S"}}, "y = tract_core_gather(x, [2, 0, 1, 1], axis = 0);");
  expect_streams(graph, 1, {1, 4}, {1, 9}, {0, 0});
}

TEST(Gather, ByStreamingIndicesStreams) {
  const Graph graph =
      graph_of({{"x", "S"}},
               "a = tract_core_cast(mul(x, 2.0), to = 'i64');"
               " b = max(a, tract_core_cast(0, to = 'i64'));"
               " y = tract_core_gather([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],"
               " b, axis = 0);");
  expect_streams(graph, 0, {1, 4}, {1, 9}, {0, 0});
}

/// Return a tensor with the values 0, 1, 2, ...
Tensor counted(const std::vector<int64_t>& shape, int64_t volume) {
  std::vector<float> values(static_cast<size_t>(volume));
  std::iota(values.begin(), values.end(), 0.0F);
  return f32(shape, values);
}

/// Gather windows of frames of `x` [S, 2] by indices of rank 2; an assertion keeps the indices in
/// range.
Graph windows(std::string_view indices, std::string_view least) {
  return graph_of({{"x", "S, 2"}}, str_cat(indices, " y = tract_core_gather(x, i, axis = 0);"), "y",
                  str_cat("extension tract_assert S >= ", least, ";\n"));
}

constexpr std::string_view kSevenBySix =
    "at = tract_core_range(0, (S - 1) / 6 * 6, 6);"
    " i = unsqueeze(at, axes = [1]) + tract_core_cast([[0, 1, 2, 3, 4, 5, 6]], to = 'i64');";

TEST(Gather, OfWindowsGivesTheirRows) {
  const Graph graph = windows(kSevenBySix, "7");
  const auto x = counted({14, 2}, 28);
  const auto y = run(graph, {x}).value();
  std::vector<float> expected;
  for (int window = 0; window < 2; ++window) {
    for (int at = 0; at < 14; ++at) expected.push_back(static_cast<float>(window * 12 + at));
  }
  expect_same(y[0], f32({2, 7, 2}, expected));
}

TEST(Gather, OfWindowsStreams) {
  expect_streams(windows(kSevenBySix, "7"), 0, {6, 18}, {7, 8, 12, 13, 14, 61}, {1, 1});
}

TEST(Gather, OfWindowsAcrossStreams) {
  const Graph graph = windows(
      "at = tract_core_range(3, (S - 8) / 4 * 4 + 3, 4);"
      " i = unsqueeze(at, axes = [0]) +"
      " tract_core_cast([[0], [1], [2], [3], [4], [5], [6], [7], [8]], to = 'i64');",
      "12");
  expect_streams(graph, 0, {4, 20}, {12, 13, 16, 20, 87}, {2, 2});
}

TEST(Gather, OfWindowsWithGapsStreams) {
  const Graph graph = windows(
      "at = tract_core_range(0, S - 900, 1);"
      " i = unsqueeze(at, axes = [1]) + tract_core_cast([[900, 0, 17]], to = 'i64');",
      "901");
  expect_streams(graph, 0, {1, 7, 2048}, {901, 902, 1800, 4100}, {900, 900, 900});
}

TEST(Gather, OfWindowsThatMayLieOutsideIsRefused) {
  const Graph graph = graph_of(
      {{"x", "S, 2"}},
      "at = tract_core_range(0, S, 1);"
      " i = unsqueeze(at, axes = [1]) + tract_core_cast([[0, 1]], to = 'i64');"
      " y = tract_core_gather(x, i, axis = 0);");
  expect_refused(graph, 4, "not known to count up");
  pulse::Options options;
  options.pulse = Dim(4);
  const auto pulsed = pulse::pulsify(declutter(graph).value(), options);
  EXPECT_NE(pulsed.error().hint.find("at which all indices lie in the stream"), std::string::npos)
      << pulsed.error().to_string();
}

// Sums of u8 wrap at 256.
TEST(Gather, ByU8IndicesDoesNotBecomeASlice) {
  const Graph graph = graph_of({{"x", "S"}},
                               "i = tract_core_cast(tract_core_range(0, S, 1), to = 'u8');"
                               " y = tract_core_gather(x, i, axis = 0);");
  const auto y = run(graph, {counted({300}, 300)}).value();
  EXPECT_EQ(y[0].values<float>()[299], 43.0F);
}

TEST(Gather, OfFramesIsRefused) {
  expect_refused(graph_of({{"x", "3, S"}}, "y = tract_core_gather(x, [0, 1], axis = 1);"), 2, "");
}

TEST(Gather, IsWrittenAndReadBack) {
  const Graph graph = graph_of({{"x", "4, 3"}, {"i", "2, 3", "i64"}},
                               "a = tract_core_gather_elements(x, i, axis = 0);"
                               " y = tract_core_gather(a, i, axis = 1);");
  expect_written_and_read(graph, {random_f32(1, {4, 3}), i64({2, 3}, {0, 1, 2, 2, 1, 0})});
}

}  // namespace
}  // namespace rill::ops::test
