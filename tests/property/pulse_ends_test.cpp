// Worked cases of values that are known at the end of a stream, and of frames gathered from either
// end.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/property/journey.h"
#include "tests/property/loop_texts.h"
#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

/// Stream a graph whose output is known at the end, at every length.
void expect_known_at_the_end(const std::string& text, std::vector<int64_t> pulses) {
  const Graph graph = loaded(text);
  for (const int64_t pulse : pulses) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    EXPECT_EQ(streamed->output().axis, -1);
    auto reloaded = streamed->reloaded();
    ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string();
    for (int64_t length = 1; length <= 150; length += 1 + length / 12) {
      if (is_too_short(graph, length)) continue;
      EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse << ", " << length << text;
      EXPECT_EQ(stream_problem(graph, &*reloaded, length), "") << pulse << ", " << length << text;
    }
  }
  Tally tally;
  EXPECT_EQ(journey_problem(graph, pulses, 7, &tally), "") << text;
}

TEST(PulseCases, ReductionsAreKnownAtTheEnd) {
  for (const char* reduce : {"sum_reduce", "mean_reduce", "max_reduce", "min_reduce"}) {
    const std::string over = std::string(reduce) + "(c, axes = ";
    const std::string last = "  c = " + conv("x", {3, 1, 1, 1, 1}) + ";\n  y = " + over + "[2]);\n";
    expect_known_at_the_end(document("1, 1, S", last), {1, 4, 16});
    expect_known_at_the_end(document("2, S, 3", "  c = x * 1.5;\n  y = " + over + "[1]);\n"),
                            {1, 5});
    expect_known_at_the_end(document("2, S, 3", "  c = x * 1.5;\n  y = " + over + "[1, 2]);\n"),
                            {1, 5});
  }
  // A classifier over all frames.
  expect_known_at_the_end(
      document("1, 2, S",
               "  c = relu(slice(x, axes = [2], begin = [2], end = [-1]));\n"
               "  m = squeeze(mean_reduce(c, axes = [2]), axes = [2]);\n"
               "  y = softmax(matmul(m, [[0.3, -0.7, 0.2], [0.9, 0.1, -0.4]]), axes = [1]);\n"),
      {1, 4});
  expect_refused(y("x - mean_reduce(x, axes = [2])"), 4, "y", "Reduce");
}

// A reduction compares only frames before the end, even if later frames pass before the end is
// known.
TEST(PulseCases, ReductionsOfAllTypesAreKnownAtTheEnd) {
  for (const char* reduce : {"argmax_reduce", "argmin_reduce", "tract_core_argmax_reduce_last",
                             "tract_core_argmin_reduce_last"}) {
    const std::string over = std::string(reduce) + "(c, axes = ";
    // Few distinct values, so that many elements are equal.
    const std::string rounded = "  c = round(x * 1.5);\n  y = " + over;
    expect_known_at_the_end(document("1, 1, S", rounded + "[2]);\n"), {1, 4, 16});
    expect_known_at_the_end(document("2, S, 3", rounded + "[1, 2]);\n"), {1, 5});
    expect_known_at_the_end(
        document("1, 1, S", "  c = round(" + slice("x", 0, -2) + ");\n  y = " + over + "[2]);\n"),
        {1, 3});
  }
  for (const char* reduce :
       {"sum_reduce", "max_reduce", "min_reduce", "tract_core_product_reduce"}) {
    for (const char* type : {"i64", "i8", "u16", "f16", "f64"}) {
      expect_known_at_the_end(
          document("2, S, 3", str_cat("  c = tract_core_cast(x * 3.0 + 4.0, to = '", type,
                                      "');\n  r = ", reduce,
                                      "(c, axes = [1]);\n  y = tract_core_cast(r, to = 'f32');\n")),
          {1, 5});
    }
  }
  for (const char* reduce : {"any_reduce", "all_reduce"}) {
    for (const char* limit : {"2.5", "-2.5"}) {
      expect_known_at_the_end(document("2, S, 1", str_cat("  c = x > ", limit, ";\n  y = ", reduce,
                                                          "(c, axes = [1]);\n")),
                              {1, 4});
    }
  }
}

// A whole reduction of f16 runs in the lanes of f32. The order decides between 0 and -0, and rounds
// sums.
TEST(PulseCases, ReductionsOfHalvesKeepTheOrderOfTheWholeRun) {
  for (const char* reduce :
       {"sum_reduce", "max_reduce", "min_reduce", "tract_core_product_reduce"}) {
    for (const char* factor : {"0.0", "1.0", "30000.0"}) {
      const std::string c = str_cat("  c = tract_core_cast(x * ", factor, ", to = 'f16');\n  r = ",
                                    reduce, "(c, axes = ");
      const std::string y = ");\n  y = tract_core_cast(r, to = 'f32');\n";
      expect_known_at_the_end(document("1, 2, S", str_cat(c, "[2]", y)), {1, 4});
      expect_known_at_the_end(document("2, S, 3", str_cat(c, "[1, 2]", y)), {1, 5});
      expect_known_at_the_end(document("2, S, 3", str_cat(c, "[1]", y)), {1, 5});
    }
  }
}

TEST(PulseCases, SumsOmitFramesCutFromTheEnd) {
  for (const char* reduce : {"sum_reduce", "max_reduce"}) {
    expect_known_at_the_end(y(std::string(reduce) + "(" + slice("x", 0, -2) + ", axes = [2])"),
                            {1, 2, 5});
  }
}

