// Inputs of a model that hold indices: an index within its axis is accepted, and an index out of
// range is refused before anything runs, as in PyTorch and ONNX Runtime.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "rill/compile.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

/// A model that reads `i` as indices from `least` to `most` of x [5, 3].
struct IndexCase {
  const char* name;
  std::vector<int64_t> shape;  ///< the shape of i
  const char* statements;
  int64_t least;
  int64_t most;
};

const std::vector<IndexCase> kCases = {
    {"Rows", {4}, "y = tract_core_gather(x, i, axis = 0);", -5, 4},
    {"Columns", {2, 2}, "y = tract_core_gather(x, i, axis = 1);", -3, 2},
    {"Cast", {4}, "y = tract_core_gather(x, tract_core_cast(i, to = 'i64'), axis = 0);", -5, 4},
    {"Reshaped", {2, 2}, "y = tract_core_gather(x, reshape(i, shape = [4]), axis = 0);", -5, 4},
    {"Transposed", {2, 3},
     "t = transpose(i, axes = [1, 0]);\n  y = tract_core_gather(x, t, axis = 0);", -5, 4},
    {"Repeated", {1, 2}, "y = tract_core_gather(x, tile(i, repeats = [3, 1]), axis = 0);", -5, 4},
    {"Added", {4}, "y = tract_core_gather(x, i + 2, axis = 0);", -7, 2},
    {"Elements", {2, 3}, "y = tract_core_gather_elements(x, i, axis = 0);", -5, 4},
    {"ElementsOfRows", {5, 2}, "y = tract_core_gather_elements(x, i, axis = 1);", -3, 2},
    {"Points", {4, 1}, "y = tract_core_gather_nd(x, i, batch_dims = 0);", -5, 4},
    {"PointsOfRows", {5, 2, 1}, "y = tract_core_gather_nd(x, i, batch_dims = 1);", -3, 2},
    {"Scattered", {2, 3},
     "u = slice(x, axes = [0], begin = [0], end = [2]);\n"
     "  y = tract_core_scatter_elements(x, i, u, axis = 0);",
     -5, 4},
    {"ScatteredRows", {2, 1},
     "y = tract_core_scatter_nd(x, i, slice(x, axes = [0], begin = [0], end = [2]));", -5, 4},
    {"TwoReaders", {2},
     "a = tract_core_gather(x, i, axis = 0);\n  b = tract_core_gather(x, i, axis = 1);\n"
     "  y = matmul(b, a);",
     -3, 2},
};

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t extent : shape) out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return out;
}

std::string text_of(const IndexCase& each, const char* type) {
  return "version 1.0;\nextension tract_registry tract_core;\ngraph network(x, i) -> (y)\n{\n"
         "  x = tract_core_external(shape = [5, 3], datum_type = 'f32');\n"
         "  i = tract_core_external(shape = [" + shape_text(each.shape) + "], datum_type = '" +
         type + "');\n  " + each.statements + "\n}\n";
}

ModelPtr loaded(const std::string& text) {
  rill_model* model = nullptr;
  EXPECT_EQ(rill_load_memory(text.data(), text.size(), nullptr, &model), RILL_OK)
      << rill_last_error() << text;
  return ModelPtr(model);
}

template <class T>
Array filled(rill_dtype dtype, const std::vector<int64_t>& shape, int64_t last) {
  Array out = Array::zeros(dtype, shape);
  const auto number = static_cast<T>(last);
  std::memcpy(out.bytes.data() + out.bytes.size() - sizeof number, &number, sizeof number);
  return out;
}

Array indices(const std::string& type, const std::vector<int64_t>& shape, int64_t last) {
  return type == "i32" ? filled<int32_t>(RILL_I32, shape, last)
                       : filled<int64_t>(RILL_I64, shape, last);
}

/// Write an array to an input, and step.
rill_status step(const Opened& opened, const Array& values) {
  rill_view view = {};
  view.size = sizeof view;
  EXPECT_EQ(rill_input_buffer(opened.session.get(), 1, &view), RILL_OK) << rill_last_error();
  std::memcpy(view.data, values.bytes.data(), values.bytes.size());
  return rill_step(opened.session.get());
}

/// Run the whole model on views.
rill_status run(const Opened& opened, const Array& values) {
  const Array x = Array::zeros(RILL_F32, {5, 3});
  rill_view y = {};
  y.size = sizeof y;
  EXPECT_EQ(rill_output_buffer(opened.session.get(), 0, &y), RILL_OK) << rill_last_error();
  const rill_view inputs[] = {x.view(), values.view()};
  return rill_run(opened.session.get(), inputs, 2, &y, 1);
}

/// The same plan, written to a file and opened.
Opened compiled(const rill_model* model, const std::string& name) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rill_index_inputs_" + name)).string();
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

class IndexInputs : public ::testing::TestWithParam<IndexCase> {};

