// Sequences of tensors whose length the file states, and optional tensors.

#include <gtest/gtest.h>

#include <vector>

#include "onnx_loader/test_run.h"

namespace rill::onnx {
namespace {

/// Return a model of these nodes, from x [S, 3], or [2, 3] if `fixed`, to y, with some constants as
/// places.
GraphParts with(std::vector<Message> nodes, bool fixed = false) {
  GraphParts parts;
  parts.inputs = {fixed ? value_info("x", {2, 3}) : value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1, -1})};
  parts.initializers = {tensor_of_integers("one", {}, {1}), tensor_of_integers("two", {}, {2}),
                        tensor_of_integers("last", {}, {-1}),
                        tensor_of_integers("sizes", {2}, {1, 2}),
                        tensor_of_integers("ones", {2}, {1, 1}),
                        tensor_of_integers("minus_two", {}, {-2}),
                        tensor_of_integers("zero", {}, {0}), tensor_of_integers("zeros", {1}, {0})};
  parts.nodes = std::move(nodes);
  return parts;
}

std::vector<float> run_on(const GraphParts& parts, const std::vector<float>& x) {
  return onnx::run_on(model_of(parts, 18), x);
}

std::string refused(const GraphParts& parts) { return onnx::refused(model_of(parts, 18)); }

const std::vector<float> kTwo = {1, 2, 3, 4, 5, 6};

TEST(Sequences, SplitIntoPartsAndJoinedAgain) {
  // Columns 1 and 2 before column 0.
  const auto nodes = [](const std::string& split) {
    return std::vector<Message>{
        node_of("SplitToSequence", {"x", split}, {"parts"}, {integer_attribute("axis", -1)}),
        node_of("SequenceAt", {"parts", "last"}, {"behind"}),
        node_of("SequenceErase", {"parts"}, {"fewer"}),
        node_of("SequenceInsert", {"fewer", "behind", "last"}, {"turned"}),
        node_of("ConcatFromSequence", {"turned"}, {"y"}, {integer_attribute("axis", 1)})};
  };
  EXPECT_EQ(run_on(with(nodes("sizes")), kTwo), (std::vector<float>{2, 3, 1, 5, 6, 4}));
  // Parts of two: columns 0 and 1, then 2.
  EXPECT_EQ(run_on(with(nodes("two")), kTwo), (std::vector<float>{3, 1, 2, 6, 4, 5}));
}

