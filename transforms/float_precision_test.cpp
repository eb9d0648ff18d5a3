#include "transforms/float_precision.h"

#include <cmath>
#include <limits>

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::transforms {
namespace {

using ops::test::graph_of;
using ops::test::run;
using ops::test::typed;

constexpr float kInf = std::numeric_limits<float>::infinity();

/// ((x + x) * 1) ** 10 - inf: for x = 5 the power is 1e10, beyond half precision.
Graph overflowing() {
  return graph_of({{"x", "1"}},
                  "layer0_add = x + x; layer0_mul = layer0_add * 1.0;"
                  "layer1_pow = layer0_mul ^ 10.0; layer1_low = layer1_pow + (-inf);",
                  "layer1_low");
}

float result_at_five(const Graph& graph, DType type) {
  const auto simple = declutter(graph);
  EXPECT_TRUE(simple.ok());
  const auto out = run(*simple, {typed(type, {1}, {5})});
  EXPECT_TRUE(out.ok()) << out.error().to_string();
  EXPECT_EQ((*out)[0].dtype(), type);
  return static_cast<float>(*element_as_double((*out)[0], 0));
}

// By IEEE 754: 1e10 - inf = -inf; in half precision 1e10 is inf, and inf - inf is NaN.
TEST(FloatPrecision, HalvesOverflowWhereFloatsDoNot) {
  EXPECT_EQ(result_at_five(overflowing(), DType::kF32), -kInf);
  const auto half = with_float_type(overflowing(), DType::kF32, DType::kF16);
  ASSERT_TRUE(half.ok()) << half.error().to_string();
  EXPECT_TRUE(std::isnan(result_at_five(*half, DType::kF16)));
}

TEST(FloatPrecision, NodesThatTheFilterLeavesOutKeepTheirType) {
  const auto half =
      with_float_type(overflowing(), DType::kF32, DType::kF16, filter_from_text("!=layer1"));
  ASSERT_TRUE(half.ok()) << half.error().to_string();
  EXPECT_EQ(result_at_five(*half, DType::kF16), -kInf);
  NodeFilter layer1;
  layer1.include = {{"layer1"}};
  const auto other = with_float_type(overflowing(), DType::kF32, DType::kF16, layer1);
  ASSERT_TRUE(other.ok()) << other.error().to_string();
  EXPECT_TRUE(std::isnan(result_at_five(*other, DType::kF16)));
}

TEST(FloatPrecision, BackToFloatsGivesTheFactsOfTheFirstGraph) {
  const auto half = with_float_type(overflowing(), DType::kF32, DType::kF16);
  ASSERT_TRUE(half.ok());
  const auto again = with_float_type(*half, DType::kF16, DType::kF32);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->fact(again->inputs[0]).to_string(), "1,F32");
  EXPECT_EQ(result_at_five(*again, DType::kF32), -kInf);
}

TEST(FloatPrecision, CastsAndOtherTypesKeepTheirMeaning) {
  const Graph graph = graph_of({{"x", "3"}, {"k", "3", "i64"}},
                               "f = tract_core_cast(k, to = 'f32'); y = x * f;"
                               "z = tract_core_cast(y, to = 'i64');",
                               "y, z");
  const auto half = with_float_type(graph, DType::kF32, DType::kF16);
  ASSERT_TRUE(half.ok()) << half.error().to_string();
  EXPECT_EQ(half->fact(half->outputs[0]).to_string(), "3,F16");
  EXPECT_EQ(half->fact(half->outputs[1]).to_string(), "3,I64");
  const auto out =
      run(*half, {typed(DType::kF16, {3}, {0.5, 2, -3}), typed(DType::kI64, {3}, {4, 5, 6})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], typed(DType::kF16, {3}, {2, 10, -18}));
  ops::test::expect_same((*out)[1], typed(DType::kI64, {3}, {2, 10, -18}));
}

// By hand: the squares of 300 are beyond f16, and 1e-8, 1e-10 and 70000 round to 0 and infinity.
TEST(FloatPrecision, NormsAndConstantsThatHalvesCannotHoldStayFloats) {
  struct {
    const char* text;
    std::vector<double> expected;
  } const cases[] = {
      {"y = x * rsqrt(mean_reduce(sqr(x), axes = [1]) + 1e-5);", {1, -1}},
      {"y = x / (x + 1e-8) - 1.0;", {0, 0}},
      {"y = log(max(x - x, 1e-10)) + 23.0;", {-0.02585, -0.02585}},
      {"y = matmul(x, [[70000.0, 0.0], [69999.0, 1.0]]) / 100.0;", {3, -3}},
      {"y = mean_reduce(tract_core_broadcast(x, shape = [999, 2]), axes = [0]);", {300, -300}},
  };
  for (const auto& [text, expected] : cases) {
    std::vector<std::string> notes;
    const auto half = with_float_type(graph_of({{"x", "1, 2"}}, text), DType::kF32, DType::kF16,
                                      {}, &notes);
    ASSERT_TRUE(half.ok()) << half.error().to_string();
    const auto out = run(*half, {typed(DType::kF16, {1, 2}, {300, -300})});
    ASSERT_TRUE(out.ok()) << out.error().to_string();
    for (size_t i = 0; i < 2; ++i) {
      const double found = *element_as_double((*out)[0], static_cast<int64_t>(i));
      EXPECT_NEAR(found, expected[i], 1e-3 * std::abs(expected[i]) + 1e-4) << text;
    }
    const bool named = std::string_view(text).find("70000") != std::string_view::npos;
    if (named) {
      ASSERT_EQ(notes.size(), 1U);
      EXPECT_NE(notes[0].find("cannot hold 70000"), std::string::npos) << notes[0];
    }
  }
}

TEST(FloatPrecision, BodiesOfLoopsAreConverted) {
  // A running sum: exact in half precision for small integers.
  const auto loaded = ops::test::load_text(
      "version 1.0; extension tract_registry tract_core;\n"
      "fragment step(x: tensor<scalar>, s: tensor<scalar>)"
      " -> (y: tensor<scalar>) { y = s + x; }\n"
      "graph g(x) -> (y) { x = external(shape = [1, 4]); zero = [[0.0]];\n"
      "y = tract_core_scan(body = \"step\", scan = [(\"x\", x, 1, 1)], full = [],"
      " state = [(\"s\", zero, \"y\")], output = [(\"y\", \"full\", 1, 1)]); }");
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const auto half = with_float_type(*loaded, DType::kF32, DType::kF16);
  ASSERT_TRUE(half.ok()) << half.error().to_string();
  const auto out = run(*half, {typed(DType::kF16, {1, 4}, {1, 2, 3, 4})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], typed(DType::kF16, {1, 4}, {1, 3, 6, 10}));
}

// h = tanh(0.7 x + 0.3 h) with the halves nearest to both: steps that rounded to f16 would drift.
TEST(FloatPrecision, RecurrentLayersStayFloats) {
  const auto loaded = ops::test::load_text(
      "version 1.0; extension tract_registry tract_core;\n"
      "fragment step(x: tensor<scalar>, h: tensor<scalar>, w: tensor<scalar>)"
      " -> (y: tensor<scalar>) { y = tanh(x + matmul(h, w, transposeB = true)); }\n"
      "graph g(x) -> (y) { x = external(shape = [1, 6]); zero = [[0.0]]; w = [[0.3]];\n"
      "y = tract_core_scan(body = \"step\", scan = [(\"x\", x * 0.7, 1, 1)], full = [(\"w\", w)],"
      " state = [(\"h\", zero, \"y\")], output = [(\"y\", \"full\", 1, 1)]); }");
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const auto half = with_float_type(*loaded, DType::kF32, DType::kF16);
  ASSERT_TRUE(half.ok()) << half.error().to_string();
  const std::vector<double> x = {1, -0.5, 0.25, 2, -1, 0.75};
  std::vector<double> want;
  double h = 0;
  for (const double each : x) {
    h = std::tanh(0.7001953125 * each + 0.300048828125 * h);
    want.push_back(h);
  }
  const auto out = run(*half, {typed(DType::kF16, {1, 6}, x)});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], typed(DType::kF16, {1, 6}, want));
}

