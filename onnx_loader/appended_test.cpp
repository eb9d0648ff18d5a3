// Loops that append to sequences and to tensors.

#include <gtest/gtest.h>

#include <vector>

#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

using Nodes = std::vector<Message>;

/// Return a body that sums the frames so far, h = h + x[t], and has further nodes.
GraphParts body_of(Nodes more, const std::vector<std::string>& lists,
                   const std::vector<std::string>& grown) {
  GraphParts body;
  body.inputs = {value_info("t", {}, {}, 7), value_info("go", {}, {}, 9), value_info("h", {3})};
  for (const std::string& each : lists) body.inputs.push_back(value_info(each, {}));
  body.nodes = {node_of("Gather", {"x", "t"}, {"frame"}), node_of("Add", {"h", "frame"}, {"next"}),
                node_of("Identity", {"go"}, {"on"})};
  body.nodes.insert(body.nodes.end(), more.begin(), more.end());
  body.outputs = {value_info("on", {}, {}, 9), value_info("next", {3})};
  for (const std::string& each : grown) body.outputs.push_back(value_info(each, {}));
  return body;
}

Message loop(const GraphParts& body, const std::vector<std::string>& first,
             const std::vector<std::string>& outputs) {
  std::vector<std::string> inputs = {"count", "", "start"};
  inputs.insert(inputs.end(), first.begin(), first.end());
  return node_of("Loop", inputs, outputs, {message_attribute("body", graph_of(body), 5)});
}

/// Return a graph whose nodes compute y from x [S, 3].
GraphParts with(Nodes nodes) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, -1})};
  parts.initializers = {tensor_of_integers("zero", {}, {0}), tensor_of_integers("last", {}, {-1}),
                        tensor_of_integers("first_axis", {1}, {0}),
                        tensor_of_floats("start", {3}, {0, 0, 0}),
                        tensor_of_floats("ones", {1, 3}, {1, 1, 1})};
  parts.nodes = {node_of("Shape", {"x"}, {"shape"}),
                 node_of("Gather", {"shape", "zero"}, {"count"}),
                 node_of("SequenceEmpty", {}, {"none"})};
  parts.nodes.insert(parts.nodes.end(), nodes.begin(), nodes.end());
  return parts;
}

std::vector<float> run_on(const GraphParts& parts, const std::vector<float>& x) {
  return onnx::run_on(model_of(parts), x);
}

std::string refused(const GraphParts& parts) { return onnx::refused(model_of(parts)); }

Message joined(const std::string& sequence, int64_t axis, int64_t stacks) {
  return node_of("ConcatFromSequence", {sequence}, {"y"},
                 {integer_attribute("axis", axis), integer_attribute("new_axis", stacks)});
}

const std::vector<float> kTwo = {1, 2, 3, 4, 5, 6};

