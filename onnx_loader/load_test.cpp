#include "onnx_loader/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/splitmix.h"
#include "onnx_loader/test_file.h"
#include "ops/onnx_table.h"
#include "ops/op_table.h"

namespace rill::onnx {
namespace {

const Operators& operators() {
  static const Operators ops{ops::op_table(), ops::onnx_table()};
  return ops;
}

Result<Graph> loaded(const Message& model, const LoadOptions& options = {}) {
  return load_memory(model.span(), operators(), options);
}

/// Return y = relu(conv(x, w) + k), with an attribute of each kind and constants in both storages.
GraphParts small_model() {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 2, -1}, {"B"})};
  parts.outputs = {value_info("y", {-1, 4, -1})};
  parts.initializers = {tensor_of_floats("w", {4, 2, 3}, std::vector<float>(24, 0.5F)),
                        tensor_of_floats("k", {1}, {0.25F})};
  parts.nodes = {node_of("Conv", {"x", "w"}, {"c"},
                         {integers_attribute("pads", {1, 1}), integer_attribute("group", 1)}),
                 node_of("Add", {"c", "k"}, {"a"}),
                 node_of("LeakyRelu", {"a"}, {"y"}, {float_attribute("alpha", 0.5F)})};
  return parts;
}

std::string message_of(const Result<Graph>& graph) {
  return graph.ok() ? "" : graph.error().to_string();
}

#define EXPECT_REFUSED(graph, expected_code, text)                                       \
  do {                                                                                   \
    const auto refused = (graph);                                                        \
    ASSERT_FALSE(refused.ok());                                                          \
    EXPECT_EQ(refused.error().code, expected_code) << message_of(refused);               \
    EXPECT_NE(message_of(refused).find(text), std::string::npos) << message_of(refused); \
  } while (false)

TEST(OnnxLoad, NamesSymbolsAfterTheFileAndTheInput) {
  const auto graph = loaded(model_of(small_model()));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->fact(graph->inputs[0]).to_string(), "B,2,x_2,F32");
  EXPECT_EQ(graph->fact(graph->outputs[0]).to_string(), "B,4,x_2,F32");
  EXPECT_EQ(graph->output_names, std::vector<std::string>{"y"});
}

TEST(OnnxLoad, OutputsThatAreListedTwiceHaveDifferentNames) {
  GraphParts parts = small_model();
  parts.nodes.push_back(node_of("Neg", {"y"}, {"y_1"}));
  parts.outputs.assign(3, value_info("y", {-1, 4, -1}));
  parts.outputs.push_back(value_info("y_1", {-1, 4, -1}));
  const auto graph = loaded(model_of(parts));
  EXPECT_EQ(graph.value().output_names, (std::vector<std::string>{"y", "y_2", "y_3", "y_1"}));
}

TEST(OnnxLoad, QuestionMarksAreNoName) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, -1}, {"?", "?"})};
  parts.outputs = {value_info("y", {-1, -1})};
  parts.nodes = {node_of("Neg", {"x"}, {"y"})};
  const auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->fact(graph->outputs[0]).to_string(), "x_0,x_1,F32");
}

TEST(OnnxLoad, IsRecognisedByContent) {
  const Message model = model_of(small_model());
  EXPECT_TRUE(is_onnx(model.span()));
  const std::string text = "version 1.0;\ngraph net(x) -> (y) {}";
  EXPECT_FALSE(is_onnx(std::as_bytes(std::span(text))));
  const std::string zip = "PK\x03\x04 and more";
  EXPECT_FALSE(is_onnx(std::as_bytes(std::span(zip))));
  EXPECT_FALSE(is_onnx({}));
  // The graph may come first.
  const Message graph_first = Message().message(7, graph_of(small_model())).integer(1, 8);
  EXPECT_TRUE(is_onnx(graph_first.span()));
}

