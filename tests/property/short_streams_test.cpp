// Streams of very few frames, with bounds such as min(2, S) as exporters write them, equal the
// whole run, and the whole run equals PyTorch.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

/// x[:, :, begin:end] in the exporter's form; negative numbers count from the end.
std::string cut(const std::string& x, int64_t begin, const std::string& end) {
  const auto bound = [](int64_t at) {
    return at < 0 ? str_cat("min(S, max(S - ", -at, ", 0))") : str_cat("min(S, ", at, ")");
  };
  const std::string to = end.empty() ? "S" : bound(std::stoll(end));
  return str_cat("slice(", x, ", axes = [2], begin = [", bound(begin), "], end = [", to, "])");
}

std::string joined(const std::string& a, const std::string& b) {
  return str_cat("concat([", a, ", ", b, "], axis = 2)");
}

/// Expect that streams of these lengths have `count(length)` frames, those of the whole run. A
/// negative count means that neither is defined.
void expect_counts(const std::string& text, const std::vector<int64_t>& pulses,
                   const std::function<int64_t(int64_t)>& count,
                   const std::vector<int64_t>& lengths) {
  const Graph graph = loaded(text);
  for (const int64_t pulse : pulses) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << text;
    for (const int64_t length : lengths) {
      SCOPED_TRACE(str_cat("pulse ", pulse, ", length ", length, "\n", text));
      auto whole = WholeRun::make(graph, length);
      const int64_t frames = count(length);
      ASSERT_EQ(whole.ok(), frames >= 0) << (whole.ok() ? "" : whole.error().to_string());
      const Refusal refused = streamed->session().check_length(length);
      EXPECT_EQ(refused.ok(), frames >= 0);
      if (frames < 0 || !refused.ok()) continue;
      EXPECT_EQ(whole->run(noise_inputs(graph, length, 1))[0].extent(2), frames);
      EXPECT_EQ(stream_problem(graph, &*streamed, length), "");
    }
  }
}

/// As above, for every length from 0 to `most`.
void expect_short_streams(const std::string& text, const std::vector<int64_t>& pulses,
                          const std::function<int64_t(int64_t)>& count, int64_t most = 12) {
  std::vector<int64_t> lengths(static_cast<size_t>(most + 1));
  std::iota(lengths.begin(), lengths.end(), 0);
  expect_counts(text, pulses, count, lengths);
}

const auto kAll = [](int64_t frames) { return frames; };

TEST(ShortStreams, HaveAFrameNextToTheOnlyOne) {
  const std::string first = cut("x", 0, "1");
  const std::string last = cut("x", -1, "");
  expect_short_streams(y("x + " + joined(first, cut("x", 0, "-1"))), {1, 2, 5}, kAll);
  expect_short_streams(y("x + " + joined(cut("x", 1, ""), last)), {1, 2, 5}, kAll);
}

/// The differences of frames at distance `offset`, with the last one repeated.
std::string differences(int64_t offset) {
  return document("1, 1, S", str_cat("  d = ", cut("x", offset, ""), " - ",
                                     cut("x", 0, std::to_string(-offset)), ";\n",
                                     "  n = squeeze(slice(tract_core_shape_of(d), axes = [0],"
                                     " begin = [2], end = [3]), axes = [0]);\n"
                                     "  y = concat([d, slice(d, axes = [2], begin ="
                                     " [min(n, max(n - 1, 0))], end = [n])], axis = 2);\n"));
}

TEST(ShortStreams, GiveNoFramesForNoFrames) {
  for (const int64_t offset : {1, 2, 40}) {
    expect_short_streams(
        differences(offset), {1, 2, 5}, [&](int64_t n) { return n <= offset ? 0 : n - offset + 1; },
        offset + 8);
  }
  const std::string halved = "slice(x, axes = [2], begin = [0], end = [S], stride = [2])";
  const std::string last = str_cat("slice(", halved, ", axes = [2], begin = [min((S + 1) / 2, ",
                                   "max((S + 1) / 2 - 1, 0))], end = [(S + 1) / 2])");
  expect_short_streams(y(joined(halved, last)), {2, 6},
                       [](int64_t n) { return n == 0 ? 0 : (n + 1) / 2 + 1; });
}

