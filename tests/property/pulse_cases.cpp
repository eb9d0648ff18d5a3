#include "tests/property/pulse_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "pulse/least_delay.h"
#include "tests/property/journey.h"

namespace rill::test {

std::string weights(int64_t n) {
  std::string out;
  for (int64_t i = 0; i < n; ++i)
    out += str_cat(i == 0 ? "" : ", ", 0.3 - 0.17 * static_cast<double>(i % 5));
  return "[[[" + out + "]]]";
}

std::string conv(const std::string& x, const Window& w) {
  return str_cat("conv(", x, ", ", weights(w.kernel), ", 0.0, stride = [", w.stride,
                 "], dilation = [", w.dilation, "], padding = [(", w.before, ", ", w.after,
                 ")], border = 'constant')");
}

std::string pool(const std::string& op, const Window& w, const std::string& border,
                 const std::string& x) {
  return str_cat(op, "(", x, ", size = [1, 1, ", w.kernel, "], stride = [1, 1, ", w.stride,
                 "], dilation = [1, 1, ", w.dilation, "], padding = [(0, 0), (0, 0), (", w.before,
                 ", ", w.after, ")], border = '", border, "')");
}

std::string pad(const std::string& x, int64_t before, int64_t after, const std::string& value,
                const std::string& border) {
  return str_cat("pad(", x, ", padding = [(0, 0), (0, 0), (", before, ", ", after, ")], border = '",
                 border, "', value = ", value, ")");
}

std::string slice(const std::string& x, int64_t begin, int64_t end) {
  return str_cat("slice(", x, ", axes = [2], begin = [", begin, "], end = [", end, "])");
}

Graph loaded(const std::string& text) {
  auto graph = load_text(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().to_string()) << "\n" << text;
  return graph.ok() ? std::move(graph).value() : Graph();
}

void expect_frames(const std::string& text, int64_t pulse, double tolerance) {
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, pulse);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  const int64_t step = std::max<int64_t>(1, pulse / 16);
  for (int64_t length = 1; length <= 3 * pulse + 24 * step; length += step) {
    if (is_too_short(graph, length)) continue;
    EXPECT_EQ(stream_problem(graph, &*streamed, length, tolerance), "")
        << "pulse " << pulse << ", length " << length << "\n"
        << text;
  }
}

void expect_shape(const std::string& text, const Expected& expected, size_t output) {
  const Graph graph = loaded(text);
  const Dim length = parse_dim(expected.length).value();
  for (const int64_t pulse : expected.pulses) {
    SCOPED_TRACE("pulse " + std::to_string(pulse));
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    const pulse::Stream& stream = streamed->output(output);
    EXPECT_EQ(stream.pulse, pulse * expected.up / expected.down);
    EXPECT_EQ(stream.delay, expected.delay);
    pulse::Options options;
    options.pulse = Dim(pulse);
    const auto least = pulse::least_delays(graph, options, streamed->report(),
                                           {std::numeric_limits<double>::infinity()});
    ASSERT_TRUE(least.ok()) << least.error().to_string();
    EXPECT_EQ(least->outputs[output], expected.least < 0 ? expected.delay : expected.least)
        << "the proven minimum\n"
        << text;
    for (int64_t s = 0; s < 64; ++s) {
      const auto frames = stream.length.eval({{"S", s}});
      const auto wanted = length.eval({{"S", s}});
      ASSERT_TRUE(frames && wanted);
      // A stream shorter than a window has no frames.
      EXPECT_EQ(std::max<int64_t>(0, *frames), std::max<int64_t>(0, *wanted))
          << stream.length.to_string() << " for " << s;
    }
  }
}

namespace {

void expect_reloads(const std::string& text, int64_t pulse, double tolerance) {
  const Graph graph = loaded(text);
  auto streamed = StreamedRun::make(graph, pulse);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  auto reloaded = streamed->reloaded();
  ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string() << "\n" << text;
  for (const int64_t length : {pulse, 2 * pulse + 1, 3 * pulse + 17}) {
    if (is_too_short(graph, length)) continue;
    EXPECT_EQ(stream_problem(graph, &*reloaded, length, tolerance), "")
        << "read back, pulse " << pulse << ", length " << length << "\n"
        << text;
  }
}

/// Move states between these pulses, and between them and larger ones, both ways.
void expect_moves(const std::string& text, std::vector<int64_t> pulses, double tolerance) {
  pulses.push_back(3 * pulses[0]);
  Tally tally;
  EXPECT_EQ(journey_problem(loaded(text), pulses, 7, &tally, tolerance), "") << text;
}

}  // namespace

void expect_streams(const std::string& text, const Expected& expected, double tolerance) {
  expect_shape(text, expected);
  for (const int64_t pulse : expected.pulses) expect_reloads(text, pulse, tolerance);
  for (const int64_t pulse : expected.pulses) expect_frames(text, pulse, tolerance);
  expect_moves(text, expected.pulses, tolerance);
}

void expect_journeys(const std::string& text, const std::vector<int64_t>& pulses,
                     double tolerance) {
  const Graph graph = loaded(text);
  Tally tally;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ASSERT_EQ(journey_problem(graph, pulses, seed, &tally, tolerance), "") << "seed " << seed;
  }
  EXPECT_GT(tally.moved, 100);
}

std::string y(const std::string& expression) {
  return document("1, 1, S", "  y = " + expression + ";\n");
}

void expect_refused(const std::string& text, int64_t pulse, const std::string& node,
                    const std::string& op) {
  auto streamed = StreamedRun::make(loaded(text), pulse);
  ASSERT_FALSE(streamed.ok()) << text;
  const Error& error = streamed.error();
  EXPECT_EQ(error.code, Code::kPulse) << error.to_string();
  EXPECT_NE(error.to_string().find(node), std::string::npos) << error.to_string();
  EXPECT_NE(error.to_string().find(op), std::string::npos) << error.to_string();
  EXPECT_FALSE(error.message.empty());
  EXPECT_FALSE(error.hint.empty()) << error.to_string();
}

}  // namespace rill::test