TEST(OnnxLoad, EveryPrefixOfAFileIsRefusedOrReadAndNeverCrashes) {
  const std::string bytes = model_of(small_model()).bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto graph = load_memory(std::as_bytes(std::span(bytes)).first(size), operators(), {});
    EXPECT_FALSE(graph.ok()) << size;
  }
}

TEST(OnnxLoad, AlteredBytesAreReadOrRefusedAndNeverCrash) {
  const std::string bytes = model_of(small_model()).bytes();
  Splitmix64 draw(20261123);
  LoadOptions options;
  options.limits.max_folded_bytes = int64_t{1} << 24;
  for (int round = 0; round < 4000; ++round) {
    std::string altered = bytes;
    const int changes = 1 + static_cast<int>(draw.next() % 4);
    for (int i = 0; i < changes; ++i) {
      altered[draw.next() % altered.size()] = static_cast<char>(draw.next());
    }
    (void)load_memory(std::as_bytes(std::span(altered)), operators(), options);
  }
}

TEST(OnnxLoad, RefusesUndeclaredArguments) {
  GraphParts parts = small_model();
  parts.nodes[1] = node_of("Add", {"c", "k"}, {"a"}, {integer_attribute("axis", 1)});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kUnsupported, "attribute \"axis\"");
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kUnsupported, "(Add, opset 17)");
  parts.nodes[1] = node_of("Add", {"c", "k", "k"}, {"a"});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "3 inputs");
  parts.nodes[1] = node_of("Ad", {"c", "k"}, {"a"});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kUnsupported, "Did you mean \"Add\"?");
}

/// Return y = x[:, b:e]; if `rows` is not 0, y = x[:, b:e] @ w with a matrix w of `rows` rows.
GraphParts part_of_open_axis(int64_t begin, int64_t end, int64_t rows = 0) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, -1}, {"B", "S"})};
  parts.outputs = {value_info("y", {-1, -1})};
  parts.initializers = {
      tensor_of_integers("b", {1}, {begin}), tensor_of_integers("e", {1}, {end}),
      tensor_of_integers("a", {1}, {1}),
      tensor_of_floats("w", {rows, 2}, std::vector<float>(static_cast<size_t>(2 * rows), 0.5F))};
  parts.nodes = {node_of("Slice", {"x", "b", "e", "a"}, {rows > 0 ? "p" : "y"})};
  if (rows > 0) parts.nodes.push_back(node_of("MatMul", {"p", "w"}, {"y"}));
  return parts;
}

TEST(OnnxLoad, CutsElementsBeyondAnOpenAxis) {
  const auto shape = [](const GraphParts& parts) {
    const auto graph = loaded(model_of(parts));
    return graph.ok() ? graph->fact(graph->outputs[0]).to_string() : message_of(graph);
  };
  EXPECT_EQ(shape(part_of_open_axis(0, 70001)), "B,min(70001, S),F32");
  EXPECT_EQ(shape(part_of_open_axis(-70001, INT64_MAX)), "B,S-max(-70001+S, 0),F32");
  EXPECT_EQ(shape(part_of_open_axis(0, -3)), "B,-3+S,F32");
  // A slice of up to 4 frames has 4 if a matrix of 4 rows follows.
  EXPECT_EQ(shape(part_of_open_axis(0, 4, 4)), "B,2,F32");
  EXPECT_EQ(shape(part_of_open_axis(-4, INT64_MAX, 4)), "B,2,F32");
}

