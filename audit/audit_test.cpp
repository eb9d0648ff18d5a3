#include "audit/audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "audit/check.h"
#include "audit/drive.h"
#include "audit/lengths.h"
#include "audit/values.h"
#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "ops/stream/delay.h"
#include "pulse/pulse.h"
#include "tests/property/streaming.h"
#include "tests/property/texts.h"
#include "tests/support/sanitized.h"

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

TEST(Audit, ReportsItsComparisons) {
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
  for (const char* mode : {"stepped", "pushed", "restarted", "saved and loaded", "cloned",
                           "moved", "side by side"}) {
    EXPECT_GT(report->modes.at(mode), 0) << mode;
  }
  EXPECT_GE(report->outputs, 40);
  EXPECT_GT(report->frames, report->outputs);
}

TEST(Audit, ComparesBothSidesOfNumbersInTheGraph) {
  const Graph whole = whole_graph("  y = slice(x, axes = [2], begin = [777], end = [-31]);\n");
  const auto plan = prepare(pulsed_graph(whole, 2));
  ASSERT_TRUE(plan.ok());
  const Lengths lengths = lengths_of(whole, **plan, 100000);
  for (const int64_t edge : {776, 777, 778, 807, 808, 809, 30, 31, 32}) {
    EXPECT_TRUE(std::binary_search(lengths.edges.begin(), lengths.edges.end(), edge)) << edge;
  }
}

TEST(Audit, FindsWrongFrames) {
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
  EXPECT_EQ(report->finding->mode, "stepped");
  EXPECT_EQ(report->finding->output, "y");
}

/// Return copies of a pulsed graph, each with one of its delays a frame too long.
std::vector<Graph> delayed_by_one(const Graph& pulsed) {
  std::vector<Graph> out;
  for (size_t id = 0; id < pulsed.nodes.size(); ++id) {
    const auto* delay = pulsed.nodes[id].op->as<ops::Delay>();
    if (!delay) continue;
    auto op = std::make_shared<ops::Delay>(*delay);
    op->delay += 1;
    out.push_back(pulsed);
    out.back().nodes[id].op = std::move(op);
  }
  return out;
}

// Noise with standard deviation 1 stays below the threshold of most of these functions.
TEST(Audit, FindsWrongFramesBeforeAThresholdOrALogarithm) {
  for (const char* middle : {"relu(c - 100.0)", "log(c - 100.0)", "relu(0.002 - c)",
                             "clamp(c, 50.0, 60.0)", "sqrt(c - 3.0)", "relu(c - 20000.0)"}) {
    const Graph whole = whole_graph(
        str_cat("  c = conv(x, [[[1.0, 2.0, 3.0]]], padding = [(1, 1)], border = 'constant');\n"
                "  k = ", middle, ";\n"
                "  y = conv(k, [[[1.0, 2.0]]], padding = [(1, 0)], border = 'constant');\n"),
        "1, 1, S");
    const Graph pulsed = pulsed_graph(whole, 4);
    const auto right = audit(whole, pulsed, Options());
    ASSERT_TRUE(right.ok()) << right.error().to_string();
    EXPECT_TRUE(right->verdict().ok()) << middle << ": " << right->to_string();
    const std::vector<Graph> wrong = delayed_by_one(pulsed);
    ASSERT_FALSE(wrong.empty());
    for (const Graph& graph : wrong) {
      const auto report = audit(whole, graph, Options());
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      EXPECT_TRUE(report->finding) << middle << ": " << report->to_string();
    }
  }
}

TEST(Audit, DoesNotPassOutputsThatNeverVary) {
  for (const char* blind : {"relu(x - 1e9)", "log(-1.0 - x * x)", "clamp(x, 2e6, 3e6)",
                            "x * 0.0", "select(gt(x, 1e9), 1.0, 2.0)"}) {
    auto whole = test::load_text(test::document(
        "1, 1, S", str_cat("  y = ", blind, ";\n  z = tanh(x);\n"), "y, z"));
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    Options options;
    options.lengths = 20;
    const auto report = audit(*whole, pulsed_graph(*whole, 4), options);
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_FALSE(report->finding) << report->to_string();
    EXPECT_EQ(report->unproven(), std::vector<std::string>{"y"}) << blind;
    const Status verdict = report->verdict();
    ASSERT_FALSE(verdict.ok()) << blind;
    EXPECT_EQ(verdict.code(), Code::kState);
    EXPECT_NE(verdict.error().to_string().find("output y never varied: not proven"),
              std::string::npos)
        << verdict.error().to_string();
  }
}