// Streams of up to `offset` frames give no frames, for any lengths of the wires in between.
TEST(ShortStreams, GiveNothingAtAnyLength) {
  for (const int64_t offset : {16384, 20000, 70001, 300007}) {
    expect_counts(
        differences(offset), {64, 4099},
        [&](int64_t n) { return n <= offset ? 0 : n - offset + 1; },
        {0, 1, 16382, 16383, 16384, 16385, offset - 1, offset, offset + 1, offset + 5000});
  }
}

TEST(ShortStreams, AreSlicedAsNumPyDoes) {
  const auto kept = [](int64_t less) {
    return [less](int64_t n) { return std::max<int64_t>(0, n - less); };
  };
  expect_short_streams(y(cut("x", 2, "-1")), {1, 2, 5}, kept(3));
  expect_short_streams(y(cut("x", 3, "-4")), {1, 4}, kept(7));
  expect_short_streams(y(cut("x", 1, "-1") + " * 2.0"), {1, 2, 5}, kept(2));
}

// A bound that is not clamped to the stream may lie before its start.
TEST(ShortStreams, AreEmptyWhereASliceEndsBeforeThem) {
  const auto raw = [](const std::string& x, int64_t begin, int64_t end) {
    return str_cat("slice(", x, ", axes = [2], begin = [", begin, "], end = [", end, "])");
  };
  const auto kept = [](int64_t less, int64_t more) {
    return [=](int64_t n) { return std::max<int64_t>(0, n - less) + more; };
  };
  expect_short_streams(y(raw("x", 0, -3)), {1, 2, 5}, kept(3, 0));
  expect_short_streams(y(raw("x", 2, -3) + " * 2.0"), {1, 2, 5}, kept(5, 0));
  expect_counts(y(raw("x", 70001, -3)), {64, 4099}, kept(70004, 0),
                {0, 1, 2, 3, 4, 70000, 70001, 70003, 70004, 70005, 80000});
  expect_short_streams(y(raw("x * 3.0", 0, -40)), {1, 4}, kept(40, 0), 44);
}

/// As `kept`, with padding. A stream without frames is refused if its whole run gives some.
TEST(ShortStreams, HaveThePaddingOfASliceThatIsEmpty) {
  const auto expect_padded = [](const std::string& text, int64_t less, int64_t more) {
    const auto frames = [=](int64_t n) { return std::max<int64_t>(0, n - less) + more; };
    const std::vector<int64_t> lengths = {1, 2, 3, 4, 5, less, less + 1, less + 2, less + 20};
    expect_counts(text, {1, 2, 5, 64}, frames, lengths);
  };
  for (const int64_t far : {2, 40, 3001}) {
    const std::string end = std::to_string(-far);
    expect_padded(y(pad(cut("x", 0, end), 1, 2, "0.5")), far, 3);
    expect_padded(y(pad(cut("x", 3, end) + " * 2.0", 4, 0, "0.0")), far + 3, 4);
    const std::string suffixed = joined(cut("x", far, "-1"), "[[[1.0]]]");
    expect_padded(y(joined("[[[0.25, 0.5]]]", suffixed)), far + 1, 3);
    expect_padded(y(conv(pad(cut("x", 2, end), 3, 2, "0.0"), {4})), far + 2, 2);
  }
}

constexpr char kAdd[] =
    "fragment add_frame(frame: tensor<scalar>, sum: tensor<scalar>) -> (next: tensor<scalar>)\n"
    "{\n  next = frame * 0.5 + sum * 0.75;\n}\n";