/// Return 100000 + (S + add) op by for S = `length`: a size that the model computes.
int64_t computed_frames(const char* op, int64_t add, int64_t by, int64_t length, bool of_dividend) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1}, {"S"})};
  parts.outputs = {value_info("y", {-1})};
  parts.initializers = {tensor_of_integers("c", {1}, {add}), tensor_of_integers("d", {1}, {by}),
                        tensor_of_integers("k", {1}, {100000}),
                        tensor_of_floats("one", {1}, {1.0F})};
  std::vector<Message> attributes;
  if (of_dividend) attributes.push_back(integer_attribute("fmod", 1));
  parts.nodes = {node_of("Shape", {"x"}, {"s"}), node_of("Add", {"s", "c"}, {"a"}),
                 node_of(op, {"a", "d"}, {"q"}, attributes), node_of("Add", {"q", "k"}, {"n"}),
                 node_of("Expand", {"one", "n"}, {"y"})};
  auto graph = loaded(model_of(parts));
  if (graph.ok()) graph = graph->with_symbol("S", Dim(length));
  if (!graph.ok()) return -1;
  return graph->fact(graph->outputs[0]).dim(0).to_int().value_or(-1);
}

TEST(OnnxLoad, QuotientsOfSizesAreRoundedTowardZero) {
  for (const int64_t add : {int64_t{-70001}, int64_t{-10}, int64_t{0}, int64_t{3}}) {
    for (const int64_t by : {int64_t{-1009}, int64_t{-4}, int64_t{4}, int64_t{1009}}) {
      for (const int64_t length : {int64_t{1}, int64_t{5}, int64_t{11}, int64_t{70003}}) {
        const int64_t a = length + add;
        EXPECT_EQ(computed_frames("Div", add, by, length, false), 100000 + a / by) << a << by;
        EXPECT_EQ(computed_frames("Mod", add, by, length, true), 100000 + a % by) << a << by;
      }
    }
  }
}

TEST(OnnxLoad, RefusesAttributesOfAnotherType) {
  GraphParts parts = small_model();
  parts.nodes[2] = node_of("LeakyRelu", {"a"}, {"y"}, {integer_attribute("alpha", 1)});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kDType,
                 "attribute \"alpha\": expected a float, found an integer");
}

TEST(OnnxLoad, RefusesCyclesAndValuesFromNowhere) {
  GraphParts parts = small_model();
  parts.nodes[1] = node_of("Add", {"y", "k"}, {"a"});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "\"a\" is computed from itself");
  parts.nodes[1] = node_of("Add", {"z", "k"}, {"a"});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "\"z\" is read, but nothing computes it");
  parts = small_model();
  parts.nodes.push_back(node_of("Neg", {"x"}, {"a"}));
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "computed twice");
}

TEST(OnnxLoad, NodesMayStandInAnyOrderAndBeReadByGraphsBeforeThem) {
  GraphParts parts = small_model();
  const auto in_order = loaded(model_of(parts));
  std::reverse(parts.nodes.begin(), parts.nodes.end());
  const auto reversed = loaded(model_of(parts));
  ASSERT_TRUE(reversed.ok()) << message_of(reversed);
  EXPECT_EQ(reversed->fact(reversed->outputs[0]).to_string(),
            in_order->fact(in_order->outputs[0]).to_string());
  GraphParts then;
  then.nodes = {node_of("Neg", {"late"}, {"t"})};
  then.outputs = {value_info("t", {2})};
  GraphParts otherwise;
  otherwise.nodes = {node_of("Abs", {"late"}, {"e"})};
  otherwise.outputs = {value_info("e", {2})};
  GraphParts choice;
  choice.inputs = {value_info("x", {2}), value_info("positive", {}, {}, 9)};
  choice.outputs = {value_info("y", {2})};
  choice.nodes = {node_of("Relu", {"z"}, {"y"}),
                  node_of("If", {"positive"}, {"z"},
                          {message_attribute("then_branch", graph_of(then), 5),
                           message_attribute("else_branch", graph_of(otherwise), 5)}),
                  node_of("Exp", {"x"}, {"late"})};
  const auto chosen = loaded(model_of(choice));
  EXPECT_TRUE(chosen.ok()) << message_of(chosen);
}