TEST_P(IndexInputs, HoldIndicesOfTheirAxis) {
  const IndexCase& each = GetParam();
  for (const std::string type : {"i32", "i64"}) {
    const ModelPtr model = loaded(text_of(each, type.c_str()));
    ASSERT_NE(model, nullptr);
    for (const bool in_file : {false, true}) {
      const Opened opened = in_file ? compiled(model.get(), each.name) : open_session(model.get());
      ASSERT_NE(opened.session, nullptr) << rill_last_error();
      for (const int64_t index : {each.least, int64_t{0}, each.most}) {
        EXPECT_EQ(step(opened, indices(type, each.shape, index)), RILL_OK) << rill_last_error();
        EXPECT_EQ(run(opened, indices(type, each.shape, index)), RILL_OK) << rill_last_error();
      }
      const int64_t far = type == "i32" ? INT32_MAX : INT64_MAX;
      for (const int64_t index : {each.least - 1, each.most + 1, far, -far}) {
        EXPECT_EQ(run(opened, indices(type, each.shape, index)), RILL_E_ARG) << index;
        EXPECT_EQ(step(opened, indices(type, each.shape, index)), RILL_E_ARG) << index;
        const std::string error = rill_last_error();
        EXPECT_NE(error.find("input \"i\" holds the index " + std::to_string(index)),
                  std::string::npos)
            << error;
      }
    }
  }
}

// PyTorch and ONNX Runtime run only the selected branch, so any index is valid in the other one.
TEST(IndexInputsOfBranches, MayHoldAnything) {
  const char* const statements =
      "c = gt(max_reduce(x, axes = [0, 1]), 0.0);\n"
      "  z = slice(x, axes = [0], begin = [0], end = [1]);\n"
      "  y = select(c, tract_core_gather(x, i, axis = 0), z);";
  const IndexCase each = {"", {1}, statements, 0, 0};
  const ModelPtr model = loaded(text_of(each, "i64"));
  ASSERT_NE(model, nullptr);
  const Opened opened = open_session(model.get());
  ASSERT_NE(opened.session, nullptr) << rill_last_error();
  EXPECT_EQ(step(opened, indices("i64", each.shape, 7)), RILL_OK) << rill_last_error();
}

INSTANTIATE_TEST_SUITE_P(, IndexInputs, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

/// y streams with i; w is a row of the table for the static input k.
constexpr char kStream[] = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x, i, k) -> (y)
{
  x = tract_core_external(shape = [5, 3], datum_type = 'f32');
  i = tract_core_external(shape = [S], datum_type = 'i64');
  k = tract_core_external(shape = [1], datum_type = 'i64');
  y = tract_core_gather(x, i, axis = 0) + tract_core_gather(x, k, axis = 0);
}
)";

struct Stream {
  Opened opened;

  explicit Stream(int64_t pulse, const std::string& text = kStream) {
    const ModelPtr model = loaded(text);
    EXPECT_EQ(rill_model_pulse(model.get(), "S", std::to_string(pulse).c_str()), RILL_OK)
        << rill_last_error();
    opened = open_session(model.get());
  }
  int64_t* buffer(size_t input) const {
    rill_view view = {};
    view.size = sizeof view;
    EXPECT_EQ(rill_input_buffer(opened.session.get(), input, &view), RILL_OK);
    return static_cast<int64_t*>(view.data);
  }
  rill_status push(const std::vector<int64_t>& frames) const {
    Array array = Array::zeros(RILL_I64, {static_cast<int64_t>(frames.size())});
    std::memcpy(array.bytes.data(), frames.data(), array.bytes.size());
    const rill_view view = array.view();
    int64_t taken = 0;
    return rill_push(opened.session.get(), 1, &view, &taken);
  }
};

// The model cuts off the first two frames, so it never looks up their indices.
TEST(IndexInputsOfStreams, MayHoldAnythingInFramesThatAreCut) {
  std::string text = kStream;
  text.replace(text.find("(x, i, axis"), 6, "(x, slice(i, axes = [0], begin = [2], end = [0]),");
  const Stream stream(4, text);
  ASSERT_NE(stream.opened.session, nullptr) << rill_last_error();
  EXPECT_EQ(stream.push({9, -9, 4, 1}), RILL_OK) << rill_last_error();
}

TEST(IndexInputsOfStreams, AreCheckedInEachStep) {
  const Stream stream(4);
  ASSERT_NE(stream.opened.session, nullptr) << rill_last_error();
  int64_t* const i = stream.buffer(1);
  for (int at = 0; at < 4; ++at) i[at] = at + 1;
  EXPECT_EQ(rill_step(stream.opened.session.get()), RILL_OK) << rill_last_error();
  i[3] = 5;
  EXPECT_EQ(rill_step(stream.opened.session.get()), RILL_E_ARG);
  *stream.buffer(2) = -6;
  i[3] = 4;
  EXPECT_EQ(rill_step(stream.opened.session.get()), RILL_E_ARG);
  *stream.buffer(2) = -5;
  // Values past the end of the stream are not checked.
  i[3] = 5;
  EXPECT_EQ(rill_step_partial(stream.opened.session.get(), 3), RILL_OK) << rill_last_error();
}

TEST(IndexInputsOfStreams, AreCheckedAsTheyArePushed) {
  const Stream stream(4);
  ASSERT_NE(stream.opened.session, nullptr) << rill_last_error();
  EXPECT_EQ(stream.push({0, 4, -5}), RILL_OK) << rill_last_error();
  EXPECT_EQ(stream.push({0, 5, 2}), RILL_E_ARG);
  *stream.buffer(2) = 7;
  EXPECT_EQ(stream.push({0, 2}), RILL_E_ARG);
  *stream.buffer(2) = 1;
  EXPECT_EQ(stream.push({0, 2}), RILL_OK) << rill_last_error();
}

}  // namespace
}  // namespace rill::test
