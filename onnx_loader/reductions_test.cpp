// Reductions of f32 over all magnitudes, from NNEF and ONNX and on every tier, against sums in f64.

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/splitmix.h"
#include "core/base/text.h"
#include "kernels/cpu.h"
#include "onnx_loader/test_file.h"
#include "onnx_loader/test_run.h"
#include "ops/math/test_support.h"

namespace rill::onnx {
namespace {

using Row = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kEps = 0x1p-24;
constexpr int64_t kRows = 40;
constexpr const char* kAxis = "axes = [1]";

/// The exact value of an element, and a bound on its rounding error.
struct Want {
  double value = 0;
  double error = 0;
};

/// A reduction, or an operator that keeps the shape.
struct Reduction {
  const char* name;
  const char* nnef;  ///< statements that define y; AXIS is the attribute
  const char* onnx;  ///< empty if there is none
  bool keeps;        ///< the output has the shape of the input
  Want (*want)(const Row& x, size_t at);
};

double count(const Row& x) { return static_cast<double>(x.size()); }

template <class Term>
double sum_of(const Row& x, Term term) {
  double sum = 0;
  for (const double v : x) sum += term(v);
  return sum;
}
double size_of(const Row& x) {
  return sum_of(x, [](double v) { return std::abs(v); });
}
double squares_of(const Row& x) {
  return sum_of(x, [](double v) { return v * v; });
}
double most(const Row& x) { return *std::max_element(x.begin(), x.end()); }
double least(const Row& x) { return *std::min_element(x.begin(), x.end()); }
double mean_of(const Row& x) { return sum_of(x, [](double v) { return v; }) / count(x); }

/// Sums of denormals are sums of zeros.
double lost(const Row& x) { return count(x) * double{FLT_MIN}; }

Want sum(const Row& x, size_t) {
  // Sums of some of the terms may leave the range.
  const double error = size_of(x) > double{FLT_MAX} ? kInf : count(x) * kEps * size_of(x);
  return {mean_of(x) * count(x), error + lost(x)};
}
Want mean(const Row& x, size_t) {
  const double value = mean_of(x);
  return {value, sum(x, 0).error / count(x) + 2 * kEps * std::abs(value) + lost(x)};
}
Want sizes(const Row& x, size_t) {
  return {size_of(x), count(x) * kEps * size_of(x) + lost(x)};
}
Want square_sum(const Row& x, size_t) {
  return {squares_of(x), (count(x) + 2) * kEps * squares_of(x) + lost(x)};
}
/// Return the root of `squares`, which has an error of up to `error`, and a bound on its own error.
Want root(double squares, double error) {
  const double low = std::sqrt(std::max(0.0, squares - error));
  const double high = squares + error > double{FLT_MAX} ? kInf : std::sqrt(squares + error);
  const double value = std::sqrt(squares);
  return {value, std::max(value - low, high - value) + 4 * kEps * value};
}
Want norm(const Row& x, size_t at) {
  const Want squares = square_sum(x, at);
  return root(squares.value, squares.error);
}
Want product(const Row& x, size_t) {
  double product = 1, high = 1, low = 1;
  for (const double v : x) {
    product *= v;
    high = std::max({high, std::abs(product)});
    low = std::min({low, std::abs(product)});
  }
  // Any order of factors may leave the range then.
  const double within = std::pow(most({std::abs(most(x)), std::abs(least(x)), 1.0}), count(x));
  const bool out = within > double{FLT_MAX} || low < 1e-30;
  return {product, out ? kInf : count(x) * kEps * std::abs(product)};
}
Want largest(const Row& x, size_t) { return {most(x), 0}; }
Want smallest(const Row& x, size_t) { return {least(x), 0}; }
Want at_largest(const Row& x, size_t) {
  return {static_cast<double>(std::max_element(x.begin(), x.end()) - x.begin()), 0};
}
Want at_smallest(const Row& x, size_t) {
  return {static_cast<double>(std::min_element(x.begin(), x.end()) - x.begin()), 0};
}
Want log_sum_exp(const Row& x, size_t) {
  const double high = most(x);
  const double powers = sum_of(x, [&](double v) { return std::exp(v - high); });
  const double value = high + std::log(powers);
  return {value, kEps * (std::abs(high) + count(x) + 8) + kEps * std::abs(value)};
}
/// Differences from a mean that is rounded.
Want variance(const Row& x, size_t) {
  const double middle = mean_of(x);
  const double square = sum_of(x, [&](double v) { return (v - middle) * (v - middle); }) / count(x);
  const double off = mean(x, 0).error + kEps * std::max(std::abs(most(x)), std::abs(least(x)));
  const double error = (count(x) + 8) * kEps * square + off * off + 2 * off * std::sqrt(square);
  if (square * count(x) + error > double{FLT_MAX}) return {square, kInf};
  return {square, error + lost(x)};
}
Want deviation(const Row& x, size_t at) {
  const Want square = variance(x, at);
  return root(square.value, square.error);
}
Want softmax(const Row& x, size_t at) {
  const double high = most(x);
  const double powers = sum_of(x, [&](double v) { return std::exp(v - high); });
  const double value = std::exp(x[at] - high) / powers;
  return {value, value * kEps * (high - x[at] + count(x) + 12) + 2 * double{FLT_MIN}};
}
Want log_softmax(const Row& x, size_t at) {
  const double high = most(x);
  const double powers = sum_of(x, [&](double v) { return std::exp(v - high); });
  const double value = x[at] - high - std::log(powers);
  return {value, kEps * (2 * std::abs(value) + count(x) + 12)};
}
Want running_sum(const Row& x, size_t at) {
  const Row front(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  return sum(front, 0);
}

const Reduction kReductions[] = {
    {"sum", "y = sum_reduce(x, AXIS);", "ReduceSum", false, sum},
    {"mean", "y = mean_reduce(x, AXIS);", "ReduceMean", false, mean},
    {"sum of sizes", "y = sum_reduce(abs(x), AXIS);", "ReduceL1", false, sizes},
    {"sum of squares", "y = sum_reduce(sqr(x), AXIS);", "ReduceSumSquare", false, square_sum},
    {"mean of squares", "y = mean_reduce(sqr(x), AXIS);", "", false,
     [](const Row& x, size_t at) {
       const Want squares = square_sum(x, at);
       const double n = count(x);
       return Want{squares.value / n, squares.value + squares.error > double{FLT_MAX}
                                          ? kInf
                                          : squares.error / n + lost(x)};
     }},
    {"norm", "y = sqrt(sum_reduce(sqr(x), AXIS));", "ReduceL2", false, norm},
    {"product", "y = tract_core_product_reduce(x, AXIS);", "ReduceProd", false, product},
    {"maximum", "y = max_reduce(x, AXIS);", "ReduceMax", false, largest},
    {"minimum", "y = min_reduce(x, AXIS);", "ReduceMin", false, smallest},
    {"place of the maximum", "y = argmax_reduce(x, AXIS);", "ArgMax", false, at_largest},
    {"place of the minimum", "y = argmin_reduce(x, AXIS);", "ArgMin", false, at_smallest},
    {"logarithm of a sum of powers",
     "m = max_reduce(x, AXIS); y = m + log(sum_reduce(exp(x - m), AXIS));", "ReduceLogSumExp",
     false, log_sum_exp},
    {"variance", "m = mean_reduce(x, AXIS); y = mean_reduce(sqr(x - m), AXIS);", "", false,
     variance},
    {"second moment", "(m, y) = moments(x, AXIS);", "", false, variance},
    {"deviation", "m = mean_reduce(x, AXIS); y = sqrt(mean_reduce(sqr(x - m), AXIS));", "", false,
     deviation},
    {"softmax", "y = softmax(x, AXIS);", "Softmax", true, softmax},
    {"logarithm of a softmax", "y = tract_core_log_softmax(x, AXIS);", "LogSoftmax", true,
     log_softmax},
    {"running sum", "y = tract_core_cumsum(x, axis = 1, exclusive = false, reverse = false);",
     "CumSum", true, running_sum},
};

/// Return rows of one length, each with another magnitude and kind of values; denormals are zeros.
std::vector<Row> drawn_rows(size_t length, Splitmix64* random) {
  std::vector<Row> rows;
  for (int64_t i = 0; i < kRows; ++i) {
    const double size = std::exp2(-140.0 + 267.0 * random->unit());
    const int64_t kind = random->in(0, 5);
    Row row;
    while (row.size() < length) {
      const double unit = 2 * random->unit() - 1;
      const double wide = std::exp2(-126.0 + 253.0 * random->unit()) * (unit < 0 ? -1 : 1);
      const double near = size * (1 + 0x1p-12 * unit);
      const double rare = random->in(0, 3) == 0 ? size * unit : 0.0;
      const double choices[] = {size * unit, size * std::abs(unit), near, wide, size, rare};
      const auto value = static_cast<double>(static_cast<float>(choices[kind]));
      row.push_back(std::abs(value) < double{FLT_MIN} ? 0.0 : value);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Graph nnef_graph(const Reduction& f, int64_t length) {
  std::string text = f.nnef;
  for (size_t at = 0; (at = text.find("AXIS", at)) != std::string::npos;) {
    text.replace(at, 4, kAxis);
  }
  return ops::test::graph_of({{"x", str_cat(kRows, ", ", length)}}, text);
}

Graph onnx_graph(const Reduction& f, int64_t length) {
  const std::string op = f.onnx;
  GraphParts parts;
  parts.inputs = {value_info("x", {kRows, length})};
  std::vector<std::string> inputs = {"x"};
  std::vector<Message> attributes;
  if (op == "CumSum" || op.starts_with("Reduce")) {
    const std::vector<int64_t> shape(op == "CumSum" ? 0 : 1, 1);
    parts.initializers.push_back(tensor_of_integers("axis", shape, {1}));
    inputs.emplace_back("axis");
  } else {
    attributes.push_back(integer_attribute("axis", 1));
  }
  parts.nodes = {node_of(op, inputs, {"y"}, attributes)};
  parts.outputs = {value_info("y", {})};
  auto graph = loaded(model_of(parts, 18));
  EXPECT_TRUE(graph.ok()) << f.name << ": " << graph.error().to_string();
  return graph.ok() ? std::move(graph).value() : Graph();
}

bool is_near(const Want& want, double got) {
  if (want.error == kInf || want.value == got) return true;
  if (std::isnan(got)) return false;
  if (std::isinf(got)) {
    return std::signbit(got) == std::signbit(want.value) &&
           std::abs(want.value) + want.error >= double{FLT_MAX};
  }
  return std::abs(got - want.value) <= want.error + kEps * std::abs(want.value);
}

void expect_answers(const Reduction& f, const Graph& graph, const std::vector<Row>& rows,
                    const char* reader) {
  ASSERT_FALSE(graph.nodes.empty()) << f.name;
  const auto length = static_cast<int64_t>(rows[0].size());
  std::vector<float> x;
  for (const Row& row : rows) x.insert(x.end(), row.begin(), row.end());
  const auto out = ops::test::run(graph, {ops::test::f32({kRows, length}, x)});
  ASSERT_TRUE(out.ok()) << f.name << ": " << out.error().to_string();
  const int64_t each = f.keeps ? length : 1;
  ASSERT_EQ((*out)[0].volume(), kRows * each) << f.name;
  for (int64_t i = 0; i < kRows * each; ++i) {
    const Want want = f.want(rows[static_cast<size_t>(i / each)], static_cast<size_t>(i % each));
    const double got = *element_as_double((*out)[0], i);
    ASSERT_TRUE(is_near(want, got))
        << f.name << " by " << reader << " of " << length << " numbers like "
        << rows[static_cast<size_t>(i / each)][0] << " is " << got << ", expected " << want.value
        << " within " << want.error;
  }
}

class Reductions : public ::testing::TestWithParam<kernels::Tier> {
 protected:
  void SetUp() override {
    if (!kernels::supports(kernels::detected_tier(), GetParam())) GTEST_SKIP();
    kernels::set_tier_limit(GetParam());
  }
  void TearDown() override { kernels::clear_tier_limit(); }
};

TEST_P(Reductions, AreWithinTheirBounds) {
  Splitmix64 random(11);
  for (const size_t length : {1, 2, 3, 7, 8, 17, 64, 301, 2000}) {
    const std::vector<Row> rows = drawn_rows(length, &random);
    for (const Reduction& f : kReductions) {
      // These need one sum in f64 per element.
      if (f.keeps && length > 301) continue;
      const auto extent = static_cast<int64_t>(length);
      expect_answers(f, nnef_graph(f, extent), rows, "NNEF");
      if (*f.onnx != 0) expect_answers(f, onnx_graph(f, extent), rows, "ONNX");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, Reductions, ::testing::ValuesIn(kernels::kAllTiers),
                         [](const auto& one) { return std::string(tier_name(one.param)); });

}  // namespace
}  // namespace rill::onnx