TEST(OnnxLoad, ASqueezeWithoutAxesHasTheRankThatTheFileStates) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 1, 3}, {"batch"})};
  parts.nodes = {node_of("ReduceSum", {"x", "last"}, {"s"}), node_of("Squeeze", {"s"}, {"q"}),
                 node_of("Sigmoid", {"q"}, {"y"})};
  parts.initializers = {tensor_of_integers("last", {1}, {2})};
  const auto fact_of = [&](const std::vector<int64_t>& stated) {
    parts.outputs = {value_info("y", stated)};
    const auto graph = loaded(model_of(parts, 13));
    return graph.ok() ? graph->fact(graph->outputs[0]).to_string() : message_of(graph);
  };
  EXPECT_EQ(fact_of({}), ",F32");
  EXPECT_EQ(fact_of({-1}), "batch,F32");
  EXPECT_NE(fact_of({1, 1, 1}).find("those of extent 1 are removed"), std::string::npos);
}

TEST(OnnxLoad, ABillionIsBeyondEveryAxis) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 8}, {"batch"})};
  parts.outputs = {value_info("y", {-1, 8})};
  parts.initializers = {tensor_of_integers("b", {2}, {0, 2}),
                        tensor_of_integers("e", {2}, {1000000000, 1000000000})};
  parts.nodes = {node_of("Slice", {"x", "b", "e"}, {"y"})};
  const auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->fact(graph->outputs[0]).to_string(), "batch,6,F32");
}

TEST(OnnxLoad, PadsMayBeComputedFromSizes) {
  // At least 16 samples: missing ones are appended.
  GraphParts parts;
  parts.inputs = {value_info("x", {-1}, {"samples"})};
  parts.outputs = {value_info("y", {-1})};
  parts.initializers = {tensor_of_integers("least", {1}, {16}),
                        tensor_of_integers("zero", {1}, {0})};
  parts.nodes = {node_of("Shape", {"x"}, {"size"}), node_of("Sub", {"least", "size"}, {"short"}),
                 node_of("Max", {"short", "zero"}, {"more"}),
                 node_of("Concat", {"zero", "more"}, {"pads"}, {integer_attribute("axis", 0)}),
                 node_of("Pad", {"x", "pads"}, {"y"})};
  const auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  for (const int64_t samples : {3, 16, 40}) {
    auto bound = *graph;
    const Dim size = bound.fact(bound.outputs[0]).dim(0).substitute("samples", Dim(samples));
    EXPECT_EQ(size.to_int(), std::max<int64_t>(16, samples));
  }
  // Without the lower limit, the amount becomes negative and cuts, so that 16 samples are left.
  parts.nodes[2] = node_of("Identity", {"short"}, {"more"});
  const auto cut = loaded(model_of(parts));
  ASSERT_TRUE(cut.ok()) << message_of(cut);
  for (const int64_t samples : {3, 16, 40}) {
    const Dim size = cut->fact(cut->outputs[0]).dim(0).substitute("samples", Dim(samples));
    EXPECT_EQ(size.to_int(), 16);
  }
}

TEST(OnnxLoad, RefusesConstantsThatDoNotFitTheirShape) {
  GraphParts parts = small_model();
  parts.initializers[1] = tensor_of_floats("k", {3}, {0.25F});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "1 element, expected 3");
  // A large size in a few bytes allocates nothing.
  parts.initializers[1] = tensor_of_floats("k", {int64_t{1} << 40, 1 << 10}, {0.25F});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "\"k\"");
  parts.initializers[1] = tensor_of_floats("k", {int64_t{1} << 62, 1 << 10}, {0.25F});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "\"k\"");
  parts.initializers[1] = tensor_of_floats("k", {-1}, {0.25F});
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kParse, "\"k\"");
  Message odd;
  odd.integer(1, 1).integer(2, 17).text(8, "k").text(9, "x");
  parts.initializers[1] = odd;
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kUnsupported, "float8e4m3fn");
}

