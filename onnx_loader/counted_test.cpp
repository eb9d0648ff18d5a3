// Loops that end by a condition on a counter, which grows by iteration up to a size.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

/// `i = first; while i OP (S + more): h = h / 2 + x[i - back]; i += step`, where OP is one of
/// ONNX's comparisons, optionally with swapped sides or a negated result.
struct Counting {
  std::string compares = "Less";
  int64_t first = 0;
  int64_t step = 1;
  int64_t more = 0;
  int64_t back = 0;
  bool swapped = false;
  bool negated = false;
  bool runs_first = false;  ///< the first iteration runs without a check
  bool whole = false;       ///< i counts the iterations left, and is compared with 0

  std::vector<Message> condition(const std::string& count, const std::string& out) const {
    std::vector<std::string> sides = {count, whole ? "zero" : "end"};
    if (swapped) std::swap(sides[0], sides[1]);
    if (!negated) return {node_of(compares, sides, {out})};
    return {node_of(compares, sides, {out + "_not"}), node_of("Not", {out + "_not"}, {out})};
  }
  bool holds(int64_t i, int64_t end) const {
    int64_t a = i;
    int64_t b = whole ? 0 : end;
    if (swapped) std::swap(a, b);
    const bool is_it = compares == "Less"          ? a < b
                       : compares == "LessOrEqual" ? a <= b
                       : compares == "Greater"     ? a > b
                                                   : a >= b;
    return is_it != negated;
  }
  int64_t start(int64_t end) const { return whole ? end : first; }
};

GraphParts model(const Counting& how) {
  GraphParts body;
  body.inputs = {value_info("t", {}, {}, 7), value_info("go", {}, {}, 9), value_info("h", {3}),
                 value_info("i", {}, {}, 7)};
  body.nodes = {node_of("Sub", {"i", "back"}, {"row"}),
                node_of("Gather", {"x", "row"}, {"frame"}),
                node_of("Div", {"h", "two"}, {"half"}),
                node_of("Add", {"half", "frame"}, {"next"}),
                node_of("Add", {"i", "step"}, {"i_next"})};
  for (Message& each : how.condition("i_next", "on")) body.nodes.push_back(std::move(each));
  body.outputs = {value_info("on", {}, {}, 9), value_info("next", {3}),
                  value_info("i_next", {}, {}, 7), value_info("next", {3})};
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1})};
  parts.initializers = {tensor_of_integers("zero", {}, {0}),
                        tensor_of_integers("first", {}, {how.first}),
                        tensor_of_integers("step", {}, {how.step}),
                        tensor_of_integers("back", {}, {how.back}),
                        tensor_of_integers("more", {}, {how.more}),
                        tensor_of_integers("list", {1}, {-1}),
                        tensor_of_integers("most", {}, {INT64_MAX}),
                        tensor_of_floats("start", {3}, {0, 0, 0}),
                        tensor_of_floats("two", {}, {2})};
  parts.nodes = {node_of("Shape", {"x"}, {"shape"}), node_of("Gather", {"shape", "zero"}, {"size"}),
                 node_of("Add", {"size", "more"}, {"end"})};
  const std::string counter = how.whole ? "end" : "first";
  for (Message& each : how.condition(counter, "runs")) parts.nodes.push_back(std::move(each));
  parts.nodes.push_back(node_of("Loop", {"most", how.runs_first ? "" : "runs", "start", counter},
                                {"h_last", "i_last", "all"},
                                {message_attribute("body", graph_of(body), 5)}));
  // The last state, then the count, then all states.
  parts.nodes.push_back(node_of("Cast", {"i_last"}, {"i_float"}, {integer_attribute("to", 1)}));
  parts.nodes.push_back(node_of("Reshape", {"i_float", "list"}, {"i_list"}));
  parts.nodes.push_back(node_of("Reshape", {"all", "list"}, {"all_list"}));
  parts.nodes.push_back(
      node_of("Concat", {"h_last", "i_list", "all_list"}, {"y"}, {integer_attribute("axis", 0)}));
  return parts;
}

