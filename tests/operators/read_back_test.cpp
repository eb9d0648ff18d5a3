// Written models read back node by node, and stream as before: every case of the property tests,
// both original and pulsed.

#include <gtest/gtest.h>

#include "core/graph/same.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/math/binary.h"
#include "ops/op_table.h"
#include "tests/operators/case.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

/// Return the graph as a reader gets it; fail the test if it differs. A refusal of an operator
/// without an NNEF form is not a failure.
Result<Graph> read_back(const Graph& graph) {
  nnef::SaveOptions options;
  options.read_back = ops::op_table();
  auto again = nnef::read_back(graph, options);
  if (again.ok() || again.error().message == "no NNEF form for this operator") return again;
  const auto text = nnef::graph_text(graph);
  ADD_FAILURE() << again.error().to_string() << "\n" << (text.ok() ? *text : "no text");
  return again;
}

bool is_read_back(const Graph& graph) {
  const auto again = read_back(graph);
  return again.ok() || again.error().code == Code::kUnsupported;
}

struct CaseName {
  std::string operator()(const ::testing::TestParamInfo<Case>& info) const {
    return info.param.name;
  }
};

class ReadBackProperties : public ::testing::TestWithParam<Case> {};

TEST_P(ReadBackProperties, AGraphIsTheSameNodeByNode) {
  const auto graph = load_case(GetParam());
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_TRUE(is_read_back(*graph));
  const auto simple = declutter(*graph);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  EXPECT_TRUE(is_read_back(*simple));
}

