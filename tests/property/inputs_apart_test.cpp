// Inputs of S + 3, 2*S - 5 or (S + 1)/2 frames, in addition to an input of S frames.
// RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <string>

#include "audit/audit.h"
#include "audit/draw.h"
#include "core/exec/feed.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

/// x of S frames and z of `frames`; the statements compute y from them.
std::string two_inputs(const std::string& frames, const std::string& statements) {
  return "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
         "graph network(z, x) -> (y)\n{\n"
         "  z = external<scalar>(shape = [1, 2, " + frames + "]);\n"
         "  x = external<scalar>(shape = [1, 2, S]);\n" + statements + "}\n";
}

Graph loaded(const std::string& text) {
  auto graph = load_text(text);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string() << text;
  return graph.ok() ? std::move(graph).value() : Graph();
}

constexpr double kEnough = 1000;  ///< seconds; an audit ends earlier, after its number of lengths

/// Expect that every mode of streaming gives the frames of the whole run.
void expect_audited(const std::string& text, int64_t pulse, audit::Options how = {}) {
  SCOPED_TRACE(str_cat("pulse ", pulse, "\n", text));
  const Graph whole = loaded(text);
  pulse::Options options;
  options.pulse = Dim(pulse);
  const auto pulsed = pulse::pulsify(whole, options);
  ASSERT_TRUE(pulsed.ok()) << pulsed.error().to_string();
  const auto report = audit::audit(whole, *pulsed, how);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->finding.has_value()) << report->finding->to_string();
  EXPECT_GT(report->outputs, 0);
  EXPECT_EQ(report->refused, 0) << report->why_refused;
}

std::string slice(const std::string& wire, int64_t begin, int64_t less) {
  if (begin == 0 && less == 0) return wire;
  const std::string end = less == 0 ? "0" : str_cat("-", less);
  return str_cat("slice(", wire, ", axes = [2], begin = [", begin, "], end = [", end, "])");
}

struct Apart {
  const char* frames;
  std::string statements;
  int64_t unit;
};

const std::string kWindow =
    "  w = conv(z, [[[1.0, 2.0, -1.0, 0.5], [0.5, 1.0, 3.0, 1.0]]], 0.0, padding = [(0, 0)], "
    "border = 'constant');\n";

const Apart kApart[] = {
    {"S + 3", "  y = x + " + slice("z", 3, 0) + ";\n", 1},
    {"S + 3", "  y = x - " + slice("z", 0, 3) + ";\n", 1},
    {"S + 3", "  y = x + " + slice("z", 1, 2) + ";\n", 1},
    {"S + 3", kWindow + "  y = x * w;\n", 1},
    {"S + 3", "  y = concat([x, " + slice("z", 2, 1) + "], axis = 1);\n", 1},
    {"S - 3", "  y = z + " + slice("x", 3, 0) + ";\n", 1},
    {"S - 3", "  y = z + " + slice("x", 0, 3) + ";\n", 1},
    {"S - 3",
     "  p = pad(z, padding = [(0, 0), (0, 0), (2, 1)], border = 'replicated');\n  y = x + p;\n", 1},
    {"2*S + 1", "  h = tract_core_downsample(z, axis = 2, stride = 2, modulo = 1);\n  y = x + h;\n",
     1},
    {"2*S - 1", "  h = tract_core_downsample(z, axis = 2, stride = 2);\n  y = x + h;\n", 1},
    {"(S + 1)/2", "  h = tract_core_downsample(x, axis = 2, stride = 2);\n  y = z + h;\n", 2},
    {"S/2", "  h = tract_core_downsample(x, axis = 2, stride = 2, modulo = 1);\n  y = z + h;\n", 2},
    {"S + 7", "  m = mean_reduce(z, axes = [2]);\n  y = m;\n  u = x;\n", 1},
};

TEST(InputsApart, StreamTheFramesOfTheWholeRun) {
  for (const Apart& each : kApart) {
    for (const int64_t times : {1, 2, 8, 33}) {
      audit::Options how;
      how.lengths = 40;
      how.seconds = kEnough;
      how.longest = 400;
      expect_audited(two_inputs(each.frames, each.statements), each.unit * times, how);
    }
  }
}

TEST(InputsApart, ByNumbersOfAnySize) {
  const auto [first, count] = seeds_or(1, 30);
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    audit::Draw draw(static_cast<uint64_t>(seed));
    const int64_t offset = draw.log_in(1, 100000);
    const int64_t cut = draw.in(0, offset);
    const bool more = draw.chance(60);
    const int64_t factor = draw.in(1, 3);
    std::string statements = "  h = z;\n";
    if (factor > 1) {
      statements = str_cat("  h = tract_core_downsample(z, axis = 2, stride = ", factor, ");\n");
    }
    const int64_t gap = more ? (offset + factor - 1) / factor : offset / factor;
    const int64_t begin = cut % (gap + 1);
    const std::string longer = more ? "h" : "x";
    const std::string shorter = more ? "x" : "h";
    statements += "  y = " + shorter + " + " + slice(longer, begin, gap - begin) + ";\n";
    audit::Options how;
    how.lengths = 40;
    how.seconds = kEnough;
    how.seed = static_cast<uint64_t>(seed);
    how.longest = 3 * offset + 500;
    expect_audited(two_inputs(str_cat(factor, "*S ", more ? "+ " : "- ", offset), statements),
                   draw.log_in(1, 2000), how);
  }
}