std::vector<float> by_hand(const Counting& how, const std::vector<float>& x) {
  const auto end = static_cast<int64_t>(x.size()) / 3 + how.more;
  std::vector<float> h = {0, 0, 0};
  std::vector<float> all;
  int64_t i = how.start(end);
  for (bool runs = how.runs_first || how.holds(i, end); runs; runs = how.holds(i, end)) {
    for (size_t k = 0; k < 3; ++k) {
      h[k] = h[k] / 2 + x[static_cast<size_t>(i - how.back) * 3 + k];
      all.push_back(h[k]);
    }
    i += how.step;
  }
  std::vector<float> out = h;
  out.push_back(static_cast<float>(i));
  out.insert(out.end(), all.begin(), all.end());
  return out;
}

std::vector<float> frames(int64_t count) {
  std::vector<float> x;
  for (int64_t i = 0; i < 3 * count; ++i) x.push_back(std::sin(static_cast<float>(7 * i + 1)));
  return x;
}

void is_right(const Counting& how, std::vector<int64_t> counts) {
  for (const int64_t count : counts) {
    SCOPED_TRACE(count);
    const std::vector<float> x = frames(count);
    EXPECT_EQ(run_on(model_of(model(how)), x), by_hand(how, x));
  }
}

TEST(Counted, UpToASize) { is_right({}, {1, 2, 3, 7, 64, 65, 300}); }

TEST(Counted, InSteps) {
  is_right({.step = 3}, {1, 2, 3, 4, 5, 6, 7, 64, 65, 193, 300});
  is_right({.first = 1, .step = 2}, {1, 2, 3, 4, 5, 63, 64, 65, 66, 300});
}

TEST(Counted, UpToALastOne) {
  is_right({.compares = "LessOrEqual", .first = 1, .step = 2, .more = -1}, {1, 2, 3, 4, 5, 300});
  is_right({.compares = "LessOrEqual", .first = 1, .back = 1}, {1, 2, 3, 64, 65, 300});
}

TEST(Counted, FromTheOtherSide) {
  is_right({.compares = "Greater", .swapped = true}, {1, 2, 65, 300});
  is_right({.compares = "GreaterOrEqual", .more = -1, .swapped = true}, {1, 2, 65, 300});
}

TEST(Counted, UntilItIsReached) {
  is_right({.compares = "GreaterOrEqual", .step = 5, .negated = true}, {1, 4, 5, 6, 65, 300});
  is_right({.compares = "Greater", .step = 5, .more = -1, .negated = true}, {1, 4, 5, 6, 65, 300});
}

TEST(Counted, Down) {
  is_right({.compares = "Greater", .step = -1, .back = 1, .whole = true}, {1, 2, 65, 300});
  is_right({.compares = "Greater", .step = -4, .back = 1, .whole = true}, {1, 3, 4, 5, 65, 300});
}

TEST(Counted, WithAFirstIterationInAnyCase) {
  is_right({.runs_first = true}, {1, 2, 65, 300});
  is_right({.first = 2, .step = 7, .more = -40, .runs_first = true}, {3, 41, 42, 43, 49, 300});
}

TEST(Counted, NotAtAll) { is_right({.more = -40}, {1, 39, 40, 41, 42, 300}); }

TEST(Counted, WithoutAnEnd) {
  for (const int64_t step : {int64_t{0}, int64_t{-1}}) {
    const std::string text = refused(model_of(model({.step = step})));
    EXPECT_NE(text.find("the number of iterations depends on data"), std::string::npos) << text;
  }
}