TEST(Sequences, SplitAsTheExtentDetermines) {
  // All frames but the last one, then the last one: sizes S - 1 and 1.
  const GraphParts parts =
      with({node_of("Shape", {"x"}, {"shape"}, {integer_attribute("end", 1)}),
            node_of("Sub", {"shape", "one"}, {"most"}),
            node_of("Unsqueeze", {"one", "zeros"}, {"rest"}),
            node_of("Concat", {"most", "rest"}, {"split"}, {integer_attribute("axis", 0)}),
            node_of("SplitToSequence", {"x", "split"}, {"parts"}),
            node_of("SequenceAt", {"parts", "last"}, {"end"}),
            node_of("SequenceInsert", {"parts", "end", "zero"}, {"around"}),
            node_of("ConcatFromSequence", {"around"}, {"y"}, {integer_attribute("axis", 0)})});
  EXPECT_EQ(run_on(parts, kTwo), (std::vector<float>{4, 5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST(Sequences, SplitIntoFramesWithoutTheirAxis) {
  const auto nodes = [](int64_t keeps) {
    return std::vector<Message>{
        node_of("SplitToSequence", {"x"}, {"frames"}, {integer_attribute("keepdims", keeps)}),
        node_of("ConcatFromSequence", {"frames"}, {"y"},
                {integer_attribute("axis", -1), integer_attribute("new_axis", 1 - keeps)})};
  };
  EXPECT_EQ(run_on(with(nodes(0), true), kTwo), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run_on(with(nodes(1), true), kTwo), kTwo);
  // The number of frames may be symbolic.
  EXPECT_EQ(run_on(with(nodes(0)), {1, 2, 3}), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(run_on(with(nodes(1)), kTwo), kTwo);
}

TEST(Sequences, PartsOfOneFrameLoseTheirAxisWherePyTorchUnbinds) {
  const auto shape_of = [](const std::string& split, int64_t keeps) {
    const auto graph = loaded(model_of(
        with({node_of("SplitToSequence", {"x", split}, {"frames"},
                      {integer_attribute("keepdims", keeps)}),
              node_of("SequenceAt", {"frames", "zero"}, {"y"})}, true),
        18));
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().to_string());
    return graph.ok() ? graph->fact(graph->outputs[0]).rank() : -1;
  };
  EXPECT_EQ(shape_of("one", 0), 1);
  EXPECT_EQ(shape_of("one", 1), 2);
  // `keepdims` is ignored if there is a list of sizes, and for parts of several frames.
  EXPECT_EQ(shape_of("ones", 0), 2);
  EXPECT_EQ(shape_of("two", 0), 2);
}

TEST(Sequences, OfFramesGrowAndShrink) {
  // Frames 0 to 2 with frame 1 before and after them, and without frame 2.
  const auto nodes = [](bool erases) {
    std::vector<Message> out = {
        node_of("SplitToSequence", {"x", "one"}, {"frames"}),
        node_of("SequenceAt", {"frames", "one"}, {"second"}),
        node_of("SequenceInsert", {"frames", "second", "zero"}, {"front"}),
        node_of("SequenceInsert", {"front", "second"}, {"both"}),
        node_of("ConcatFromSequence", {erases ? "fewer" : "both"}, {"y"},
                {integer_attribute("axis", 0)})};
    if (erases) out.push_back(node_of("SequenceErase", {"both", "minus_two"}, {"fewer"}));
    return out;
  };
  const std::vector<float> three = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(run_on(with(nodes(false)), three),
            (std::vector<float>{4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5, 6}));
  EXPECT_NE(refused(with(nodes(true))).find("depends on the extent 1+S"), std::string::npos)
      << refused(with(nodes(true)));
  EXPECT_EQ(run_on(with(nodes(true), true), {1, 2, 3, 4, 5, 6}),
            (std::vector<float>{4, 5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST(Sequences, GrowInTheFileAndHaveAKnownLength) {
  const auto nodes = [](const std::string& place) {
    return std::vector<Message>{
        node_of("SequenceEmpty", {}, {"none"}), node_of("Neg", {"x"}, {"minus"}),
        node_of("SequenceInsert", {"none", "x"}, {"with_x"}),
        node_of("SequenceInsert", {"with_x", "minus", place}, {"both"}),
        node_of("Identity", {"both"}, {"same"}),
        node_of("SequenceLength", {"same"}, {"count"}),
        node_of("Cast", {"count"}, {"scale"}, {integer_attribute("to", 1)}),
        node_of("ConcatFromSequence", {"same"}, {"joined"}, {integer_attribute("axis", 1)}),
        node_of("Mul", {"joined", "scale"}, {"y"})};
  };
  EXPECT_EQ(run_on(with(nodes("last")), {1, 2, 3}), (std::vector<float>{-2, -4, -6, 2, 4, 6}));
  EXPECT_EQ(run_on(with(nodes("one")), {1, 2, 3}), (std::vector<float>{2, 4, 6, -2, -4, -6}));
  EXPECT_NE(refused(with(nodes("two"))).find("place 2 of 1"), std::string::npos)
      << refused(with(nodes("two")));
}

TEST(Sequences, AreNoTensors) {
  const std::string text = refused(with({node_of("SequenceConstruct", {"x", "x"}, {"both"}),
                                         node_of("Neg", {"both"}, {"y"})}));
  EXPECT_NE(text.find("\"both\" is a sequence, expected a tensor"), std::string::npos) << text;
}

TEST(Sequences, PlacesMayDependOnData) {
  const auto nodes = [](const std::string& other) {
    return std::vector<Message>{
        node_of("Neg", {"x"}, {"minus"}), node_of("Concat", {"x", "x"}, {"twice"},
                                                      {integer_attribute("axis", 0)}),
        node_of("SequenceConstruct", {"x", other}, {"both"}),
        node_of("ReduceSum", {"x"}, {"sum"}, {integer_attribute("keepdims", 0)}),
        node_of("Cast", {"sum"}, {"place"}, {integer_attribute("to", 7)}),
        node_of("SequenceAt", {"both", "place"}, {"y"})};
  };
  EXPECT_EQ(run_on(with(nodes("minus")), {1, 2, -3}), (std::vector<float>{1, 2, -3}));
  EXPECT_EQ(run_on(with(nodes("minus")), {1, 2, -2}), (std::vector<float>{-1, -2, 2}));
  // The chosen tensor has one shape.
  EXPECT_NE(refused(with(nodes("twice"), true)).find("node"), std::string::npos)
      << refused(with(nodes("twice"), true));
}

TEST(Optionals, AreThereOrNot) {
  const auto nodes = [](const std::string& given) {
    return std::vector<Message>{
        node_of("Optional", given.empty() ? std::vector<std::string>{} : std::vector{given},
                {"maybe"}),
        node_of("OptionalHasElement", {"maybe"}, {"there"}),
        node_of("Cast", {"there"}, {"scale"}, {integer_attribute("to", 1)}),
        node_of("Mul", {"x", "scale"}, {"y"})};
  };
  EXPECT_EQ(run_on(with(nodes("x")), {1, 2, 3}), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(run_on(with(nodes("")), {1, 2, 3}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(run_on(with({node_of("Optional", {"x"}, {"maybe"}),
                         node_of("OptionalGetElement", {"maybe"}, {"y"})}),
                   {1, 2, 3}),
            (std::vector<float>{1, 2, 3}));
  const std::string text = refused(with({node_of("Optional", {}, {"maybe"}),
                                         node_of("OptionalGetElement", {"maybe"}, {"y"})}));
  EXPECT_NE(text.find("that is empty"), std::string::npos) << text;
}

TEST(Split, IntoPartsOfAnOpenAxis) {
  const GraphParts parts =
      with({node_of("Split", {"x"}, {"a", "b"},
                    {integer_attribute("axis", 0), integer_attribute("num_outputs", 2)}),
            node_of("Concat", {"b", "a"}, {"y"}, {integer_attribute("axis", 0)})});
  // Of three frames the first part has two.
  EXPECT_EQ(run_on(parts, {1, 1, 1, 2, 2, 2, 3, 3, 3}),
            (std::vector<float>{3, 3, 3, 1, 1, 1, 2, 2, 2}));
}

}  // namespace
}  // namespace rill::onnx