TEST(PulseCases, LastFramesAreKnownAtTheEnd) {
  expect_known_at_the_end(y(slice("x", -2, 0)), {1, 2, 4});
  expect_known_at_the_end(y(slice("x", -5, -2)), {1, 3});
  expect_known_at_the_end(y(slice(conv("x", {3, 1, 1, 2, 2}), -3, 0)), {1, 4});
  expect_known_at_the_end(y(slice(slice("x", 0, -3), -4, -1)), {1, 4});
  expect_known_at_the_end(y(slice(pad("x", 2, 1, "0.5"), -2, 0)), {1, 4});
  expect_known_at_the_end(y("softmax(relu(" + slice("x", -3, 0) + "), axes = [2])"), {1, 5});
  expect_refused(y("x - " + slice("x", -1, 0)), 4, "y", "Sub");
}

TEST(PulseCases, LastStatesAreKnownAtTheEnd) {
  const std::string start = "('h', [[[0.1]]], 'h_t')";
  expect_known_at_the_end(
      loop("1, 1, S", "('a', x, 2, 1)", start, "('h_t', 'last', 2, 1)", "leaky"), {1, 4});
  expect_known_at_the_end(loop("1, 1, S", "('a', z, 2, 1)", start, "('h_t', 'last', 2, 1)", "leaky",
                               "  z = " + conv("x", {3}) + ";\n"),
                          {1, 4});
}

std::string gathered(const std::string& indices) {
  return document("1, 1, S",
                  str_cat("  n = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [2], "
                          "end = [3]), axes = [0]);\n  r = tract_core_range(0, n, 1);\n"
                          "  y = tract_core_gather(x, ",
                          indices, ", axis = 2);\n"));
}

struct Gathered {
  std::string indices;
  std::vector<float> frames;
};

/// Compare the stream of frames 1 to 6 with the expected values.
void expect_gathered(const Gathered& known) {
  auto streamed = StreamedRun::make(loaded(gathered(known.indices)), 2);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  const std::vector<float> counted = {1, 2, 3, 4, 5, 6};
  auto input = Tensor::of<float>(DType::kF32, {1, 1, 6}, counted);
  ASSERT_TRUE(input.ok());
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(input).value());
  const auto found = streamed->run(inputs, 6);
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  ASSERT_EQ((*found)[0].volume(), static_cast<int64_t>(known.frames.size()));
  for (size_t i = 0; i < known.frames.size(); ++i) {
    EXPECT_EQ((*found)[0].data<float>()[i], known.frames[i]) << known.indices;
  }
}

// Frame splicing: x[:, clamp(arange(n) + k, 0, n - 1)].
TEST(PulseCases, FramesAtPlacesThatStopAtTheEnds) {
  expect_streams(gathered("max(r - 3, 0)"), {{1, 4}, 1, 1, 0, "S"});
  expect_streams(gathered("min(r + 2, n - 1)"), {{1, 3}, 1, 1, 2, "S"});
  expect_streams(gathered("min(max(r + 2, 0), n - 1)"), {{1, 3}, 1, 1, 2, "S"});
  expect_frames(gathered("max(min(r - 40, n - 1), 0)"), 7);
  expect_frames(gathered("max(min(r - 40, n - 1), 0)"), 64);
  expect_journeys(gathered("min(r + 2, n - 1)"), {1, 2, 5});
  // An index clamped to a position within the stream is refused.
  expect_refused(gathered("max(r - 3, 1)"), 4, "y", "count up within its frames");
  // NumPy: x[np.clip(np.arange(6) + k, 0, 5)] for x = 1 to 6.
  expect_gathered({"max(r - 3, 0)", {1, 1, 1, 1, 2, 3}});
  expect_gathered({"min(r + 2, n - 1)", {3, 4, 5, 6, 6, 6}});
  expect_gathered({"min(max(r - 9, 0), n - 1)", {1, 1, 1, 1, 1, 1}});
}

// Exports of x[:, -1] and x[:, [0, 5]]: constant indices from either end.
TEST(PulseCases, FramesAtPlacesThatAreWrittenOut) {
  for (const char* indices : {"[-1]", "-1", "n - 1", "[-1, -2, 0]", "max(n - 3, 0)",
                              "(n + 3) / 4 * 4 - 4", "[7, 8, -1]"}) {
    expect_known_at_the_end(gathered(indices), {1, 4, 7});
  }
  expect_streams(y("x - tract_core_gather(x, [0], axis = 2)"), {{1, 4}, 1, 1, 0, "S"});
  // An index that may be negative then counts from the end.
  expect_refused(gathered("n / 4 * 4 - 1"), 4, "y", "count from either end");
  // NumPy: x[indices] for x = 1 to 6.
  expect_gathered({"[-1, 0, 5, 1, 2, -6]", {6, 1, 6, 2, 3, 1}});
  expect_gathered({"(n + 3) / 4 * 4 - 4", {5}});
  expect_gathered({"max(n - 9, 0)", {1}});
}

// x[:, n // 4 * 4 - 4 : n // 4 * 4] and similar: a fixed number of frames at a position that
// depends on the length.
TEST(PulseCases, FramesNearTheEnd) {
  const auto taken = [](const char* begin, const char* end) {
    return document("1, 1, S",
                    str_cat("  n = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [2], "
                            "end = [3]), axes = [0]);\n"
                            "  y = slice(x, axes = [2], begin = [",
                            begin, "], end = [", end, "]);\n"));
  };
  expect_known_at_the_end(taken("n / 4 * 4 - 4", "n / 4 * 4"), {1, 4, 6});
  expect_known_at_the_end(taken("n / 7 * 7 - 28", "n / 7 * 7 - 26"), {1, 5});
  expect_known_at_the_end(taken("max(n - 3, 0)", "max(n - 3, 0) + 1"), {1, 5});
  expect_refused(taken("n / 2", "n / 2 + 1"), 4, "y", "Slice");
}

}  // namespace
}  // namespace rill::test
