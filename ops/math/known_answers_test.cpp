// What NumPy gives for the operators of the dialect.

#include <cmath>
#include <limits>

#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Array {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<double> values;
};

struct Case {
  std::string name;
  std::string statements;
  std::vector<Array> inputs;
  std::vector<Array> outputs;
  double tolerance;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
#include "ops/math/known_answers.inc"
#include "ops/nn/known_answers.inc"
  };
  return all;
}

class KnownAnswers : public ::testing::TestWithParam<Case> {};

struct Problem {
  Graph graph;
  std::vector<Tensor> inputs;
};

Problem problem_of(const Case& known) {
  std::vector<Input> inputs;
  Problem problem;
  for (const Array& array : known.inputs) {
    std::string shape;
    for (const int64_t extent : array.shape) shape += str_cat(shape.empty() ? "" : ", ", extent);
    inputs.push_back({array.name, shape, std::string(dtype_lower_name(array.dtype))});
    problem.inputs.push_back(typed(array.dtype, array.shape, array.values));
  }
  std::string results;
  for (const Array& array : known.outputs) results += (results.empty() ? "" : ", ") + array.name;
  problem.graph = graph_of(inputs, known.statements, results);
  return problem;
}

TEST_P(KnownAnswers, AreNumPys) {
  const Case& known = GetParam();
  const auto [graph, values] = problem_of(known);
  ASSERT_FALSE(graph.nodes.empty());
  for (const bool optimize : {false, true}) {
    SCOPED_TRACE(optimize ? "optimized" : "as it is");
    const auto got = run(graph, values, optimize);
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    for (size_t i = 0; i < known.outputs.size(); ++i) {
      const Array& want = known.outputs[i];
      expect_near((*got)[i], typed(want.dtype, want.shape, want.values), known.tolerance,
                  known.tolerance);
    }
  }
}

TEST_P(KnownAnswers, AreGivenByWhatIsWrittenToo) {
  const Case& known = GetParam();
  const Problem problem = problem_of(known);
  ASSERT_FALSE(problem.graph.nodes.empty());
  expect_written_and_read(problem.graph, problem.inputs);
}

INSTANTIATE_TEST_SUITE_P(, KnownAnswers, ::testing::ValuesIn(cases()),
                         [](const auto& known) { return known.param.name; });

}  // namespace
}  // namespace rill::ops::test