TEST(OnnxLoad, WrongShapesAreReportedAndOverruled) {
  GraphParts parts = small_model();
  parts.value_info = {value_info("c", {1, 7, 9})};
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warn = [](void* user, std::string_view text) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text);
  };
  options.warn_user = &warnings;
  const auto graph = loaded(model_of(parts), options);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->fact(graph->outputs[0]).to_string(), "B,4,x_2,F32");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("\"c\" as 1,7,9"), std::string::npos) << warnings[0];
}

TEST(OnnxLoad, BranchesAreDecidedByConstantsThatTakeThePlaceOfInputs) {
  GraphParts then;
  then.nodes = {node_of("Neg", {"x"}, {"t"})};
  then.outputs = {value_info("t", {2})};
  GraphParts otherwise;
  otherwise.nodes = {node_of("Unsqueeze", {"x", "zero"}, {"e"})};
  otherwise.outputs = {value_info("e", {1, 2})};
  GraphParts parts;
  parts.inputs = {value_info("x", {2}), value_info("rate", {}, {}, 7)};
  parts.outputs = {value_info("y", {})};
  parts.initializers = {tensor_of_integers("fast", {}, {16000}),
                        tensor_of_integers("zero", {1}, {0})};
  parts.nodes = {node_of("Equal", {"rate", "fast"}, {"is_fast"}),
                 node_of("If", {"is_fast"}, {"y"},
                         {message_attribute("then_branch", graph_of(then), 5),
                          message_attribute("else_branch", graph_of(otherwise), 5)})};
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kUnsupported, "--constantize");
  for (const int64_t rate : {16000, 8000}) {
    const std::vector<std::pair<std::string, TensorPtr>> constants = {
        {"rate", std::make_shared<const Tensor>(Tensor::scalar(rate))}};
    LoadOptions options;
    options.constants = constants;
    const auto graph = loaded(model_of(parts), options);
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    EXPECT_EQ(graph->inputs.size(), 1U);
    EXPECT_EQ(graph->fact(graph->outputs[0]).to_string(), rate == 16000 ? "2,F32" : "1,2,F32");
  }
}

TEST(OnnxLoad, ValuesAreGivenForInputsAlone) {
  const std::vector<std::pair<std::string, TensorPtr>> constants = {
      {"rate", std::make_shared<const Tensor>(Tensor::scalar(int64_t{8000}))}};
  LoadOptions options;
  options.constants = constants;
  EXPECT_REFUSED(loaded(model_of(small_model()), options), Code::kArg, "Inputs: x");
}

TEST(OnnxLoad, AnInputWithAnInitialiserHasItsValueUnlessAnotherIsGiven) {
  GraphParts parts = small_model();
  parts.inputs.push_back(value_info("k", {1}));
  const auto added = [](const Result<Graph>& graph) {
    for (const Node& node : graph->nodes) {
      if (node.name.starts_with("k")) return node.outputs[0].konst->values<float>()[0];
    }
    return -1.0F;
  };
  const auto usual = loaded(model_of(parts));
  ASSERT_TRUE(usual.ok()) << message_of(usual);
  EXPECT_EQ(usual->inputs.size(), 1U);
  EXPECT_EQ(added(usual), 0.25F);
  const std::vector<std::pair<std::string, TensorPtr>> constants = {
      {"k", std::make_shared<const Tensor>(Tensor::scalar(3.0F))}};
  LoadOptions options;
  options.constants = constants;
  const auto given = loaded(model_of(parts), options);
  ASSERT_TRUE(given.ok()) << message_of(given);
  EXPECT_EQ(added(given), 3.0F);
}