// S queries, and keys of another length. Without keys a whole run gives zeros, so a stream must
// too.
TEST(InputsApart, KeysOfOtherLengthsThanQueries) {
  const auto attention = [](const std::string& inputs, const std::string& keys) {
    return "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
           "graph network(x" + std::string(inputs.empty() ? "" : ", z") +
           ") -> (y)\n{\n  x = external<scalar>(shape = [1, S, 3]);\n" + inputs +
           "  n = tract_core_range(0, S, 1);\n"
           "  m = tract_core_range(0, " + keys + ", 1);\n"
           "  d = unsqueeze(n, axes = [0, 2]) - unsqueeze(m, axes = [0, 1]);\n"
           "  s = matmul(x, z, transposeB = true) * 0.5;\n"
           "  seen = (d >= -5) && (d <= 9);\n  hidden = s * 0.0 - 1.0 / 0.0;\n"
           "  y = matmul(softmax(select(seen, s, hidden), axes = [2]), z);\n}\n";
  };
  const auto audited = [](const std::string& text, int64_t without_keys = 1) {
    SCOPED_TRACE(text);
    const Graph whole = loaded(text);
    const auto streamed = StreamedRun::make(whole, 4);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    audit::Options how;
    how.lengths = 100;
    how.seconds = kEnough;
    const auto report = audit::audit(whole, streamed->graph(), how);
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_FALSE(report->finding.has_value()) << report->finding->to_string();
    EXPECT_LE(report->refused, without_keys) << report->why_refused;
  };
  for (const std::string keys : {"S + 3", "S - 3", "S - 11"}) {
    audited(attention("  z = external<scalar>(shape = [1, " + keys + ", 3]);\n", keys));
  }
  std::string cut = attention("", "S - 3");
  cut.insert(cut.find("  n ="), "  z = slice(x, axes = [1], begin = [0], end = [-3]);\n");
  // Whole runs of up to three frames have no key.
  audited(cut, 3);
}

TEST(InputsApart, EndTogetherOrNotAtAll) {
  auto streamed = StreamedRun::make(
      loaded(two_inputs("S + 3", "  y = x + " + slice("z", 3, 0) + ";\n")), 4);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  auto feed = Feed::make(&streamed->session(), 100);
  ASSERT_TRUE(feed.ok());
  const auto push = [&](size_t input, int64_t frames) {
    auto values = Tensor::zeros(DType::kF32, {1, 2, frames});
    return (*feed)->push(input, values->view());
  };
  EXPECT_EQ(push(1, 10), 4);  // x may be one pulse ahead of z
  EXPECT_EQ(push(0, 10), 10);
  EXPECT_EQ(push(1, 6), 6);
  EXPECT_FALSE((*feed)->finish().ok());
  EXPECT_EQ(push(0, 2), 2);
  const auto offset = (*feed)->finish();
  EXPECT_FALSE(offset.ok());
  EXPECT_NE(std::string(offset.message).find("\"z\" has 13 frames, and 12 were pushed"),
            std::string::npos)
      << offset.message;
  EXPECT_EQ(push(0, 5), 3);  // in every stream z is less far ahead of x
  EXPECT_FALSE((*feed)->finish().ok());
}

TEST(InputsApart, ThatDoNotDetermineThePositionAreRefused) {
  const auto why = [](const std::string& frames, const std::string& statements) {
    const auto streamed = StreamedRun::make(loaded(two_inputs(frames, statements)), 4);
    return streamed.ok() ? std::string() : streamed.error().to_string();
  };
  EXPECT_NE(why("min(S, 50)", "  y = z * 2.0;\n  u = x;\n").find("does not grow with S"),
            std::string::npos);
  auto alone = load_text(document("1, 2, S + 3", "  y = x * 2.0;\n"));
  ASSERT_TRUE(alone.ok());
  const auto streamed = StreamedRun::make(*alone, 4);
  ASSERT_FALSE(streamed.ok());
  EXPECT_NE(streamed.error().to_string().find("is not proportional to S"), std::string::npos);
  EXPECT_NE(why("S + 3", "  y = x + z;\n").find("different lengths"), std::string::npos);
}

TEST(InputsApart, AreWrittenAndRead) {
  auto streamed = StreamedRun::make(
      loaded(two_inputs("2*S - 5", "  h = tract_core_downsample(z, axis = 2, stride = 2);\n"
                                   "  y = h + " + slice("x", 2, 0) + ";\n")),
      4);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  auto again = streamed->reloaded();
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->graph().streaming->input_length(0), parse_dim("2*S-5").value());
  EXPECT_FALSE(again->graph().streaming->input_length(1).has_value());
}

}  // namespace
}  // namespace rill::test
