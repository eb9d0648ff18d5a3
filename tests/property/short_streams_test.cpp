// Streams of hardly any frames, as exporters write them with bounds such as min(2, S): they give
// what a whole run gives, and as PyTorch does.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

/// x[:, :, begin:end] as the exporter writes it, negative numbers counted from the end.
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

/// Every stream of 0, 1, 2, ... frames has the frames of its whole run, which are `count` of its
/// length: fewer than none where neither is defined.
void expect_short_streams(const std::string& text, const std::vector<int64_t>& pulses,
                          const std::function<int64_t(int64_t)>& count) {
  const Graph graph = loaded(text);
  for (const int64_t pulse : pulses) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << text;
    for (int64_t length = 0; length <= 12; ++length) {
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

const auto kAll = [](int64_t frames) { return frames; };

TEST(ShortStreams, HaveAFrameBesideTheOnlyOne) {
  const std::string first = cut("x", 0, "1");
  const std::string last = cut("x", -1, "");
  expect_short_streams(y("x + " + joined(first, cut("x", 0, "-1"))), {1, 2, 5}, kAll);
  expect_short_streams(y("x + " + joined(cut("x", 1, ""), last)), {1, 2, 5}, kAll);
}

TEST(ShortStreams, AreSlicedAsNumPyDoes) {
  const auto kept = [](int64_t less) {
    return [less](int64_t n) { return std::max<int64_t>(0, n - less); };
  };
  expect_short_streams(y(cut("x", 2, "-1")), {1, 2, 5}, kept(3));
  expect_short_streams(y(cut("x", 3, "-4")), {1, 4}, kept(7));
  expect_short_streams(y(cut("x", 1, "-1") + " * 2.0"), {1, 2, 5}, kept(2));
}

}  // namespace
}  // namespace rill::test
