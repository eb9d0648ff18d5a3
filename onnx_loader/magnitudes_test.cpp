// Every function and operation of f32 over all magnitudes, from NNEF and ONNX and on every tier,
// against answers in higher precision.

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu.h"
#include "onnx_loader/test_file.h"
#include "onnx_loader/test_run.h"
#include "ops/math/test_support.h"

namespace rill::onnx {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A function, with two bounds: its error is at most their sum.
struct Function {
  const char* name;
  /// An expression of x, and of z for operations, after its statements; empty if there is none
  const char* nnef;
  const char* onnx;  ///< a chain of operators, each on the result of the one before
  double ulps, absolute;
  double relative;  ///< times max(1, |x|)
  std::vector<double> answers;
};

#include "onnx_loader/magnitudes.inc"

double ulp_at(double y) {
  const auto f = static_cast<float>(std::fabs(y));
  if (!std::isfinite(f) || f == FLT_MAX) return 0x1p104;
  return static_cast<double>(std::nextafter(f, HUGE_VALF)) - static_cast<double>(f);
}

/// Return whether a result is near an answer. Denormals, also as rounded results, may be 0.
bool is_near(const Function& f, double x, double want, float result) {
  const auto got = static_cast<double>(result);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (want == got) return true;
  const double least = std::fabs(want) < 2 * double{FLT_MIN} ? double{FLT_MIN} : 0.0;
  const double size = std::isinf(x) ? 1.0 : std::fmax(1.0, std::fabs(x));
  const double bound = f.ulps * ulp_at(want) + f.absolute + f.relative * size + least;
  if (std::isinf(got)) {
    return std::signbit(got) == std::signbit(want) &&
           std::fabs(want) + std::fmax(bound, 0.5 * 0x1p104) >= double{FLT_MAX};
  }
  return std::fabs(got - want) <= bound;
}

Graph nnef_graph(const Function& f, size_t count) {
  const std::string shape = std::to_string(count);
  std::vector<ops::test::Input> inputs{{"x", shape}};
  if (std::string_view(f.nnef).find('z') != std::string_view::npos) inputs.push_back({"z", shape});
  std::string text = f.nnef;
  const size_t last = text.rfind("; ");
  text.insert(last == std::string::npos ? 0 : last + 2, "y = ");
  return ops::test::graph_of(inputs, text + ";");
}

/// Return the graph of a chain: "Add:1.0 Log" is log(x + 1). An operation without a constant takes
/// z.
Graph onnx_graph(const Function& f, size_t count, bool binary) {
  const auto extent = static_cast<int64_t>(count);
  GraphParts parts;
  parts.inputs.push_back(value_info("x", {extent}));
  if (binary) parts.inputs.push_back(value_info("z", {extent}));
  std::string last = "x";
  std::string rest = f.onnx;
  while (!rest.empty()) {
    const size_t end = rest.find(' ');
    std::string op = rest.substr(0, end);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
    const std::string made = rest.empty() ? "y" : last + op.substr(0, 3);
    std::vector<std::string> inputs{last};
    if (binary) inputs.emplace_back("z");
    if (const size_t at = op.find(':'); at != std::string::npos) {
      const float number = std::stof(op.substr(at + 1));
      parts.initializers.push_back(tensor_of_floats(made + "_c", {}, {number}));
      inputs.push_back(made + "_c");
      op.resize(at);
    }
    parts.nodes.push_back(node_of(op, inputs, {made}));
    last = made;
  }
  parts.outputs = {value_info("y", {extent})};
  auto graph = loaded(model_of(parts));
  EXPECT_TRUE(graph.ok()) << f.name << ": " << graph.error().to_string();
  return graph.ok() ? std::move(graph).value() : Graph();
}

/// Run an operator on numbers, and report wrong results.
void expect_answers(const Function& f, const Graph& graph,
                    const std::vector<std::vector<float>>& in, const char* reader) {
  ASSERT_FALSE(graph.nodes.empty()) << f.name;
  std::vector<Tensor> inputs;
  const auto count = static_cast<int64_t>(in[0].size());
  for (const std::vector<float>& values : in) inputs.push_back(ops::test::f32({count}, values));
  inputs.resize(graph.inputs.size());
  const auto out = ops::test::run(graph, inputs);
  ASSERT_TRUE(out.ok()) << f.name << ": " << out.error().to_string();
  ASSERT_EQ((*out)[0].volume(), count) << f.name;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const float got = (*out)[0].data<float>()[i];
    EXPECT_TRUE(is_near(f, static_cast<double>(in[0][at]), f.answers[at], got))
        << f.name << " by " << reader << " of " << in[0][at]
        << (in.size() > 1 ? ", " + std::to_string(in[1][at]) : "") << " is " << got << ", expected "
        << f.answers[at];
  }
}

class Magnitudes : public ::testing::TestWithParam<kernels::Tier> {
 protected:
  void SetUp() override {
    if (!kernels::supports(kernels::detected_tier(), GetParam())) GTEST_SKIP();
    kernels::set_tier_limit(GetParam());
  }
  void TearDown() override { kernels::clear_tier_limit(); }
};

TEST_P(Magnitudes, FunctionsAreWithinTheirBounds) {
  const std::vector<float> x(kValues.begin(), kValues.end());
  for (const Function& f : kFunctions) {
    ASSERT_EQ(f.answers.size(), x.size());
    if (*f.nnef != 0) expect_answers(f, nnef_graph(f, x.size()), {x}, "NNEF");
    if (*f.onnx != 0) expect_answers(f, onnx_graph(f, x.size(), false), {x}, "ONNX");
  }
}

TEST_P(Magnitudes, OperationsAreWithinTheirBounds) {
  std::vector<float> x, z;
  for (const double a : kFew) {
    for (const double b : kFew) {
      x.push_back(static_cast<float>(a));
      z.push_back(static_cast<float>(b));
    }
  }
  for (const Function& f : kOperations) {
    ASSERT_EQ(f.answers.size(), x.size());
    expect_answers(f, nnef_graph(f, x.size()), {x, z}, "NNEF");
    if (*f.onnx != 0) expect_answers(f, onnx_graph(f, x.size(), true), {x, z}, "ONNX");
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, Magnitudes, ::testing::ValuesIn(kernels::kAllTiers),
                         [](const auto& one) { return std::string(tier_name(one.param)); });

}  // namespace
}  // namespace rill::onnx
