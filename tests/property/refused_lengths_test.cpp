// A stream has the frames of its whole run at every length, or both are refused. The graphs are
// random, with layers that need more frames than short streams have.
//
// RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "audit/draw.h"
#include "tests/property/pulse_cases.h"
#include "tests/property/seeds.h"
#include "tests/property/texts.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 200;
constexpr int64_t kMostFrames = 26;

std::string deconv(const std::string& x, int64_t kernel, int64_t stride, int64_t before,
                   int64_t after) {
  return str_cat("deconv(", x, ", ", weights(kernel), ", 0.5, stride = [", stride,
                 "], padding = [(", before, ", ", after, ")])");
}

/// Return one layer over a wire [1, 1, frames].
std::string layer(const std::string& x, audit::Draw* draw) {
  const int64_t kernel = draw->in(1, 6);
  switch (draw->in(0, 12)) {
    case 0:
    case 1:
    case 2: {
      const int64_t stride = draw->in(1, 3);
      const int64_t before = draw->in(0, kernel - 1);
      return deconv(x, kernel, stride, before, draw->in(0, kernel - 1));
    }
    case 3:
      return pool("max_pool", {kernel, draw->in(1, 3), 1, 0, 0}, "ignore", x);
    case 4:
      return conv(x, {kernel, 1, draw->in(1, 2), 0, 0});
    case 5:
      return Statement{
          "slice(",       x,   ", axes = [2], begin = [", draw->in(0, 4), "], end = [-",
          draw->in(1, 5), "])"}
          .text;
    case 6: {
      const int64_t before = draw->in(0, 3);
      const int64_t after = draw->in(0, 3);
      return pad(x, before, after, "0.5", draw->chance(50) ? "constant" : "reflect");
    }
    case 7:
      return str_cat("concat([", x, ", [[[0.5, 0.25]]]], axis = 2)");
    case 8:
      return str_cat("tanh(", x, ")");
    case 9:
      return str_cat("tract_core_cumsum(", x, ", axis = 2, exclusive = false)");
    case 10:
      return pool("avg_pool", {kernel, draw->in(1, 3), 1, 0, 0}, "ignore", x);
    case 11: {
      const int64_t left_out = draw->in(1, 4);
      return str_cat(slice(x, left_out, 0), " + ", conv(x, {left_out + 1}));
    }
    default:
      return str_cat(x, " + ", conv(x, {kernel, 1, 1, kernel - 1, 0}));
  }
}

std::string drawn_text(audit::Draw* draw) {
  std::string statements;
  std::string wire = "x";
  const int64_t layers = draw->in(1, 4);
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = i + 1 == layers ? "y" : str_cat("v", i);
    statements += str_cat("  ", name, " = ", layer(wire, draw), ";\n");
    wire = name;
  }
  if (draw->chance(50)) return document("1, 1, S", statements);
  return document("1, 1, S", statements + "  m = sum_reduce(y, axes = [2]);\n", "y, m");
}

struct Tally {
  int64_t graphs = 0;
  int64_t refused = 0;  ///< lengths, by both
  int64_t given = 0;    ///< lengths
};

void expect_same_refusals(const std::string& text, int64_t pulse, Tally* tally) {
  const auto graph = load_text(text);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string() << text;
  auto streamed = StreamedRun::make(*graph, pulse);
  if (!streamed.ok()) return;
  tally->graphs += 1;
  for (int64_t length = 1; length <= kMostFrames; ++length) {
    SCOPED_TRACE(str_cat("pulse ", pulse, ", length ", length, "\n", text));
    const auto whole = WholeRun::make(*graph, length);
    const Refusal refused = streamed->session().check_length(length);
    if (whole.ok()) {
      ASSERT_TRUE(refused.ok()) << refused.message;
      tally->given += 1;
      ASSERT_EQ(stream_problem(*graph, &*streamed, length), "");
      continue;
    }
    ASSERT_FALSE(refused.ok()) << "the whole run: " << whole.error().to_string();
    tally->refused += 1;
  }
}

TEST(RefusedLengths, AreThoseOfWholeRuns) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  Tally tally;
  for (int64_t seed = first; seed < first + count; ++seed) {
    audit::Draw draw(static_cast<uint64_t>(seed));
    const std::string text = drawn_text(&draw);
    for (const int64_t pulse : {int64_t{6}, 6 * draw.in(1, 2)}) {
      expect_same_refusals(text, pulse, &tally);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
  }
  std::printf("%d graphs, %d lengths refused, %d given\n", int(tally.graphs), int(tally.refused),
              int(tally.given));
  EXPECT_GT(tally.refused, 0);
}

// torch.nn.functional.conv_transpose1d refuses the output of -1 frames that streams of 1 to 4
// frames have after the pool.
TEST(RefusedLengths, AreThoseOfADeconvolutionOfTooFewFrames) {
  const std::string text = document(
      "1, 1, S",
      str_cat("  a = ", pool("max_pool", {5, 3, 1, 0, 0}), ";\n  y = ", deconv("a", 5, 3, 0, 3),
              ";\n  m = sum_reduce(y, axes = [2]);\n"),
      "y, m");
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, 3);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  for (int64_t length = 1; length <= 12; ++length) {
    EXPECT_EQ(WholeRun::make(graph, length).ok(), length >= 5) << length;
    EXPECT_EQ(streamed->session().check_length(length).ok(), length >= 5) << length;
  }
}

}  // namespace
}  // namespace rill::test