TEST(OnnxLoad, FunctionsOfTheFileAreTheirNodes) {
  GraphParts parts;
  parts.inputs = {value_info("x", {2})};
  parts.outputs = {value_info("y", {2})};
  Message call = node_of("twice", {"x"}, {"y"}, {float_attribute("slope", 0.5F)});
  call.text(7, "own");
  parts.nodes = {call};
  Message inner = node_of("LeakyRelu", {"a"}, {"b"});
  inner.message(5, Message().text(1, "alpha").text(21, "slope").integer(20, 1));
  const Message function = Message()
                               .text(1, "twice")
                               .text(4, "a")
                               .text(5, "c")
                               .text(6, "slope")
                               .message(7, inner)
                               .message(7, node_of("Add", {"b", "b"}, {"c"}))
                               .message(9, Message().integer(2, 17))
                               .text(10, "own");
  Message model = model_of(parts);
  model.message(25, function);
  const auto graph = loaded(model);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->fact(graph->outputs[0]).to_string(), "2,F32");
}

TEST(OnnxLoad, GraphsInGraphsEndSomewhere) {
  GraphParts parts;
  parts.nodes = {node_of("Constant", {}, {"c0"},
                         {message_attribute("value", tensor_of_floats("", {1}, {1.0F}), 4)})};
  parts.outputs = {value_info("c0", {1})};
  for (int depth = 1; depth < 40; ++depth) {
    GraphParts around;
    const std::string name = "c" + std::to_string(depth);
    around.nodes = {node_of("If", {"true"}, {name},
                            {message_attribute("then_branch", graph_of(parts), 5),
                             message_attribute("else_branch", graph_of(parts), 5)})};
    around.outputs = {value_info(name, {1})};
    if (depth > 13) break;
    parts = around;
  }
  Message truth;
  truth.integer(2, 9).text(8, "true").integer(5, 1);
  parts.initializers = {truth};
  EXPECT_REFUSED(loaded(model_of(parts)), Code::kUnsupported, "nested over 12 deep");
}

TEST(OnnxLoad, OldAndUnknownVersionsAreRefused) {
  const Message old = Message().integer(1, 2).message(7, graph_of(small_model()));
  EXPECT_REFUSED(loaded(old), Code::kUnsupported, "IR version 2");
  const Message none = Message().integer(1, 8).message(7, graph_of(small_model()));
  EXPECT_REFUSED(loaded(none), Code::kParse, "no opset of the domain");
}

/// A temporary folder, with weights in it and next to it.
class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            ("rill_onnx_" + std::to_string(getpid()) + "_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(root_ / "model" / "inner");
    write(root_ / "model" / "weights.bin");
    write(root_ / "model" / "inner" / "weights.bin");
    write(root_ / "secret.bin");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static void write(const std::filesystem::path& path) {
    const float values[] = {0.0F, 0.25F};
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
  }
  Result<Graph> load_with(const std::string& location, const std::string& offset = "4") {
    GraphParts parts = small_model();
    const auto entry = [](std::string_view key, std::string_view value) {
      return Message().text(1, key).text(2, value);
    };
    Message tensor;
    tensor.integer(1, 1).integer(2, 1).text(8, "k").integer(14, 1);
    tensor.message(13, entry("location", location)).message(13, entry("offset", offset));
    parts.initializers[1] = tensor;
    const std::string path = root_ / "model" / "model.onnx";
    std::ofstream(path, std::ios::binary) << model_of(parts).bytes();
    return load(path, operators(), {});
  }
  std::filesystem::path root_;
};

TEST_F(ExternalData, IsReadFromTheFolderOfTheModel) {
  for (const char* location : {"weights.bin", "inner/weights.bin", "./weights.bin"}) {
    const auto graph = load_with(location);
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    bool found = false;
    for (const Node& node : graph->nodes) {
      const TensorPtr& value = node.outputs[0].konst;
      found |= value && value->volume() == 1 && value->dtype() == DType::kF32 &&
               value->values<float>()[0] == 0.25F;
    }
    EXPECT_TRUE(found);
  }
}

