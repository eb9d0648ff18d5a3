// Branches that data decides, both of which run, and assumptions about models.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_loader/load.h"
#include "onnx_loader/test_file.h"
#include "ops/math/test_support.h"
#include "ops/onnx_table.h"
#include "ops/op_table.h"

namespace rill::onnx {
namespace {

Message branches(const GraphParts& then, const GraphParts& otherwise, const std::string& condition,
                 const std::string& output) {
  return node_of("If", {condition}, {output},
                 {message_attribute("then_branch", graph_of(then), 5),
                  message_attribute("else_branch", graph_of(otherwise), 5)});
}

/// Return a branch that sums blocks of `frames` frames of x, and drops the axis of blocks if there
/// is only one.
GraphParts for_block_of(const std::string& frames) {
  GraphParts one;
  one.nodes = {node_of("ReduceSum", {"x", "first"}, {frames + "s"},
                       {integer_attribute("keepdims", 0)})};
  one.outputs = {value_info(frames + "s", {3})};
  GraphParts several;
  several.nodes = {node_of("Identity", {"x"}, {frames + "i"})};
  several.outputs = {value_info(frames + "i", {-1, 3})};
  GraphParts out;
  out.nodes = {node_of("Shape", {"x"}, {frames + "n"}, {integer_attribute("end", 1)}),
               node_of("Div", {frames + "n", frames}, {frames + "b"}),
               node_of("Equal", {frames + "b", "one"}, {frames + "e"}),
               branches(one, several, frames + "e", frames + "y")};
  out.outputs = {value_info(frames + "y", {3})};
  return out;
}

std::string assertions_of(const GraphParts& parts) {
  const Message model = model_of(parts);
  const auto graph = load_memory(model.span(), {ops::op_table(), ops::onnx_table()});
  if (!graph.ok()) return graph.error().to_string();
  std::string out;
  for (const auto& each : graph->scope.assertions()) out += each.text;
  return out;
}

std::string loaded(const GraphParts& then, const GraphParts& otherwise) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"}), value_info("fast", {}, {}, 9)};
  parts.outputs = {value_info("y", {3})};
  parts.initializers = {tensor_of_integers("first", {1}, {0}), tensor_of_integers("one", {1}, {1}),
                        tensor_of_integers("four", {1}, {4}),
                        tensor_of_integers("eight", {1}, {8})};
  parts.nodes = {branches(then, otherwise, "fast", "y")};
  return assertions_of(parts);
}

TEST(Branches, OfOneExtentAreAModelForIt) {
  EXPECT_EQ(loaded(for_block_of("four"), for_block_of("four")), "S/4 == 1");
}

TEST(Branches, OfDifferentExtentsHaveToBeDecided) {
  const std::string text = loaded(for_block_of("four"), for_block_of("eight"));
  EXPECT_NE(text.find("one branch is for S/4 == 1, the other for S/8 == 1"), std::string::npos)
      << text;
  EXPECT_NE(text.find("--constantize"), std::string::npos) << text;
}

/// Return x [S, 3] with one more row where a comparison of S with 8 holds.
Message one_row_more_where(const std::string& comparison) {
  GraphParts then;
  then.nodes = {node_of("Concat", {"x", "row"}, {"t"}, {integer_attribute("axis", 0)})};
  then.outputs = {value_info("t", {-1, 3})};
  GraphParts otherwise;
  otherwise.nodes = {node_of("Identity", {"x"}, {"e"})};
  otherwise.outputs = {value_info("e", {-1, 3})};
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, 3})};
  parts.initializers = {tensor_of_integers("eight", {1}, {8}),
                        tensor_of_floats("row", {1, 3}, {7, 7, 7})};
  parts.nodes = {node_of("Shape", {"x"}, {"n"}, {integer_attribute("end", 1)}),
                 node_of(comparison, {"n", "eight"}, {"c"}),
                 branches(then, otherwise, "c", "y")};
  return model_of(parts);
}

struct Comparison {
  const char* name;
  bool (*holds)(int64_t size);
};

constexpr Comparison kComparisons[] = {
    {"Greater", [](int64_t n) { return n > 8; }},
    {"GreaterOrEqual", [](int64_t n) { return n >= 8; }},
    {"Less", [](int64_t n) { return n < 8; }},
    {"LessOrEqual", [](int64_t n) { return n <= 8; }},
    {"Equal", [](int64_t n) { return n == 8; }}};

TEST(Branches, OfASizeNameItsSymbolAndTheRemedy) {
  for (const Comparison& each : kComparisons) {
    const Message model = one_row_more_where(each.name);
    const auto graph = load_memory(model.span(), {ops::op_table(), ops::onnx_table()});
    ASSERT_FALSE(graph.ok()) << each.name;
    const std::string text = graph.error().to_string();
    EXPECT_NE(text.find("which one runs depends on S"), std::string::npos) << text;
    EXPECT_NE(text.find("--set S="), std::string::npos) << text;
    EXPECT_NE(text.find("--assert"), std::string::npos) << text;
    EXPECT_EQ(text.find("data"), std::string::npos) << text;
  }
}

TEST(Branches, OfASizeAreChosenWhereItIsKnown) {
  for (const Comparison& each : kComparisons) {
    const Message model = one_row_more_where(each.name);
    for (const int64_t size : {1, 7, 8, 9, 200}) {
      LoadOptions options;
      const std::vector<std::string> assertions = {str_cat("S == ", size)};
      options.assertions = assertions;
      const auto graph = load_memory(model.span(), {ops::op_table(), ops::onnx_table()}, options);
      ASSERT_TRUE(graph.ok()) << graph.error().to_string();
      EXPECT_EQ(graph->fact(graph->outputs[0]).dim(0), Dim(size + (each.holds(size) ? 1 : 0)))
          << each.name << " at " << size;
    }
  }
}

