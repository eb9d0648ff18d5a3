// Tests of binding symbols by input shapes, of listing operators, and of timing nodes.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

constexpr char kRegression[] = RILL_SOURCE_DIR "/tests/models/linear_regression/model.nnef.tgz";

template <class Info>
Info sized() {
  Info info = {};
  info.size = sizeof(info);
  return info;
}

ModelPtr loaded(const std::string& archive) {
  rill_model* model = nullptr;
  EXPECT_EQ(rill_load(archive.c_str(), nullptr, &model), RILL_OK) << rill_last_error();
  return ModelPtr(model);
}

std::string text_of(const rill_model* model, rill_dir dir) {
  auto io = sized<rill_io_info>();
  return rill_model_io(model, dir, 0, &io) == RILL_OK ? io.text : rill_last_error();
}

class Shapes : public ::testing::TestWithParam<ModelFolder> {};

// Symbols bound by the input shapes give the outputs of symbols bound by name, one at a time.
TEST_P(Shapes, DetermineTheSymbols) {
  for (const std::string& path : GetParam().bundles) {
    SCOPED_TRACE(path);
    const Arrays bundle = read_bundle(path);
    const ModelPtr model = loaded(GetParam().archive);
    std::vector<rill_view> views;
    auto io = sized<rill_io_info>();
    for (size_t i = 0; rill_model_io(model.get(), RILL_INPUT, i, &io) == RILL_OK; ++i) {
      views.push_back(bundle.at(io.name).view());
    }
    ASSERT_EQ(rill_model_set_shapes(model.get(), views.data(), views.size()), RILL_OK)
        << rill_last_error();
    const Opened opened = open_session(model.get());
    ASSERT_NE(opened.session, nullptr) << rill_last_error();
    const Arrays wanted = run_whole(GetParam().archive, bundle);
    for (const auto& [name, output] : run_once(opened, bundle)) {
      EXPECT_EQ(bit_difference(output, wanted.at(name)), "") << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Shapes, ::testing::ValuesIn(all_models()), ModelName());

TEST(Shape, ThatDoesNotFitChangesNothing) {
  const ModelPtr model = loaded(kRegression);
  const std::vector<int64_t> wrong = {16, 11};
  auto view = sized<rill_view>();
  view.rank = 2;
  view.shape = wrong.data();
  EXPECT_EQ(rill_model_set_shapes(model.get(), &view, 1), RILL_E_SHAPE);
  EXPECT_STREQ(rill_last_error(), "\"x\": axis 1 is 11, expected 10");
  EXPECT_EQ(text_of(model.get(), RILL_INPUT), "B,10,F32");
  const std::vector<int64_t> right = {16, 10};
  view.shape = right.data();
  EXPECT_EQ(rill_model_set_shapes(model.get(), &view, 1), RILL_OK) << rill_last_error();
  EXPECT_EQ(text_of(model.get(), RILL_INPUT), "16,10,F32");
  EXPECT_EQ(text_of(model.get(), RILL_OUTPUT), "16,1,F32");
}

TEST(Operators, AreCountedByName) {
  const ModelPtr model = loaded(kRegression);
  std::map<std::string, int64_t> counts;
  const char* name = "";
  int64_t nodes = 0;
  for (size_t i = 0; rill_model_operator(model.get(), i, &name, &nodes) == RILL_OK && name; ++i) {
    counts[name] = nodes;
  }
  const std::map<std::string, int64_t> wanted = {
      {"Add", 1}, {"Const", 2}, {"EinSum", 1}, {"Source", 1}};
  EXPECT_EQ(counts, wanted);
}

// A timed step adds to the time of at least one node, and gives the bits of an untimed step.
TEST(TimedStep, GivesTheFramesOfAStep) {
  const std::string folder = RILL_SOURCE_DIR "/tests/models/kws_gru/";
  const Arrays bundle = read_bundle(folder + "io.npz");
  const Opened timed = open_stream(folder + "model.nnef.tgz", bundle, "S", 8);
  const Opened plain = open_stream(folder + "model.nnef.tgz", bundle, "S", 8);
  ASSERT_NE(timed.session, nullptr) << rill_last_error();
  size_t nodes = 0;
  const char* name = "";
  const char* op = nullptr;
  while (rill_plan_node(timed.plan.get(), nodes, &name, &op) == RILL_OK && name) ++nodes;
  ASSERT_GT(nodes, 0U);
  std::vector<int64_t> nanoseconds(nodes);
  for (int step = 0; step < 5; ++step) {
    const Array noise = Array::noise({2, 8, 40}, static_cast<uint32_t>(step));
    Array outputs[2];
    int64_t before = 0, after = 0;
    for (const int64_t ns : nanoseconds) before += ns;
    for (const Opened* each : {&timed, &plain}) {
      auto view = sized<rill_view>();
      ASSERT_EQ(rill_input_buffer(each->session.get(), 0, &view), RILL_OK);
      std::copy(noise.bytes.begin(), noise.bytes.end(), static_cast<std::byte*>(view.data));
      ASSERT_EQ(each == &timed ? rill_step_timed(each->session.get(), nanoseconds.data(), nodes)
                               : rill_step(each->session.get()),
                RILL_OK)
          << rill_last_error();
      ASSERT_EQ(rill_output_buffer(each->session.get(), 0, &view), RILL_OK);
      Array& output = outputs[each == &plain];
      output = Array::zeros(view.dtype, {view.shape, view.shape + view.rank});
      const auto* const data = static_cast<const std::byte*>(view.data);
      std::copy(data, data + output.bytes.size(), output.bytes.begin());
    }
    for (const int64_t ns : nanoseconds) after += ns;
    EXPECT_GT(after, before);
    EXPECT_EQ(bit_difference(outputs[0], outputs[1]), "") << step;
  }
}

}  // namespace
}  // namespace rill::test