// Positions and constants are the same for every input, and are compared as well.
TEST(Audit, ComparesOutputsThatDependOnNoInput) {
  auto whole = test::load_text(test::document(
      "1, 1, S",
      "  n = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [2], end = [3]),"
      " axes = [0]);\n"
      "  y = tract_core_cast(tract_core_range(0, n, 1), to = 'f32') * 0.5;\n"
      "  z = tanh(x);\n",
      "y, z"));
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  Options options;
  options.lengths = 20;
  const auto report = audit(*whole, pulsed_graph(*whole, 4), options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->verdict().ok()) << report->to_string();
  EXPECT_GT(report->varied.at("y"), 0);
}

TEST(Check, DoesNotPassOutputsThatItsInputsDoNotVary) {
  const auto checked = [](const char* statement, float size) {
    const Graph whole = whole_graph(str_cat("  y = ", statement, ";\n"), "1, 1, S");
    Draw draw(3);
    NoiseKind kind;
    kind.scale = size;
    auto inputs = noise_inputs(whole, "S", 40, &draw, kind);
    EXPECT_TRUE(inputs.ok());
    CheckOptions options;
    auto report = check(whole, *inputs, {{"S", 40}}, options);
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    return report->verdict();
  };
  EXPECT_TRUE(checked("relu(x - 100.0)", 1000).ok());
  for (const Status& blind : {checked("relu(x - 100.0)", 1), checked("log(-1.0 - x * x)", 1)}) {
    ASSERT_FALSE(blind.ok());
    EXPECT_EQ(blind.code(), Code::kState);
    EXPECT_NE(blind.error().to_string().find("output y never varied: not proven"),
              std::string::npos)
        << blind.error().to_string();
  }
}