TEST(Appended, SequencesAreStackedAndJoined) {
  const auto parts = [](int64_t axis, int64_t stacks) {
    const Nodes insert = {node_of("SequenceInsert", {"l", "next"}, {"grown"})};
    return with({loop(body_of(insert, {"l"}, {"grown"}), {"none"}, {"h_last", "all"}),
                 joined("all", axis, stacks)});
  };
  EXPECT_EQ(run_on(parts(0, 1), kTwo), (std::vector<float>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run_on(parts(-1, 1), kTwo), (std::vector<float>{1, 5, 2, 7, 3, 9}));
  EXPECT_EQ(run_on(parts(0, 0), kTwo), (std::vector<float>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run_on(parts(0, 1), {}), std::vector<float>{});
  EXPECT_NE(refused(parts(2, 1)).find("axis 2 of 2"), std::string::npos);
}

TEST(Appended, AfterExistingTensors) {
  const Nodes insert = {node_of("SequenceInsert", {"l", "next"}, {"one"}),
                        node_of("Neg", {"frame"}, {"minus"}),
                        node_of("SequenceInsert", {"one", "minus"}, {"grown"})};
  const GraphParts parts =
      with({node_of("SequenceConstruct", {"start"}, {"zeros"}),
            loop(body_of(insert, {"l"}, {"grown"}), {"zeros"}, {"", "all"}), joined("all", 0, 1)});
  EXPECT_EQ(run_on(parts, kTwo),
            (std::vector<float>{0, 0, 0, 1, 2, 3, -1, -2, -3, 5, 7, 9, -4, -5, -6}));
}

TEST(Appended, PrependingReversesThem) {
  const Nodes insert = {node_of("SequenceInsert", {"l", "next", "zero"}, {"grown"})};
  const GraphParts parts =
      with({node_of("SequenceConstruct", {"start"}, {"zeros"}),
            loop(body_of(insert, {"l"}, {"grown"}), {"zeros"}, {"", "all"}), joined("all", 0, 1)});
  EXPECT_EQ(run_on(parts, kTwo), (std::vector<float>{5, 7, 9, 1, 2, 3, 0, 0, 0}));
}

TEST(Appended, TheLastTensorIsAState) {
  // Each tensor is twice the sum of the last one and the frame.
  const Nodes insert = {node_of("SequenceAt", {"l", "last"}, {"before"}),
                        node_of("Add", {"before", "frame"}, {"sum"}),
                        node_of("Add", {"sum", "sum"}, {"double"}),
                        node_of("SequenceInsert", {"l", "double"}, {"grown"})};
  const GraphParts parts =
      with({node_of("SequenceConstruct", {"start"}, {"zeros"}),
            loop(body_of(insert, {"l"}, {"grown"}), {"zeros"}, {"", "all"}),
            node_of("SequenceAt", {"all", "last"}, {"end"}),
            node_of("SequenceInsert", {"all", "end"}, {"more"}), joined("more", 0, 1)});
  EXPECT_EQ(run_on(parts, kTwo), (std::vector<float>{0, 0, 0, 2, 4, 6, 12, 18, 24, 12, 18, 24}));
}

TEST(Appended, TensorsGrowAlongTheirAxis) {
  const auto parts = [](const std::string& first, int64_t axis) {
    const Nodes insert = {node_of("Unsqueeze", {"next", "first_axis"}, {"row"}),
                          node_of("Concat", {"l", "row"}, {"grown"},
                                  {integer_attribute("axis", axis)})};
    return with({loop(body_of(insert, {"l"}, {"grown"}), {first}, {"", "y"})});
  };
  EXPECT_EQ(run_on(parts("ones", 0), kTwo), (std::vector<float>{1, 1, 1, 1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run_on(parts("ones", -1), kTwo), (std::vector<float>{1, 1, 1, 1, 2, 3, 5, 7, 9}));
  EXPECT_NE(refused(parts("ones", 2)).find("axis 2 of 2"), std::string::npos);
  EXPECT_NE(refused(parts("start", 0)), "loaded");
}

TEST(Appended, AnotherLoopReadsThemByItsIteration) {
  const Nodes insert = {node_of("SequenceInsert", {"l", "next"}, {"grown"})};
  GraphParts second;
  second.inputs = {value_info("i", {}, {}, 7), value_info("go2", {}, {}, 9),
                   value_info("l2", {})};
  second.nodes = {node_of("SequenceAt", {"all", "i"}, {"each"}), node_of("Neg", {"each"}, {"neg"}),
                  node_of("SequenceInsert", {"l2", "neg"}, {"grown2"}),
                  node_of("Identity", {"go2"}, {"on2"})};
  second.outputs = {value_info("on2", {}, {}, 9), value_info("grown2", {})};
  const GraphParts parts =
      with({loop(body_of(insert, {"l"}, {"grown"}), {"none"}, {"", "all"}),
            node_of("SequenceLength", {"all"}, {"length"}), node_of("SequenceEmpty", {}, {"nil"}),
            node_of("Loop", {"length", "", "nil"}, {"turned"},
                    {message_attribute("body", graph_of(second), 5)}),
            joined("turned", 0, 1)});
  EXPECT_EQ(run_on(parts, kTwo), (std::vector<float>{-1, -2, -3, -5, -7, -9}));
}

TEST(Appended, OtherUsesAreRefusedByName) {
  const auto text_of = [](const Nodes& insert) {
    return refused(with({loop(body_of(insert, {"l"}, {"grown"}), {"none"}, {"", "all"}),
                         joined("all", 0, 1)}));
  };
  // Tensors are inserted at a place, erased, or not new, or the length is read.
  for (const Nodes& each :
       {Nodes{node_of("SequenceInsert", {"l", "next", "t"}, {"grown"})},
        Nodes{node_of("SequenceErase", {"l"}, {"grown"})},
        Nodes{node_of("SequenceInsert", {"l"}, {"grown"})},
        Nodes{node_of("SequenceInsert", {"l", "next"}, {"grown"}),
              node_of("SequenceLength", {"l"}, {"length"})},
        Nodes{node_of("SequenceAt", {"l", "last"}, {"before"}),
              node_of("SequenceInsert", {"l", "before"}, {"grown"})}}) {
    const std::string text = text_of(each);
    EXPECT_NE(text.find("the loop does more with the sequence \"none\" than to append to it"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace rill::onnx
