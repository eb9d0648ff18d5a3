#include "audit/audit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "audit/lengths.h"
#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "pulse/pulse.h"
#include "tests/property/streaming.h"

namespace rill::audit {
namespace {

constexpr const char* kWindows =
    "  c = conv(x, [[[0.5, -0.25, 0.125], [1.0, 0.5, -1.0]]], 0.1, dilation = [7], "
    "padding = [(14, 0)], border = 'constant');\n"
    "  d = conv(c, [[[0.5, -0.25, 0.125]]], 0.1, padding = [(1, 1)], border = 'constant');\n"
    "  y = slice(d, axes = [2], begin = [40], end = [0]);\n";

Graph whole_graph(const std::string& statements, const std::string& shape = "1, 2, S") {
  auto graph = test::load_text(test::document(shape, statements));
  EXPECT_TRUE(graph.ok()) << graph.status().error().to_string();
  return std::move(graph).value();
}

Graph pulsed_graph(const Graph& whole, int64_t pulse) {
  pulse::Options options;
  options.pulse = Dim(pulse);
  auto graph = pulse::pulsify(whole, options);
  EXPECT_TRUE(graph.ok()) << graph.status().error().to_string();
  return std::move(graph).value();
}

TEST(Audit, TellsWhatItCompared) {
  const Graph whole = whole_graph(kWindows);
  Options options;
  options.lengths = 60;  // some give no frame
  const auto report = audit(whole, pulsed_graph(whole, 4), options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->finding) << report->to_string();
  EXPECT_EQ(report->symbol, "S");
  EXPECT_EQ(report->pulse, 4);
  EXPECT_EQ(report->period, 4);
  EXPECT_EQ(report->remainders, 4);
  EXPECT_EQ(report->edges_compared, report->edges);
  EXPECT_TRUE(std::is_sorted(report->lengths.begin(), report->lengths.end()));
  for (const char* way : {"stepped", "pushed", "begun again", "saved and loaded", "cloned", "moved",
                          "side by side"}) {
    EXPECT_GT(report->ways.at(way), 0) << way;
  }
  EXPECT_GE(report->outputs, 40);
  EXPECT_GT(report->frames, report->outputs);
}

TEST(Audit, LooksAtBothSidesOfWhatTheGraphNames) {
  const Graph whole = whole_graph("  y = slice(x, axes = [2], begin = [777], end = [-31]);\n");
  const auto plan = prepare(pulsed_graph(whole, 2));
  ASSERT_TRUE(plan.ok());
  const Lengths lengths = lengths_of(whole, **plan, 100000);
  for (const int64_t edge : {776, 777, 778, 807, 808, 809, 30, 31, 32}) {
    EXPECT_TRUE(std::binary_search(lengths.edges.begin(), lengths.edges.end(), edge)) << edge;
  }
}

TEST(Audit, FindsWhatIsWrong) {
  const Graph whole = whole_graph(kWindows);
  const Graph pulsed = pulsed_graph(whole, 4);
  Graph late = pulsed;
  ASSERT_TRUE(late.streaming);
  late.streaming->outputs[0].delay = 2;
  const auto wrong = audit(whole, late, Options());
  ASSERT_TRUE(wrong.ok()) << wrong.error().to_string();
  EXPECT_TRUE(wrong->finding) << wrong->to_string();
  // Another model's stream: one weight differs.
  std::string other = kWindows;
  other.replace(other.find("0.125"), 5, "0.126");
  const auto report = audit(whole, pulsed_graph(whole_graph(other), 4), Options());
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  ASSERT_TRUE(report->finding);
  EXPECT_EQ(report->finding->way, "stepped");
  EXPECT_EQ(report->finding->output, "y");
}

TEST(Audit, DoesNotPassWhereNothingWasCompared) {
  const Graph whole = whole_graph("  y = slice(x, axes = [2], begin = [400], end = [0]);\n");
  Options options;
  options.longest = 300;
  const auto report = audit(whole, pulsed_graph(whole, 4), options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kState);
  options.longest = 500;
  EXPECT_TRUE(audit(whole, pulsed_graph(whole, 4), options).ok());
}

// Of a ninth of the frames, 28 are cut off in front and 45 behind, and what is left is mirrored by
// 224: 298 chunks of 9 are the least, which is the edge of no extent.
TEST(Audit, FindsTheFirstLengthThatTheWholeGraphIsDefinedFor) {
  const Graph whole = whole_graph(
      "  v = max_pool(x, size = [1, 1, 9], stride = [1, 1, 9], padding = [(0, 0), (0, 0), (0, 0)], "
      "border = 'ignore');\n"
      "  y = pad(slice(v, axes = [2], begin = [28], end = [-45]), padding = [(0, 0), (0, 0), "
      "(0, 224)], border = 'reflect', value = 0.0);\n");
  Options options;
  options.lengths = 30;
  const auto report = audit(whole, pulsed_graph(whole, 9), options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->finding) << report->to_string();
  ASSERT_FALSE(report->lengths.empty());
  EXPECT_EQ(report->lengths[0], 2682);
  EXPECT_GT(report->outputs, 10);
}

TEST(Audit, WantsAPulsedGraph) {
  const Graph whole = whole_graph("  y = tanh(x);\n");
  const auto report = audit(whole, whole, Options());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kPulse);
}

TEST(Audit, BindsTheOtherSymbols) {
  auto graph = test::load_text(
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
      "extension tract_symbol B;\ngraph network(x) -> (y)\n{\n"
      "  x = tract_core_external(shape = [B, 2, S], datum_type = 'f32');\n"
      "  y = tract_core_cumsum(x, axis = 2, exclusive = false, reverse = false);\n}\n");
  ASSERT_TRUE(graph.ok());
  Options options;
  options.lengths = 6;
  const auto report = audit(*graph, pulsed_graph(*graph, 3), options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->finding) << report->to_string();
}

}  // namespace
}  // namespace rill::audit