TEST_P(ReadBackProperties, APulsedGraphStreamsAsBefore) {
  const auto graph = load_case(GetParam());
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  for (const int64_t pulse : GetParam().pulses) {
    auto streamed = StreamedRun::make(*graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    auto again = read_back(streamed->graph());
    if (!again.ok()) continue;
    // Every reader simplifies the model after loading.
    auto simple = declutter(*again);
    ASSERT_TRUE(simple.ok()) << simple.error().to_string();
    auto reloaded = streamed->through(*std::move(simple));
    ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string();
    for (const int64_t length : GetParam().lengths) {
      const auto inputs = case_inputs(GetParam(), *graph, {{"S", length}}, 7);
      ASSERT_TRUE(inputs.ok()) << inputs.error().to_string();
      const auto expected = streamed->run(*inputs, length);
      const auto found = reloaded->run(*inputs, length);
      ASSERT_TRUE(expected.ok() && found.ok());
      for (size_t i = 0; i < expected->size(); ++i) {
        EXPECT_TRUE((*found)[i].same_bits((*expected)[i]))
            << "pulse " << pulse << ", S = " << length << ", output " << i << "\n"
            << GetParam().text();
      }
    }
  }
}

/// Replace S in every attribute by expressions without an NNEF form.
TEST_P(ReadBackProperties, AttributesOfPulsedGraphsHoldAnyLength) {
  const auto graph = load_case(GetParam());
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  std::vector<Graph> pulsed;
  if (GetParam().pulsed) pulsed.push_back(*graph);
  for (const int64_t pulse : GetParam().pulses) {
    auto streamed = StreamedRun::make(*graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    pulsed.push_back(streamed->graph());
  }
  const Dim s = Dim::symbol("S");
  const Dim lengths[] = {s + ge(s, Dim(3)), broadcast(s + Dim(1), Dim(2) * s - Dim(3)),
                         s * eq(s, Dim(4)), floor_div(broadcast(s, s + Dim(2)) + Dim(1), 2)};
  for (const Graph& each : pulsed) {
    for (const Dim& length : lengths) {
      auto other = each.with_symbol("S", length);
      // Some lengths do not fit a graph.
      if (!other.ok()) continue;
      other->scope.declare("S");
      EXPECT_TRUE(is_read_back(*other)) << str_cat(length, "\n") << GetParam().text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ReadBackProperties, ::testing::ValuesIn(all_cases()), CaseName());

/// The streams of these graphs end at positions without an NNEF expression.
TEST(ReadBack, EndsThatHoldBroadcastsAndComparisons) {
  const char* bodies[] = {
      "y = pad(slice(x, axes = [2], begin = [1], end = [-1]) + slice(x, axes = [2], begin = [2], "
      "end = [0]), padding = [(0,0), (0,0), (1,1)], border = 'constant', value = 0.5);",
      "y = pad(slice(x, axes = [2], begin = [1], end = [-1]) + slice(x, axes = [2], begin = [2], "
      "end = [0]), padding = [(0,0), (0,0), (2,3)], border = 'replicate');",
  };
  for (const char* body : bodies) {
    const auto graph = load_text(document("1, 1, S", str_cat("  ", body, "\n")));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    const auto simple = declutter(*graph);
    ASSERT_TRUE(simple.ok());
    auto streamed = StreamedRun::make(*simple, 1);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    auto again = read_back(streamed->graph());
    ASSERT_TRUE(again.ok());
    auto reloaded = streamed->through(*std::move(again));
    ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string();
    for (const int64_t length : {4, 5, 9, 30}) {
      EXPECT_EQ(stream_problem(*graph, &*reloaded, length), "") << "S = " << length;
    }
  }
}

/// Quantization uses kMaxNumber and kMinNumber with a constant operand. They are written as
/// selections.
TEST(ReadBack, MaximaAndMinimaOfBothKinds) {
  using ops::BinaryKind;
  for (const DType type : {DType::kF32, DType::kF16}) {
    for (const BinaryKind kind : {BinaryKind::kMax, BinaryKind::kMin, BinaryKind::kMaxNumber,
                                  BinaryKind::kMinNumber}) {
      for (const int constant : {-1, 0, 1}) {
        const bool number = kind == BinaryKind::kMaxNumber || kind == BinaryKind::kMinNumber;
        if (number && constant != 1) continue;
        for (const bool scalar : {false, true}) {
          std::vector<Dim> shape;
          if (!scalar) shape = {Dim::symbol("S")};
          Graph graph;
          graph.scope.declare("S");
          OutletId wires[2];
          for (int i = 0; i < 2; ++i) {
            wires[i] = graph.add_source(i == 0 ? "x" : "w", Fact::of(type, shape));
          }
          if (constant >= 0) {
            Tensor limit = Tensor::zeros(type, std::vector<int64_t>(shape.size(), 1)).value();
            wires[constant] = graph.add_const("c", std::make_shared<const Tensor>(limit));
          }
          const auto y = graph.add("y", make_op<ops::Binary>(kind), {wires[0], wires[1]});
          ASSERT_TRUE(y.ok()) << y.error().to_string();
          graph.add_output("y", (*y)[0]);
          EXPECT_TRUE(is_read_back(graph)) << "constant " << constant;
        }
      }
    }
  }
}

/// A differing attribute is found, and reported with its node.
TEST(ReadBack, ANodeThatDiffersIsNamed) {
  const auto graph = [](const char* statement) {
    return load_text(document("1, 2, S", statement)).value();
  };
  const Graph pads = graph("  y = pad(x, padding = [(0,0), (0,0), (1,1)], value = 0.5);\n");
  EXPECT_TRUE(expect_same(pads, pads).ok());
  const struct {
    const char* other;
    const char* what;
  } cases[] = {
      {"  y = pad(x, padding = [(0,0), (0,0), (1,2)], value = 0.5);\n", "attribute \"pads\""},
      {"  y = pad(x, padding = [(0,0), (0,0), (1,1)], value = 0.25);\n", "attribute \"value\""},
      {"  y = relu(x);\n", "operator"},
      {"  y = pad(relu(x), padding = [(0,0), (0,0), (1,1)], value = 0.5);\n", "operator"},
      {"  z = pad(x, padding = [(0,0), (0,0), (1,1)], value = 0.5); y = [1.0, 2.0];\n", "wire"},
  };
  for (const auto& each : cases) {
    const Status status = expect_same(pads, graph(each.other));
    ASSERT_FALSE(status.ok()) << each.other;
    EXPECT_NE(status.error().message.find(each.what), std::string::npos)
        << status.error().to_string();
    EXPECT_FALSE(status.error().node.empty()) << status.error().to_string();
  }
}

}  // namespace
}  // namespace rill::test
