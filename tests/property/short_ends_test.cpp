// Streams shorter than the padding, tables or slices of a model: they give the frames of the whole
// run, or are refused like it.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/property/streaming.h"

namespace rill::test {
namespace {

/// Expect streams of up to `longest` frames to give the frames of the whole run. Return how many of
/// the defined lengths the stream refuses.
int refused_lengths(const std::string& text, int64_t longest, int* streamed_lengths) {
  const auto graph = load_text(text);
  EXPECT_TRUE(graph.ok()) << text << graph.error().to_string();
  int refused = 0;
  for (const int64_t pulse : {1, 3}) {
    auto streamed = StreamedRun::make(*graph, pulse);
    EXPECT_TRUE(streamed.ok()) << text << streamed.error().to_string();
    if (!streamed.ok()) return refused;
    for (int64_t length = 1; length <= longest; ++length) {
      const bool defined = WholeRun::make(*graph, length).ok();
      const bool suits = streamed->session().check_length(length).ok();
      EXPECT_TRUE(defined || !suits) << text << "S=" << length << " is defined for streams alone";
      refused += defined && !suits;
      if (!suits) continue;
      *streamed_lengths += 1;
      EXPECT_EQ(stream_problem(*graph, &*streamed, length), "") << text << "S=" << length;
    }
  }
  return refused;
}

std::string padded(const std::string& wire, int64_t before, int64_t after,
                   const std::string& border) {
  return str_cat("pad(", wire, ", padding = [(0, 0), (0, 0), (", before, ", ", after,
                 ")], border = ", border, ")");
}

// A delay by frames before the first one, then a look-ahead by frames after the last one. In a
// short stream, the look-ahead repeats frames of the delay.
TEST(ShortEnds, OfADelayAndALookAhead) {
  int streamed = 0;
  for (const char* first : {"'replicate'", "'reflect'", "'constant'", "'constant', value = 5.0",
                            "joined"}) {
    for (const char* second : {"'replicate'", "'reflect'", "'constant'"}) {
      for (const char* between : {"tanh", "neg", ""}) {
        for (const int64_t delay : {1, 2, 3}) {
          for (const int64_t ahead : {1, 3}) {
            const std::string prefixed = std::string(first) == "joined"
                                             ? str_cat("concat([",
                                                       delay == 1   ? "[[[7.0]]]"
                                                       : delay == 2 ? "[[[7.0, 8.0]]]"
                                                                    : "[[[7.0, 8.0, 9.0]]]",
                                                       ", x], axis = 2)")
                                             : padded("x", delay, 0, first);
            const std::string text = document(
                "1, 1, S", str_cat("  p = ", prefixed,
                                   ";\n  s = slice(p, axes = [2], begin = [0], end = [S]);\n",
                                   "  q = ", between, "(s);\n  r = ", padded("q", 0, ahead, second),
                                   ";\n  y = slice(r, axes = [2], begin = [", ahead,
                                   "], end = [S + ", ahead, "]);\n"));
            const int refused = refused_lengths(text, 8, &streamed);
            EXPECT_LE(refused, 2 * (delay + ahead)) << text;
          }
        }
      }
    }
  }
  EXPECT_GT(streamed, 3000);
}

// Frames that a slice drops need no known frames before the stream, but repeated frames at the end
// of a short stream may be computed from those.
TEST(ShortEnds, OfALookAheadAfterDroppedFrames) {
  int streamed = 0;
  const char* const known[] = {"[[[7.0]]]", "[[[7.0, 8.0]]]", "[[[7.0, 8.0, 9.0]]]"};
  for (const int64_t before : {1, 2, 3}) {
    for (const int64_t dropped : {1, 2, 3}) {
      for (const int64_t ahead : {1, 2, 4}) {
        for (const char* border : {"'replicate'", "'reflect'"}) {
          const std::string text = document(
              "1, 1, S",
              str_cat("  p = concat([", known[before - 1], ", x], axis = 2);\n",
                      "  q = tanh(conv(p, [[[0.25, -0.5, 0.75]]], 0.0, padding = [(1, 1)]));\n",
                      "  s = slice(q, axes = [2], begin = [", dropped, "], end = [S + ", before,
                      "]);\n  r = ", padded("s", 0, ahead, border),
                      ";\n  y = slice(r, axes = [2], begin = [", ahead, "], end = [S + ",
                      ahead + before - dropped, "]);\n"));
          const int refused = refused_lengths(text, 10, &streamed);
          EXPECT_LE(refused, 2 * (2 * ahead + dropped + 1)) << text;
        }
      }
    }
  }
  EXPECT_GT(streamed, 500);
}

// An index that is a length lies in its table, or the stream has no end.
TEST(ShortEnds, OfTablesAtTheLength) {
  const std::string table = "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5]";
  for (const char* index : {"n", "n - 1", "0 - n", "min(n, 4)", "n - 3"}) {
    int streamed = 0;
    const std::string text = document(
        "1, 1, S",
        str_cat("  n = slice(tract_core_shape_of(x), axes = [0], begin = [2], end = [3]);\n  t = ",
                table, ";\n  y = tract_core_gather(t, ", index, ", axis = 0);\n"));
    EXPECT_EQ(refused_lengths(text, 10, &streamed), 0) << text;
    EXPECT_GT(streamed, 5);
  }
}

// If a length has a lower bound, the whole run of an empty input gives frames: the end of an empty
// stream is refused, and other streams have the frames of the whole run.
TEST(ShortEnds, OfNoFramesAreRefusedWhereTheWholeRunHasSome) {
  for (const char* length : {"max(n, 1)", "min(max(n, 1), 5)", "max(n, 1) + 2"}) {
    int streamed = 0;
    const std::string text = document(
        "1, 1, S",
        str_cat("  n = slice(tract_core_shape_of(x), axes = [0], begin = [2], end = [3]);\n",
                "  y = tract_core_broadcast([[[2.0]]], shape = [1, 1, ", length, "]);\n"));
    EXPECT_EQ(refused_lengths(text, 8, &streamed), 0) << text;
    EXPECT_GT(streamed, 5);
    const auto graph = load_text(text);
    ASSERT_TRUE(graph.ok()) << text;
    auto stream = StreamedRun::make(*graph, 2);
    ASSERT_TRUE(stream.ok()) << text << stream.error().to_string();
    EXPECT_FALSE(stream->session().check_length(0).ok()) << text;
  }
}

// The slice ends ever further before the end of the stream: every reader is refused.
TEST(ShortEnds, OfFramesThatEndEverEarlierAreRefused) {
  for (const char* reader :
       {"conv(a, [[[1.0, 2.0]]], 0.0, padding = [(0, 0)])",
        "deconv(a, [[[1.0, 2.0]]], 0.0, padding = [(0, 0)])",
        "max_pool(a, size = [1, 1, 2], padding = [(0, 0), (0, 0), (0, 0)], border = 'ignore')",
        "box(a, size = [1, 1, 2], padding = [(0, 0), (0, 0), (0, 0)], normalize = true)",
        "local_response_normalization(a, size = [1, 1, 1])", "tanh(a)", "softmax(a, axes = [2])"}) {
    const auto graph = load_text(document(
        "1, 1, S", str_cat("  a = slice(x, axes = [2], begin = [S / 4 * 4], end = [S]);\n  y = ",
                           reader, ";\n")));
    if (!graph.ok()) continue;
    EXPECT_FALSE(StreamedRun::make(*graph, 4).ok()) << reader;
  }
}

}  // namespace
}  // namespace rill::test