/// Frames 0 to S - 4 and 4 to S of x [S, 3], side by side, as exporters write stacked frames.
GraphParts stacked_frames(const std::string& x, const std::string& y) {
  GraphParts out;
  out.nodes = {node_of("Shape", {x}, {"all"}, {integer_attribute("end", 1)}),
               node_of("Sub", {"all", "four"}, {"fewer"}),
               node_of("Slice", {x, "first", "fewer", "first"}, {"front"}),
               node_of("Slice", {x, "four", "all", "first"}, {"back"}),
               node_of("Concat", {"front", "back"}, {y}, {integer_attribute("axis", 1)})};
  out.inputs = {value_info("x", {-1, 3}, {"S"})};
  out.outputs = {value_info(y, {-1, -1})};
  out.initializers = {tensor_of_integers("first", {1}, {0}), tensor_of_integers("four", {1}, {4}),
                      tensor_of_integers("two", {}, {2})};
  return out;
}

TEST(Presumed, ExtentsAreLongEnoughForTheirSlices) {
  EXPECT_EQ(assertions_of(stacked_frames("x", "y")), "-4+S >= 0");
}

TEST(Presumed, InALoopToo) {
  GraphParts parts = stacked_frames("x", "y");
  GraphParts body;
  body.inputs = {value_info("t", {}, {}, 7), value_info("go", {}, {}, 9)};
  body.nodes = parts.nodes;
  body.nodes.push_back(node_of("Identity", {"go"}, {"on"}));
  body.outputs = {value_info("on", {}, {}, 9), value_info("y", {-1, -1})};
  parts.outputs = {value_info("z", {-1, -1, -1})};
  parts.nodes = {node_of("Loop", {"two", ""}, {"z"},
                         {message_attribute("body", graph_of(body), 5)})};
  EXPECT_EQ(assertions_of(parts), "-4+S >= 0");
}

/// Return `layers` windows of 3 frames over x [1, 1, S] after zeros. Each is added to the last
/// frames of its input, `y[:, :, -c.shape[2]:]`; the result sums the last S frames of all.
GraphParts last_frames_of(int layers) {
  GraphParts out;
  out.inputs = {value_info("x", {1, 1, -1}, {"", "", "S"})};
  out.outputs = {value_info("h" + std::to_string(layers), {1, 1, -1})};
  out.initializers = {tensor_of_integers("time", {1}, {2}),
                      tensor_of_integers("end", {1}, {INT64_MAX}),
                      tensor_of_integers("padding", {1}, {2 * layers}),
                      tensor_of_floats("w", {1, 1, 3}, {1, 1, 1}),
                      tensor_of_floats("zeros", {1, 1, 2 * layers},
                                       std::vector<float>(static_cast<size_t>(2 * layers), 0))};
  out.nodes = {node_of("Concat", {"zeros", "x"}, {"y0"}, {integer_attribute("axis", 2)}),
               node_of("Shape", {"y0"}, {"all"}), node_of("Gather", {"all", "time"}, {"frames"}),
               node_of("Sub", {"frames", "padding"}, {"kept"}),
               node_of("Neg", {"kept"}, {"h_from"})};
  for (int i = 1; i <= layers; ++i) {
    const std::string n = std::to_string(i);
    const std::string y = "y" + std::to_string(i - 1);
    const std::string sum = i == 1 ? "" : "h" + std::to_string(i - 1);
    const std::string part = i == 1 ? "h1" : "hp" + n;
    out.nodes.push_back(node_of("Conv", {y, "w"}, {"c" + n}));
    out.nodes.push_back(node_of("Shape", {"c" + n}, {"s" + n}));
    out.nodes.push_back(node_of("Gather", {"s" + n, "time"}, {"t" + n}));
    out.nodes.push_back(node_of("Neg", {"t" + n}, {"from" + n}));
    out.nodes.push_back(node_of("Slice", {y, "from" + n, "end", "time"}, {"r" + n}));
    out.nodes.push_back(node_of("Add", {"r" + n, "c" + n}, {"y" + n}));
    out.nodes.push_back(node_of("Slice", {"c" + n, "h_from", "end", "time"}, {part}));
    if (i == 1) continue;
    out.nodes.push_back(node_of("Slice", {sum, "h_from", "end", "time"}, {"hs" + n}));
    out.nodes.push_back(node_of("Add", {"hs" + n, part}, {"h" + n}));
  }
  return out;
}

// A begin of minus the size of a wire counts from the end, even after slices whose sizes may be 0.
TEST(Presumed, SlicesOfTheLastFramesCountFromTheEnd) {
  for (const int layers : {1, 6, 10}) {
    const std::string text = assertions_of(last_frames_of(layers));
    EXPECT_TRUE(text.empty() || text == "S >= 1") << layers << " layers: " << text;
    const Message model = model_of(last_frames_of(layers));
    const auto graph = load_memory(model.span(), {ops::op_table(), ops::onnx_table()});
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    const Dim frames = graph->fact(graph->outputs[0]).dim(2);
    for (const int64_t length : {1, 2, 25}) {
      EXPECT_EQ(frames.eval({{"S", length}}), length) << frames.to_string();
    }
  }
}

}  // namespace
}  // namespace rill::onnx
