// Every model of tests/models, run whole, gives the outputs that came with it.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

// Both sides round; these bounds are those of the exporter's own check.
constexpr double kAtol = 1e-4;
constexpr double kRtol = 5e-4;

const char* const kTiers[] = {"scalar", "sse42", "avx2", "avx512", "neon"};

class Model : public ::testing::TestWithParam<ModelFolder> {
 protected:
  void TearDown() override { (void)rill_set_cpu_limit(nullptr); }
};

void expect_reference(const ModelFolder& model, const std::string& bundle_path) {
  SCOPED_TRACE(bundle_path);
  const Arrays bundle = read_bundle(bundle_path);
  const Arrays outputs = run_whole(model.archive, bundle);
  ASSERT_FALSE(outputs.empty()) << rill_last_error();
  for (const auto& [name, output] : outputs) {
    ASSERT_TRUE(bundle.contains(name)) << name;
    EXPECT_EQ(difference(output, bundle.at(name), kAtol, kRtol), "") << name;
  }
}

TEST_P(Model, GivesTheReferenceOutputs) {
  ASSERT_FALSE(GetParam().bundles.empty());
  for (const std::string& bundle : GetParam().bundles) expect_reference(GetParam(), bundle);
}

TEST_P(Model, GivesTheReferenceOutputsOnEveryTier) {
  for (const char* tier : kTiers) {
    ASSERT_EQ(rill_set_cpu_limit(tier), RILL_OK);
    SCOPED_TRACE(tier);
    expect_reference(GetParam(), GetParam().bundles.back());
  }
}

TEST_P(Model, GivesTheSameWhenRunAgain) {
  const Arrays bundle = read_bundle(GetParam().bundles[0]);
  const ModelPtr model = load_bound(GetParam().archive, bundle, "");
  ASSERT_NE(model, nullptr) << rill_last_error();
  const Opened opened = open_session(model.get());
  ASSERT_NE(opened.session, nullptr) << rill_last_error();
  const Arrays first = run_once(opened, bundle);
  const Arrays second = run_once(opened, bundle);
  ASSERT_FALSE(first.empty()) << rill_last_error();
  for (const auto& [name, output] : first) {
    EXPECT_EQ(bit_difference(second.at(name), output), "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(, Model, ::testing::ValuesIn(all_models()), ModelName());

TEST(Container, FolderTarAndTgzGiveTheSameModel) {
  const std::string folder = RILL_SOURCE_DIR "/tests/models/linear_regression/";
  const Arrays bundle = read_bundle(folder + "io.npz");
  const Arrays tgz = run_whole(folder + "model.nnef.tgz", bundle);
  ASSERT_FALSE(tgz.empty()) << rill_last_error();
  for (const char* other : {"model.nnef.tar", "model.nnef", "model.nnef/graph.nnef"}) {
    const Arrays outputs = run_whole(folder + other, bundle);
    ASSERT_FALSE(outputs.empty()) << other << ": " << rill_last_error();
    EXPECT_EQ(bit_difference(outputs.at("y"), tgz.at("y")), "") << other;
  }
}

}  // namespace
}  // namespace rill::test
