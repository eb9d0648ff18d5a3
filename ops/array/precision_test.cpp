#include "core/optim/precision.h"

#include <limits>

#include "ops/math/test_support.h"

namespace rill::ops {
namespace {

using test::graph_of;
using test::typed;

DType type_of(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return node.outputs[0].dtype;
  }
  ADD_FAILURE() << "no node " << name;
  return DType::kBool;
}

std::vector<double> run(const Graph& graph, const std::vector<double>& x) {
  const auto out =
      test::run(graph, {typed(DType::kF16, {1, static_cast<int64_t>(x.size())}, x)});
  EXPECT_TRUE(out.ok()) << out.error().to_string();
  std::vector<double> values;
  for (int64_t i = 0; out.ok() && i < (*out)[0].volume(); ++i) {
    values.push_back(*element_as_double((*out)[0], i));
  }
  return values;
}

// By hand: the squares of 300 and 400 exceed 65504; the root of their sum is 500.
TEST(Precision, SquaresMayExceedF16) {
  const Graph graph =
      graph_of({{"x", "1, 2", "f16"}}, "y = l2_normalization(x, axes = [1], epsilon = 1e-6);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).dtype, DType::kF16);
  const std::vector<double> unit = run(graph, {300, 400});
  EXPECT_NEAR(unit[0], 0.6, 3e-4);
  EXPECT_NEAR(unit[1], 0.8, 3e-4);
}

// By hand: f16 rounds 1e-8 to 0, and 0 / 0 is NaN.
TEST(Precision, LiteralsOutOfRangeOfF16AreNotRounded) {
  EXPECT_EQ(run(graph_of({{"x", "1, 2", "f16"}}, "y = x / (x + 1e-8);"), {0, 2}),
            (std::vector<double>{0, 1}));
  EXPECT_EQ(run(graph_of({{"x", "1, 2", "f16"}}, "y = (x * 70000.0) / 35000.0;"), {1, 3}),
            (std::vector<double>{2, 6}));
  EXPECT_EQ(run(graph_of({{"x", "1, 1", "f16"}},
                         "y = select(x < 1e-8, tract_core_cast(1.0, to = 'f16'), x);"),
                {0}),
            std::vector<double>{1});
}

TEST(Precision, OperatorsByThemselvesStayNarrow) {
  const Graph graph =
      graph_of({{"x", "1, 4", "f16"}}, "e = exp(x); y = transpose(e, axes = [1, 0]);");
  EXPECT_EQ(type_of(graph, "e"), DType::kF16);
  EXPECT_EQ(type_of(graph, "y"), DType::kF16);
}

// An operator that only moves elements does not round. It belongs to a chain inside the chain, but
// not at its ends.
TEST(Precision, MovesBelongToChainsBetweenOperatorsOnly) {
  const Graph graph = graph_of({{"x", "1, 4", "f16"}},
                               "a = transpose(x, axes = [1, 0]); b = a * a;"
                               "c = transpose(b, axes = [1, 0]); d = sqrt(c);"
                               "y = transpose(d, axes = [1, 0]);");
  EXPECT_EQ(type_of(graph, "a"), DType::kF16);
  for (const char* name : {"b", "c", "d"}) EXPECT_EQ(type_of(graph, name), DType::kF32) << name;
  EXPECT_EQ(type_of(graph, "y"), DType::kF16);
}

TEST(Precision, ChainsEndBeforeProducts) {
  const Graph graph = graph_of({{"x", "1, 4", "f16"}},
                               "n = x * rsqrt(mean_reduce(x * x, axes = [1]) + 1e-5);"
                               "w = tract_core_cast([[1.0], [2.0], [3.0], [4.0]], to = 'f16');"
                               "y = matmul(n, w);");
  EXPECT_EQ(type_of(graph, "n"), DType::kF32);
  EXPECT_EQ(type_of(graph, "y"), DType::kF16);
}

// A cast that a file contains rounds, even inside a chain.
TEST(Precision, CastsOfTheFileRound) {
  const Graph graph =
      graph_of({{"x", "1, 2", "f32"}}, "y = sqrt(sqr(tract_core_cast(sqr(x), to = 'f16')));");
  const auto out = test::run(graph, {test::f32({1, 2}, {300, 3})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  EXPECT_EQ(*element_as_double((*out)[0], 0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(*element_as_double((*out)[0], 1), 9);
}

TEST(Precision, NotesNameTheConstantsThatAreOutOfRange) {
  const Graph graph = graph_of({{"x", "1, 2"}}, "y = matmul(x, [[70000.0], [1.0]]);");
  const Chains chains = chains_of(graph, DType::kF16);
  ASSERT_EQ(chains.notes.size(), 1U);
  EXPECT_NE(chains.notes[0].find("\"y\" stays in f32: f16 cannot hold 70000"), std::string::npos)
      << chains.notes[0];
}

// By IEEE 754: the largest f16 is 65504 (65520 rounds to infinity), and f16 has full precision from
// 2^-14.
TEST(Precision, ConstantsFitIfTheirBitsSurvive) {
  const auto weights = test::f32({2}, {1e-8F, 1.0F});
  EXPECT_TRUE(fits(weights, DType::kF16, Fit::kLargestElement));
  EXPECT_FALSE(fits(weights, DType::kF16, Fit::kEveryElement));
  EXPECT_TRUE(fits(weights, DType::kBF16, Fit::kEveryElement));
  EXPECT_FALSE(fits(test::f32({2}, {1e-8F, 1e-6F}), DType::kF16, Fit::kLargestElement));
  EXPECT_TRUE(fits(test::f32({2}, {65519.0F, 0x1p-24F}), DType::kF16, Fit::kEveryElement));
  EXPECT_FALSE(fits(test::f32({1}, {-65520.0F}), DType::kF16, Fit::kLargestElement));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(fits(test::f32({2}, {-kInf, 0.0F}), DType::kF16, Fit::kEveryElement));
}

}  // namespace
}  // namespace rill::ops