// y = 1.7 h + 0.6 of the same layer, rounded once.
TEST(FloatPrecision, ProductsOfARecurrentLayerRoundOnce) {
  const auto loaded = ops::test::load_text(
      "version 1.0; extension tract_registry tract_core;\n"
      "fragment step(x: tensor<scalar>, h: tensor<scalar>, w: tensor<scalar>)"
      " -> (y: tensor<scalar>) { y = tanh(x + matmul(h, w, transposeB = true)); }\n"
      "graph g(x) -> (y) { x = external(shape = [1, 12]); zero = [[0.0]]; w = [[0.3]];\n"
      "h = tract_core_scan(body = \"step\", scan = [(\"x\", x * 0.7, 1, 1)], full = [(\"w\", w)],"
      " state = [(\"h\", zero, \"y\")], output = [(\"y\", \"full\", 1, 1)]);\n"
      "y = reshape(h, shape = [12, 1]) * 1.7 + 0.6; }");
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const auto half = with_float_type(*loaded, DType::kF32, DType::kF16);
  ASSERT_TRUE(half.ok()) << half.error().to_string();
  const std::vector<double> x = {1, -0.5, 0.25, 2, -1, 0.75, 0.5, -2, 1.5, 0.125, -0.25, 3};
  std::vector<double> want;
  double h = 0;
  for (const double each : x) {
    h = std::tanh(0.7001953125 * each + 0.300048828125 * h);
    want.push_back(1.7001953125 * h + 0.60009765625);
  }
  const auto out = run(*half, {typed(DType::kF16, {1, 12}, x)});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], typed(DType::kF16, {12, 1}, want));
}

}  // namespace
}  // namespace rill::transforms
