// Whole runs refuse an index that the model computes and that is out of range, as PyTorch and ONNX
// Runtime do.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "rill/compile.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

/// A model that reads the truncated floats `v` as indices from `least` to `most` of x [5, 3].
struct ComputedCase {
  const char* name;
  std::vector<int64_t> shape;  ///< of v
  const char* statements;
  int64_t least;
  int64_t most;
};

const std::vector<ComputedCase> kCases = {
    {"Rows", {4}, "y = tract_core_gather(x, i, axis = 0);", -5, 4},
    {"Columns", {2, 2}, "y = tract_core_gather(x, i, axis = 1);", -3, 2},
    {"ConstantTable", {4}, "y = tract_core_gather([1.0, 2.0, 3.0], i, axis = 0);", -3, 2},
    {"Added", {4}, "y = tract_core_gather(x, i + 2, axis = 0);", -7, 2},
    {"Elements", {2, 3}, "y = tract_core_gather_elements(x, i, axis = 0);", -5, 4},
    {"Points", {4, 1}, "y = tract_core_gather_nd(x, i, batch_dims = 0);", -5, 4},
    // Each axis of a list has its own extent.
    {"Lists", {4, 2}, "y = tract_core_gather_nd(x, i, batch_dims = 0);", -3, 2},
    {"Scattered", {2, 3},
     "u = slice(x, axes = [0], begin = [0], end = [2]);\n"
     "  y = tract_core_scatter_elements(x, i, u, axis = 0);",
     -5, 4},
    {"ScatteredRows", {2, 1},
     "y = tract_core_scatter_nd(x, i, slice(x, axes = [0], begin = [0], end = [2]));", -5, 4},
    {"ScatteredLists", {3, 2},
     "u = squeeze(slice(x, axes = [0], begin = [0], end = [1]), axes = [0]);\n"
     "  y = tract_core_scatter_nd(x, i, u);",
     -3, 2},
    {"HalfClamped", {4},
     "y = tract_core_gather(x, max(i, tract_core_cast(-5, to = 'i64')), axis = 0);", INT32_MIN, 4},
};

ModelPtr loaded(const std::vector<int64_t>& shape, const std::string& statements) {
  std::string extents;
  for (const int64_t extent : shape) {
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  }
  const std::string text =
      "version 1.0;\nextension tract_registry tract_core;\ngraph network(x, v) -> (y)\n{\n"
      "  x = tract_core_external(shape = [5, 3], datum_type = 'f32');\n"
      "  v = tract_core_external(shape = [" + extents + "], datum_type = 'f32');\n"
      "  i = tract_core_cast(v * 1.0, to = 'i64');\n  " + statements + "\n}\n";
  rill_model* model = nullptr;
  EXPECT_EQ(rill_load_memory(text.data(), text.size(), nullptr, &model), RILL_OK)
      << rill_last_error() << text;
  return ModelPtr(model);
}

/// The same plan, written to a file and opened.
Opened compiled(const rill_model* model, const std::string& name) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rill_computed_indices_" + name)).string();
  Opened out;
  rill_plan* plan = nullptr;
  EXPECT_EQ(rill_compile(model, nullptr, path.c_str()), RILL_OK) << rill_last_error();
  EXPECT_EQ(rill_plan_open(path.c_str(), &plan), RILL_OK) << rill_last_error();
  out.plan.reset(plan);
  rill_session* session = nullptr;
  EXPECT_EQ(rill_session_new(plan, &session), RILL_OK) << rill_last_error();
  out.session.reset(session);
  std::filesystem::remove(path);
  return out;
}

/// Return zeros of that shape with a last element.
Array numbers(const std::vector<int64_t>& shape, int64_t last) {
  Array out = Array::zeros(RILL_F32, shape);
  const auto number = static_cast<float>(last);
  std::memcpy(out.bytes.data() + out.bytes.size() - sizeof number, &number, sizeof number);
  return out;
}

rill_status step(const Opened& opened, const Array& values) {
  rill_view view = {};
  view.size = sizeof view;
  EXPECT_EQ(rill_input_buffer(opened.session.get(), 1, &view), RILL_OK) << rill_last_error();
  std::memcpy(view.data, values.bytes.data(), values.bytes.size());
  return rill_step(opened.session.get());
}

rill_status run(const Opened& opened, const Array& values) {
  const Array x = Array::zeros(RILL_F32, {5, 3});
  rill_view y = {};
  y.size = sizeof y;
  EXPECT_EQ(rill_output_buffer(opened.session.get(), 0, &y), RILL_OK) << rill_last_error();
  const rill_view inputs[] = {x.view(), values.view()};
  return rill_run(opened.session.get(), inputs, 2, &y, 1);
}

class ComputedIndices : public ::testing::TestWithParam<ComputedCase> {};