/// Return y = x + x + ... for i = 1, 2, ... while i * i < limit. All iterations are unrolled, or
/// none.
Message squares(int64_t limit) {
  GraphParts body;
  body.inputs = {value_info("t", {}, {}, 7), value_info("go", {}, {}, 9),
                 value_info("i", {}, {}, 7), value_info("h", {-1, 3})};
  body.nodes = {node_of("Add", {"i", "one"}, {"i_next"}),
                node_of("Mul", {"i_next", "i_next"}, {"q"}),
                node_of("Less", {"q", "limit"}, {"on"}), node_of("Add", {"h", "x"}, {"next"})};
  body.outputs = {value_info("on", {}, {}, 9), value_info("i_next", {}, {}, 7),
                  value_info("next", {-1, 3})};
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, 3})};
  parts.initializers = {tensor_of_integers("one", {}, {1}), tensor_of_integers("zero", {}, {0}),
                        tensor_of_integers("limit", {}, {limit})};
  parts.nodes = {node_of("Loop", {"", "", "zero", "x"}, {"i_last", "y"},
                         {message_attribute("body", graph_of(body), 5)})};
  return model_of(parts);
}

TEST(Counted, ByProductsUpToSomeIterations) {
  for (const int64_t iterations : {1, 2, 8, 63, 64}) {
    const auto times = static_cast<float>(iterations + 1);
    EXPECT_EQ(run_on(squares(iterations * iterations), {1, 2, 3}),
              (std::vector<float>{times, 2 * times, 3 * times}))
        << iterations;
  }
  for (const int64_t iterations : {65, 66, 1000}) {
    EXPECT_NE(refused(squares(iterations * iterations)).find("over 64 iterations"),
              std::string::npos)
        << iterations;
  }
}

TEST(Counted, ByDoublingsOnManyPaths) {
  // Each node reads the one before it twice, so there are 2^20 paths to the counter, for each of
  // many states.
  GraphParts body;
  body.inputs = {value_info("t", {}, {}, 7), value_info("go", {}, {}, 9)};
  body.outputs = {value_info("on", {}, {}, 9)};
  std::vector<std::string> first = {"", ""};
  std::vector<std::string> last;
  for (int state = 0; state < 200; ++state) {
    std::string wire = "i" + std::to_string(state);
    body.inputs.push_back(value_info(wire, {}, {}, 7));
    for (int k = 0; k < 20; ++k) {
      const std::string next = wire + "_";
      body.nodes.push_back(node_of("Add", {wire, wire}, {next}));
      wire = next;
    }
    body.outputs.push_back(value_info(wire, {}, {}, 7));
    first.emplace_back("zero");
    last.push_back("y" + std::to_string(state));
  }
  body.nodes.push_back(node_of("Less", {"i0" + std::string(20, '_'), "size"}, {"on"}));
  GraphParts parts = model({});
  parts.outputs = {value_info("y0", {}, {}, 7)};
  parts.nodes = {node_of("Shape", {"x"}, {"shape"}), node_of("Gather", {"shape", "zero"}, {"size"}),
                 node_of("Loop", first, last, {message_attribute("body", graph_of(body), 5)})};
  EXPECT_NE(refused(model_of(parts)).find("depends on data"), std::string::npos);
}

TEST(Counted, ByNoTruth) {
  // A condition of integers, which a file may state.
  GraphParts parts = model({});
  GraphParts body;
  body.inputs = {value_info("t", {}, {}, 7), value_info("go", {}, {}, 9), value_info("h", {3}),
                 value_info("i", {}, {}, 7)};
  body.nodes = {node_of("Identity", {"most"}, {"on"}), node_of("Identity", {"h"}, {"next"}),
                node_of("Identity", {"i"}, {"i_next"})};
  body.outputs = {value_info("on", {}, {}, 7), value_info("next", {3}),
                  value_info("i_next", {}, {}, 7), value_info("next", {3})};
  for (Message& node : parts.nodes) {
    if (node.bytes().find("h_last") == std::string::npos) continue;
    node = node_of("Loop", {"size", "", "start", "first"}, {"h_last", "i_last", "all"},
                   {message_attribute("body", graph_of(body), 5)});
    break;
  }
  const std::string text = refused(model_of(parts));
  EXPECT_NE(text.find("expected one bool"), std::string::npos) << text;
}

}  // namespace
}  // namespace rill::onnx
