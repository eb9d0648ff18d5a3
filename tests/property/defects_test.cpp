// The graphs of docs/beside-tract.md, which compares rill with tract. rill streams or refuses each
// graph as its table states. tests/tract/defects.py runs tract on them if it is installed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

struct Defect {
  std::string text;
  std::map<std::string, std::string> head;  ///< values of the lines `# key value`

  int64_t pulse() const { return std::stoll(head.at("pulse")); }
  double tolerance() const {
    const auto found = head.find("tolerance");
    return found == head.end() ? 0.0 : std::stod(found->second);
  }
};

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(RILL_SOURCE_DIR) / "tests" / "tract" / "defects")) {
    out.push_back(file.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Defect defect(const std::string& name) {
  std::ifstream file(std::filesystem::path(RILL_SOURCE_DIR) / "tests" / "tract" / "defects" /
                     (name + ".nnef"));
  Defect out;
  out.text.assign(std::istreambuf_iterator<char>(file), {});
  std::istringstream lines(out.text);
  for (std::string line; std::getline(lines, line) && line.rfind("# ", 0) == 0;) {
    const size_t space = std::min(line.find(' ', 2), line.size());
    out.head[line.substr(2, space - 2)] = line.substr(std::min(space + 1, line.size()));
  }
  return out;
}

/// Stream at every length. An output that is known only at the end has no delay.
void expect_right(const Defect& defect) {
  const Graph graph = loaded(defect.text);
  auto streamed = StreamedRun::make(graph, defect.pulse());
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  const std::string& expected = defect.head.at("rill");
  if (expected.rfind("right, delay ", 0) == 0) {
    EXPECT_EQ(str_cat("right, delay ", streamed->output().delay), expected);
    EXPECT_GE(streamed->output().axis, 0);
  } else if (expected != "written and read") {
    EXPECT_EQ(expected, "known at the end");
    EXPECT_EQ(streamed->output().axis, -1);
  }
  expect_frames(defect.text, defect.pulse(), defect.tolerance());
  auto reloaded = streamed->reloaded();
  ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string();
  for (const int64_t length : {defect.pulse(), 3 * defect.pulse() + 1}) {
    if (is_too_short(graph, length)) continue;
    EXPECT_EQ(stream_problem(graph, &*reloaded, length, defect.tolerance()), "") << length;
  }
}

class Defects : public ::testing::TestWithParam<std::string> {};

TEST_P(Defects, OfTractAreNoneOfRill) {
  const Defect defect = test::defect(GetParam());
  const std::string& expected = defect.head.at("rill");
  if (expected.rfind("refused: ", 0) != 0) return expect_right(defect);
  std::istringstream words(expected.substr(9));
  std::string node;
  std::string op;
  words >> node >> op;
  expect_refused(defect.text, defect.pulse(), "\"" + node, op);
}

INSTANTIATE_TEST_SUITE_P(, Defects, ::testing::ValuesIn(names()),
                         [](const auto& each) { return each.param; });

TEST(DefectTable, HasGraphs) { EXPECT_GE(names().size(), 40U); }

TEST(Pulses, PulsesArePositive) {
  for (const int64_t pulse : {0, -1, -8}) {
    const auto refused = StreamedRun::make(loaded(y("relu(x)")), pulse);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kPulse);
    EXPECT_NE(refused.error().to_string().find("expected 1 to "), std::string::npos);
  }
}

// Frames before the first valid one are reproducible.
TEST(Pulses, LoopsGiveZerosBeforeTheFirstFrame) {
  const std::string body =
      "fragment loop(h: tensor<scalar>, a: tensor<scalar>) -> (h_t: tensor<scalar>) {\n"
      "  h_t = 0.5 * h + a;\n}\n";
  auto streamed = StreamedRun::make(
      loaded(document("1, 1, S",
                      "  y = tract_core_scan(body = 'loop', scan = [('a', " + slice("x", 3, 0) +
                          ", 2, 1)], full = [], state = [('h', [[[0.1]]], 'h_t')], output = "
                          "[('h_t', 'full', 2, 1)], skip = 0);\n",
                      "y", body)),
      4);
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  ASSERT_EQ(streamed->output().delay, 3);
  Session& session = streamed->session();
  std::fill_n(session.input(0).as<float>(), 4, 1.0F);
  session.step();
  const View out = session.output(0);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(out.as<float>()[i * out.step(2)], 0.0F);
  EXPECT_NE(out.as<float>()[3 * out.step(2)], 0.0F);
}

}  // namespace
}  // namespace rill::test