TEST(VariedFrames, CountFiniteNumbersThatDiffer) {
  const auto of = [](const std::vector<float>& values) {
    return std::move(Tensor::of<float>(DType::kF32, {1, 2, 3}, values)).value();
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor some = of({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(varied_frames(some, some, 2), 0);
  EXPECT_EQ(varied_frames(some, of({1, 2, 0, 4, 0, 6}), 2), 2);
  EXPECT_EQ(varied_frames(some, of({1, 2, 0, 4, 0, 6}), 1), 2);
  EXPECT_EQ(varied_frames(some, of({1, 2, 3, 4, 5, 0}), -1), 1);
  EXPECT_EQ(varied_frames(of({nan, 2, 3, inf, 5, 6}), of({1, 2, 0, 4, 5, 6}), 2), 1);
  EXPECT_EQ(varied_frames(of({nan, nan, nan, nan, nan, nan}), some, 2), 0);
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

// The pool leaves a ninth of the frames, and the slice drops 28 and 45 of these. Mirroring 224 more
// needs 225, so the shortest stream has 298 * 9 = 2682 frames. No extent becomes positive at that
// length: only the condition of the padding begins to hold.
TEST(Audit, FindsTheFirstLengthThatTheWholeGraphIsDefinedFor) {
  const Graph whole = whole_graph(
      "  v = max_pool(x, size = [1, 1, 9], stride = [1, 1, 9], padding = [(0, 0), (0, 0), (0, 0)], "
      "border = 'ignore');\n"
      "  y = pad(slice(v, axes = [2], begin = [28], end = [-45]), padding = [(0, 0), (0, 0), "
      "(0, 224)], border = 'reflect', value = 0.0);\n");
  Options options;
  options.lengths = 30;
  options.seconds = 1000;
  const auto report = audit(whole, pulsed_graph(whole, 9), options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->finding) << report->to_string();
  ASSERT_FALSE(report->lengths.empty());
  EXPECT_EQ(report->lengths[0], 2682);
  EXPECT_GT(report->outputs, 10);
}

/// Return layers with some 400000 multiply-adds per frame. A second output is a slice that begins
/// late.
Graph slow_graph() {
  int64_t drawn = 0;
  const auto weights = [&](int64_t outputs, int64_t inputs) {
    return test::nested_list({outputs, inputs, 1},
                             [&] { return test::thousandths(drawn++ % 201 - 100); });
  };
  std::string layers = str_cat("  v0 = conv(x, ", weights(128, 1), ", 0.1, padding = [(0, 0)]);\n");
  for (int i = 0; i < 24; ++i) {
    layers += str_cat("  v", i + 1, " = tanh(conv(v", i, ", ", weights(128, 128),
                      ", 0.1, padding = [(0, 0)]));\n");
  }
  const std::string late = "  z = slice(v24, axes = [2], begin = [200000], end = [0]);\n";
  const std::string all = layers + "  y = copy(v24);\n" + late;
  auto graph = test::load_text(test::document("1, 1, S", all, "y, z"));
  EXPECT_TRUE(graph.ok()) << graph.status().error().to_string();
  return std::move(graph).value();
}

TEST(Audit, GivesUpRunsThatExceedItsTime) {
  const Graph whole = slow_graph();
  const Graph pulsed = pulsed_graph(whole, 4);
  Options options;
#if defined(RILL_SANITIZED)
  options.seconds = 20;
#else
  options.seconds = 1;
#endif
  const auto report = audit(whole, pulsed, options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_GT(report->outputs, 0);
  EXPECT_GT(report->given_up, 0);
  // Streams of 200000 frames take longer.
  EXPECT_LT(report->lengths.back(), 190000);
  EXPECT_NE(report->to_string().find("given up"), std::string::npos) << report->to_string();
}

TEST(Audit, ComparesAShortStreamThoughTheTimeIsOver) {
  const Graph whole = slow_graph();
  Options options;
  options.seconds = 1e-9;
  const auto report = audit(whole, pulsed_graph(whole, 4), options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->lengths, std::vector<int64_t>{9});
  EXPECT_GT(report->outputs, 0);
}

// In this time, the audit compares only a short stream, which gives no output frame. The error must
// name the time limit.
TEST(Audit, SaysThatItsTimeEnded) {
  const Graph whole = whole_graph(kWindows);
  Options options;
  options.seconds = 1e-9;
  const auto report = audit(whole, pulsed_graph(whole, 4), options);
  ASSERT_FALSE(report.ok());
  const std::string text = report.error().to_string();
  EXPECT_NE(text.find("seconds of the audit ended first"), std::string::npos) << text;
  EXPECT_NE(text.find("audit --seconds"), std::string::npos) << text;
}

TEST(Audit, RefusesStreamsThatTakeMoreMemoryThanItHas) {
  const Graph whole = whole_graph(kWindows);
  const Graph pulsed = pulsed_graph(whole, 4);
  const auto plan = prepare(pulsed);
  ASSERT_TRUE(plan.ok());
  Options options;
  options.session_bytes = PlacedSession::bytes_for(**plan) - 1;
  const auto report = audit(whole, pulsed, options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kNoMem);
  options.session_bytes += 1;
  options.multiples = {4096};  // sessions of such a pulse take more memory, so it is skipped
  const auto fits = audit(whole, pulsed, options);
  ASSERT_TRUE(fits.ok()) << fits.error().to_string();
  EXPECT_GT(fits->outputs, 0);
  EXPECT_EQ(fits->modes.count("moved"), 0U) << fits->to_string();
  options.session_bytes = Options().session_bytes;
  const auto moves = audit(whole, pulsed, options);
  ASSERT_TRUE(moves.ok()) << moves.error().to_string();
  EXPECT_GT(moves->modes.count("moved"), 0U) << moves->to_string();
}

/// Return `layers` matmuls of 128 channels, followed by windows over 40 and `frames` earlier
/// frames.
Graph windowed_graph(int layers, int64_t frames) {
  int64_t drawn = 0;
  const auto weights = [&](int64_t outputs, int64_t inputs) {
    return test::nested_list({outputs, inputs, 1},
                             [&] { return test::thousandths(drawn++ % 201 - 100); });
  };
  std::string text = str_cat("  v0 = conv(x, ", weights(128, 1), ", 0.1, padding = [(0, 0)]);\n");
  for (int i = 0; i < layers; ++i) {
    text += str_cat("  v", i + 1, " = tanh(conv(v", i, ", ", weights(128, 128),
                    ", 0.1, padding = [(0, 0)]));\n");
  }
  const auto windows = [](const char* name, const std::string& from, int64_t reach) {
    return str_cat("  ", name, " = conv(", from, ", [[[0.5, -0.25]]], 0.1, dilation = [", reach,
                   "], padding = [(", reach, ", 0)], border = 'constant', groups = 0);\n");
  };
  text += str_cat("  one = conv(v", layers, ", ", weights(1, 128), ", 0.1, padding = [(0, 0)]);\n",
                  windows("near", "one", 40), windows("y", "near", frames));
  return whole_graph(text, "1, 1, S");
}

TEST(Audit, BeginsWithTheLengthThatCrossesEveryWindow) {
  for (const int64_t frames : {64, 300, 1777}) {
    for (const int64_t pulse : {1, 4, 9}) {
      const Graph whole = windowed_graph(0, frames);
      Options options;
      options.lengths = 1;
      options.seconds = 60;
      const auto report = audit(whole, pulsed_graph(whole, pulse), options);
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      ASSERT_EQ(report->windows.size(), 2U);
      EXPECT_GE(report->windows[0].frames, frames);
      EXPECT_GE(report->windows[1].frames, 40);
      // The stream fills the window, and continues until the oldest frames are overwritten.
      EXPECT_GE(report->windows[0].crossed, frames + 2 * pulse);
      EXPECT_LE(report->windows[0].crossed, frames + 4 * pulse);
      ASSERT_EQ(report->lengths.size(), 1U);
      EXPECT_GE(report->lengths[0], report->windows[0].crossed);
      EXPECT_EQ(report->outcome(), Outcome::kSame) << report->to_string();
      EXPECT_TRUE(report->verdict().ok());
    }
  }
}

TEST(Audit, DoesNotPassWhereNoStreamCrossesTheLongestWindow) {
  const Graph whole = windowed_graph(32, 100000);
  const Graph pulsed = pulsed_graph(whole, 4);
  Options options;
  options.seconds = 3;
  options.multiples = {};
  const auto report = audit(whole, pulsed, options);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->finding) << report->to_string();
  EXPECT_GT(report->outputs, 0);  // the remaining time goes to shorter streams
  EXPECT_EQ(report->outcome(), Outcome::kNotReached);
  ASSERT_FALSE(report->uncrossed().empty());
  EXPECT_EQ(report->uncrossed()[0].frames, 100000);
  const Status verdict = report->verdict();
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.code(), Code::kState);
  for (const std::string& text : {verdict.error().to_string(), report->to_string()}) {
    EXPECT_NE(text.find("not compared: streams with "), std::string::npos) << text;
    EXPECT_NE(text.find("the window of 100000 frames of \"near"), std::string::npos) << text;
    EXPECT_NE(text.find("the longest stream compared has "), std::string::npos) << text;
  }
  options.longest = options.longest_crossing = 1000;  // limits that the caller sets
  const auto bounded = audit(whole, pulsed, options);
  ASSERT_TRUE(bounded.ok()) << bounded.error().to_string();
  EXPECT_EQ(bounded->outcome(), Outcome::kNotReached);
  EXPECT_NE(bounded->verdict().error().to_string().find("no streams of more than 1000 of S"),
            std::string::npos);
}

TEST(Audit, StreamsEndWithTheirTime) {
  const Graph whole = whole_graph(kWindows);
  const auto plan = prepare(pulsed_graph(whole, 4));
  ASSERT_TRUE(plan.ok());
  const auto session = Session::make(*plan);
  ASSERT_TRUE(session.ok());
  Draw draw(1);
  const auto inputs = noise_inputs(whole, "S", 100, &draw);
  ASSERT_TRUE(inputs.ok());
  StreamOptions options;
  auto stream = run_stream(session->get(), *inputs, 100, options);
  ASSERT_TRUE(stream.ok());
  EXPECT_FALSE(stream->given_up);
  options.until = Deadline(0);
  stream = run_stream(session->get(), *inputs, 100, options);
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE(stream->given_up);
  const auto feed = Feed::make(session->get(), 0);
  ASSERT_TRUE(feed.ok());
  for (const bool in_time : {true, false}) {
    (*session)->reset();
    (*feed)->reset();
    PushedStream pushed(*inputs, 1, in_time ? Deadline() : Deadline(0));
    pushed.attach(session->get(), feed->get());
    while (pushed.step()) {
    }
    EXPECT_TRUE(pushed.finish().ok());
    EXPECT_EQ(pushed.given_up(), !in_time);
  }
}

TEST(Audit, NeedsAPulsedGraph) {
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

TEST(Audit, NamesTheUnsuitableValueOfASymbol) {
  auto graph = test::load_text(
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
      "extension tract_symbol B;\ngraph network(x) -> (y)\n{\n"
      "  x = tract_core_external(shape = [B, 2, S], datum_type = 'f32');\n"
      "  y = concat([[[[1.0], [2.0]]], x], axis = 2);\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.status().error().to_string();
  const Graph pulsed = pulsed_graph(*graph, 3);
  Options options;
  options.lengths = 6;
  const auto wrong = audit(*graph, pulsed, options);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().to_string().find("B=2"), std::string::npos) << wrong.error().to_string();
  options.others = {{"B", 1}};
  EXPECT_TRUE(audit(*graph, pulsed, options).ok());
}

}  // namespace
}  // namespace rill::audit