// Mapping and reading a file give the same tensors, for all offsets and types.
TEST_F(ExternalData, LargeTensorsStayInTheFile) {
  std::vector<float> values(70000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 33.25F;
  const auto file = root_ / "model" / "large.bin";
  const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), bytes);
  constexpr int64_t kFloat = 1;
  constexpr int64_t kBool = 9;
  for (const int64_t type : {kFloat, kBool}) {
    for (const int64_t offset : {0, 64, 4096, 4, 100}) {
      const auto entry = [](std::string_view key, std::string_view value) {
        return Message().text(1, key).text(2, value);
      };
      Message tensor;
      tensor.integer(1, 4).integer(1, 16384).integer(2, type).text(8, "k").integer(14, 1);
      tensor.message(13, entry("location", "large.bin"));
      tensor.message(13, entry("offset", std::to_string(offset)));
      GraphParts parts;
      parts.inputs = {value_info("x", {4, 16384})};
      parts.outputs = {value_info("y", {4, 16384})};
      parts.initializers = {tensor};
      parts.nodes = {node_of("Cast", {"k"}, {"f"}, {integer_attribute("to", 1)}),
                     node_of("Add", {"x", "f"}, {"y"}, {})};
      const std::string path = root_ / "model" / "model.onnx";
      std::ofstream(path, std::ios::binary) << model_of(parts).bytes();
      const auto value_in = [&](bool map_files) {
        LoadOptions options;
        options.map_files = map_files;
        const auto graph = load(path, operators(), options);
        EXPECT_TRUE(graph.ok()) << message_of(graph);
        for (const Node& node : graph.ok() ? graph->nodes : std::vector<Node>()) {
          const TensorPtr& value = node.outputs[0].konst;
          if (value && value->volume() == 65536 && value->dtype() == DType::kF32) return value;
        }
        return TensorPtr();
      };
      const TensorPtr mapped = value_in(true);
      const TensorPtr copied = value_in(false);
      ASSERT_TRUE(mapped && copied) << type << " " << offset;
      EXPECT_TRUE(mapped->same_bits(*copied)) << type << " " << offset;
      mapped->drop_pages();
      if (type == kFloat) {
        EXPECT_EQ(std::memcmp(mapped->raw(), values.data() + offset / 4, 65536 * 4), 0) << offset;
      }
    }
  }
  std::filesystem::resize_file(file, 65535);
  for (const bool map_files : {true, false}) {
    LoadOptions options;
    options.map_files = map_files;
    EXPECT_REFUSED(load(root_ / "model" / "model.onnx", operators(), options), Code::kIo,
                   "65535 bytes, expected 65536 from byte 100");
  }
}

TEST_F(ExternalData, OutsideOfTheFolderIsRefused) {
  EXPECT_REFUSED(load_with("../secret.bin"), Code::kIo, "outside");
  EXPECT_REFUSED(load_with("inner/../../secret.bin"), Code::kIo, "outside");
  EXPECT_REFUSED(load_with((root_ / "secret.bin").string()), Code::kIo, "outside");
  std::filesystem::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  EXPECT_REFUSED(load_with("link.bin"), Code::kIo, "outside");
  std::filesystem::create_directory_symlink(root_, root_ / "model" / "up");
  EXPECT_REFUSED(load_with("up/secret.bin"), Code::kIo, "outside");
}

TEST_F(ExternalData, ThatIsMissingOrShortIsReportedByItsName) {
  EXPECT_REFUSED(load_with("missing.bin"), Code::kIo, "missing.bin");
  EXPECT_REFUSED(load_with("weights.bin", "6"), Code::kIo, "8 bytes, expected 4 from byte 6");
  EXPECT_REFUSED(load_with("weights.bin", "x"), Code::kParse, "offset is \"x\"");
  EXPECT_REFUSED(load_with("weights.bin", "9223372036854775807"), Code::kIo, "weights.bin");
  EXPECT_REFUSED(load_with("inner"), Code::kIo, "inner");
}

}  // namespace
}  // namespace rill::onnx