/// A loop over each whole chunk of a wire, restarted in each chunk, as in chunked recurrent layers.
/// `frames`: the length of the wire, from which the bounds that drop the incomplete chunk are
/// computed.
std::string chunks(const std::string& wire, const std::string& frames, int64_t size) {
  const std::string kept = str_cat("min(", frames, ", ", size, " * ((", frames, ") / ", size, "))");
  return document(
      "1, 1, S",
      str_cat("  w = ", wire, ";\n  k = slice(w, axes = [2], begin = [0], end = [", kept,
              "]);\n  c = reshape(k, shape = [-1, ", size,
              "]);\n  n = squeeze(slice(tract_core_shape_of(c), axes = [0], begin = [0], end = "
              "[1]), axes = [0]);\n  z = tile([[0.25]], repeats = [n, 1]);\n"
              "  l = tract_core_scan(body = \"add_frame\", scan = [(\"frame\", c, 1, 1)],"
              " full = [], state = [(\"sum\", z, \"next\")], output = [(\"next\", \"full\", 1, 1)],"
              " skip = 0, reset_every_turn = true);\n  y = reshape(l, shape = [1, 1, -1]);\n"),
      "y", kAdd);
}

// The cropped wire has two readers, but is cropped once.
TEST(ShortStreams, RepeatTheLastFrameOfTheCroppedStream) {
  const std::string text = document(
      "1, 1, S",
      "  d = deconv(x, [[[0.5, -0.25, 0.125, 1.0]]], 0.5, stride = [2], padding = [(0, 0)]);\n"
      "  c = slice(d, axes = [2], begin = [0], end = [2 * S]);\n"
      "  l = slice(c, axes = [2], begin = [min(2 * S, max(2 * S - 1, 0))], end = [2 * S]);\n"
      "  y = concat([c, l], axis = 2);\n");
  expect_short_streams(text, {1, 2, 5}, [](int64_t n) { return n == 0 ? 0 : 2 * n + 1; });
}

// In a stream of one frame, the first and last frame are equal. Their matmuls must not be merged,
// because each absorbs its own bias.
TEST(ShortStreams, RoundProductsOfTheirEndsAsLongOnesDo) {
  const auto numbers = [](int seed) {
    std::string out;
    for (int i = 0; i < 16; ++i) {
      const auto place = static_cast<float>(seed * 37 + i * 11 % 29);
      out += str_cat(i > 0 ? ", " : "", 0.0137F * place - 1.7F);
    }
    return str_cat("[", out, "]");
  };
  std::string rows;
  for (int row = 0; row < 7; ++row) rows += str_cat(row > 0 ? ", " : "", numbers(row));
  const auto product = [&](const char* begin, const char* end, int bias) {
    return str_cat("matmul(transpose(slice(x, axes = [2], begin = [", begin, "], end = [", end,
                   "]), axes = [0, 2, 1]), w) + [[", numbers(bias), "]]");
  };
  const std::string statements =
      str_cat("  w = [[", rows, "]];\n  a = ", product("0", "1", 8), ";\n  b = ",
              product("S - 1", "S", 9), ";\n  y = concat([a, b], axis = 1);\n");
  const std::string text = document("1, 7, S", statements);
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, 2);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  for (const int64_t length : {1, 2, 3, 9}) {
    EXPECT_EQ(stream_problem(graph, &*streamed, length, 0), "") << length;
  }
}

TEST(ShortStreams, AreCutToWholeChunks) {
  const std::string halved = "slice(x, axes = [2], begin = [0], end = [S], stride = [2])";
  expect_short_streams(chunks(halved, "(S + 1) / 2", 2), {4, 8},
                       [](int64_t n) { return (n + 1) / 4 * 2; });
  expect_short_streams(chunks(halved, "(S + 1) / 2", 3), {6, 12},
                       [](int64_t n) { return (n + 1) / 2 / 3 * 3; });
  expect_short_streams(chunks(cut("x", 1, ""), "S - min(1, S)", 2), {2, 6},
                       [](int64_t n) { return std::max<int64_t>(0, n - 1) / 2 * 2; });
}

}  // namespace
}  // namespace rill::test