TEST_P(ComputedIndices, AreThoseOfTheirAxis) {
  const ComputedCase& each = GetParam();
  const ModelPtr model = loaded(each.shape, each.statements);
  ASSERT_NE(model, nullptr);
  for (const bool in_file : {false, true}) {
    const Opened opened = in_file ? compiled(model.get(), each.name) : open_session(model.get());
    ASSERT_NE(opened.session, nullptr) << rill_last_error();
    for (const int64_t wrong : {each.least - 1, each.most + 1, int64_t{1} << 40}) {
      for (const int64_t right : {each.least, int64_t{0}, each.most}) {
        EXPECT_EQ(step(opened, numbers(each.shape, right)), RILL_OK) << rill_last_error();
        EXPECT_EQ(run(opened, numbers(each.shape, right)), RILL_OK) << rill_last_error();
      }
      if (wrong < INT32_MIN) continue;
      EXPECT_EQ(run(opened, numbers(each.shape, wrong)), RILL_E_ARG) << wrong;
      EXPECT_EQ(step(opened, numbers(each.shape, wrong)), RILL_E_ARG) << wrong;
      const std::string error = rill_last_error();
      EXPECT_NE(error.find(" reads the index "), std::string::npos) << error;
      EXPECT_NE(error.find("node \"y"), std::string::npos) << error;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ComputedIndices, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(ComputedIndicesOfRuns, AreNamedWithTheirRange) {
  const ModelPtr model = loaded({4}, "y = tract_core_gather(x, i, axis = 0);");
  ASSERT_NE(model, nullptr);
  const Opened opened = open_session(model.get());
  EXPECT_EQ(run(opened, numbers({4}, 7)), RILL_E_ARG);
  const std::string error = rill_last_error();
  EXPECT_NE(error.find("node \"y\" (Gather) reads the index 7 at element 3, which the model "
                       "computed: expected -5 to 4"),
            std::string::npos)
      << error;
}

TEST(ComputedIndicesOfRuns, AreCheckedInTimedStepsAndTogether) {
  const ModelPtr model = loaded({4}, "y = tract_core_gather(x, i, axis = 0);");
  ASSERT_NE(model, nullptr);
  const Opened opened = open_session(model.get());
  EXPECT_EQ(step(opened, numbers({4}, 5)), RILL_E_ARG);
  size_t nodes = 0;
  const char* name = "";
  const char* op = "";
  while (rill_plan_node(opened.plan.get(), nodes, &name, &op) == RILL_OK && name) ++nodes;
  std::vector<int64_t> nanoseconds(nodes);
  EXPECT_EQ(rill_step_timed(opened.session.get(), nanoseconds.data(), nanoseconds.size()),
            RILL_E_ARG);
  const rill_session_step one = {sizeof(rill_session_step), RILL_STEP_FULL, opened.session.get(),
                                 0};
  EXPECT_EQ(rill_step_together(&one, 1), RILL_E_ARG);
  EXPECT_EQ(step(opened, numbers({4}, 4)), RILL_OK) << rill_last_error();
  EXPECT_EQ(rill_step_together(&one, 1), RILL_OK) << rill_last_error();
}

// A run that is refused leaves the outputs of the caller unchanged.
TEST(ComputedIndicesOfRuns, LeaveTheOutputsOfARefusedRun) {
  const ModelPtr model = loaded({4}, "y = tract_core_gather(x, i, axis = 0);");
  ASSERT_NE(model, nullptr);
  const Opened opened = open_session(model.get());
  Array x = Array::zeros(RILL_F32, {5, 3});
  const Array v = numbers({4}, 5);
  const Array y = numbers({4, 3}, 8);
  const rill_view inputs[] = {x.view(), v.view()};
  const rill_view out = y.view();
  EXPECT_EQ(rill_run(opened.session.get(), inputs, 2, &out, 1), RILL_E_ARG);
  EXPECT_EQ(y.bytes, numbers({4, 3}, 8).bytes);
}

// The loop reads a row of x for each frame of v.
TEST(ComputedIndicesOfRuns, AreCheckedInLoops) {
  constexpr char kText[] = R"(version 1.0;
extension tract_registry tract_core;
fragment step(v: tensor<scalar>, rows: tensor<scalar>, h: tensor<scalar>) -> (next: tensor<scalar>)
{
  at = tract_core_cast(squeeze(v, axes = [1]), to = 'i64');
  next = h + tract_core_gather(rows, at, axis = 0);
}
graph network(x, v) -> (y)
{
  x = tract_core_external(shape = [5, 3], datum_type = 'f32');
  v = tract_core_external(shape = [4, 1], datum_type = 'f32');
  start = [[0.0, 0.0, 0.0]];
  y = tract_core_scan(body = "step", scan = [("v", v, 0, 1)], full = [("rows", x)],
                      state = [("h", start, "next")], output = [("next", "full", 0, 1)]);
}
)";
  rill_model* model = nullptr;
  ASSERT_EQ(rill_load_memory(kText, std::strlen(kText), nullptr, &model), RILL_OK)
      << rill_last_error();
  const ModelPtr owner(model);
  const Opened opened = open_session(model);
  ASSERT_NE(opened.session, nullptr) << rill_last_error();
  EXPECT_EQ(run(opened, numbers({4, 1}, 4)), RILL_OK) << rill_last_error();
  EXPECT_EQ(run(opened, numbers({4, 1}, 5)), RILL_E_ARG);
  EXPECT_EQ(run(opened, numbers({4, 1}, -5)), RILL_OK) << rill_last_error();
}

// The other branch of a condition is not run where PyTorch and ONNX Runtime execute the model.
TEST(ComputedIndicesOfBranches, MayBeAnything) {
  const ModelPtr model = loaded({1},
                                "c = gt(max_reduce(x, axes = [0, 1]), 0.0);\n"
                                "  z = slice(x, axes = [0], begin = [0], end = [1]);\n"
                                "  y = select(c, tract_core_gather(x, i, axis = 0), z);");
  ASSERT_NE(model, nullptr);
  const Opened opened = open_session(model.get());
  EXPECT_EQ(step(opened, numbers({1}, 7)), RILL_OK) << rill_last_error();
}

}  // namespace
}  // namespace rill::test
