// NumPy's results for the operators of the dialect. scripts/known_answers/write.py writes them next
// to the operators of each group.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

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

/// Read "x f32 [2, 3] 1.5 nan ...".
Array array_of(const std::string& text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  Array array;
  std::string word;
  std::istringstream head(text.substr(0, open));
  head >> array.name >> word;
  array.dtype = dtype_from_name(word).value_or(DType::kString);
  std::istringstream extents(text.substr(open + 1, close - open - 1));
  while (std::getline(extents, word, ',')) array.shape.push_back(std::stoll(word));
  std::istringstream values(text.substr(close + 1));
  while (values >> word) array.values.push_back(std::stod(word));
  return array;
}

/// Append the cases of a file: "case NAME TOLERANCE", the statements, then inputs and outputs.
void read_cases(const std::filesystem::path& path, std::vector<Case>& all) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string word;
    words >> word;
    const size_t rest = line.find(word) + word.size() + 1;
    if (word == "case") {
      Case& added = all.emplace_back();
      words >> added.name >> added.tolerance;
      std::getline(file, added.statements);
    } else {
      Case& last = all.back();
      (word == "input" ? last.inputs : last.outputs).push_back(array_of(line.substr(rest)));
    }
  }
}

std::vector<Case> cases() {
  const std::filesystem::path root(RILL_SOURCE_DIR);
  std::vector<std::filesystem::path> folders{root / "nnef_loader" / "build"};
  for (const auto& entry : std::filesystem::directory_iterator(root / "ops")) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Case> all;
  for (const auto& folder : folders) read_cases(folder / "known_answers.txt", all);
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

TEST_P(KnownAnswers, EqualNumPys) {
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

TEST_P(KnownAnswers, HoldForWrittenModelsToo) {
  const Case& known = GetParam();
  const Problem problem = problem_of(known);
  ASSERT_FALSE(problem.graph.nodes.empty());
  expect_written_and_read(problem.graph, problem.inputs);
}

INSTANTIATE_TEST_SUITE_P(, KnownAnswers, ::testing::ValuesIn(cases()),
                         [](const auto& known) { return known.param.name; });

TEST(KnownAnswerFiles, AreAllRead) { EXPECT_GE(cases().size(), 394U); }

}  // namespace
}  // namespace rill::ops::test
