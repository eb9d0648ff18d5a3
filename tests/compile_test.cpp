// The files of rill_compile open, and run like the plans of rill_prepare. Errors name the
// parts that cannot be compiled.

#include "rill/compile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/runs.h"

namespace rill::test {
namespace {

constexpr char kFolder[] = RILL_SOURCE_DIR "/tests/models/";

struct Layers {
  std::vector<std::string> small, kept;
  int64_t f32_bytes = 0, bytes = 0;
};

void add_layer(void* user, const rill_weight_layer* layer) {
  auto* layers = static_cast<Layers*>(user);
  (*layer->kept ? layers->kept : layers->small).emplace_back(layer->node);
  layers->f32_bytes += layer->f32_bytes;
  layers->bytes += layer->bytes;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Compile : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = std::string(kFolder) + "kws_gru/";
    bundle_ = read_bundle(folder + "io.npz");
    model_ = load_bound(folder + "model.nnef.tgz", bundle_, "S");
    ASSERT_TRUE(model_) << rill_last_error();
    path_ = ::testing::TempDir() + "rill_compiled_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".rill";
    opts_.size = sizeof(opts_);
    opts_.layer = add_layer;
    opts_.user = &layers_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void pulse() {
    ASSERT_EQ(rill_model_pulse(model_.get(), "S", "8"), RILL_OK) << rill_last_error();
  }
  Opened opened() const {
    rill_plan* plan = nullptr;
    EXPECT_EQ(rill_plan_open(path_.c_str(), &plan), RILL_OK) << rill_last_error();
    Opened out{PlanPtr(plan), nullptr};
    rill_session* session = nullptr;
    if (plan) {
      EXPECT_EQ(rill_session_new(plan, &session), RILL_OK) << rill_last_error();
    }
    out.session.reset(session);
    return out;
  }
  void expect_refused(rill_status code, const char* text) {
    EXPECT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), code);
    EXPECT_NE(std::strstr(rill_last_error(), text), nullptr) << rill_last_error();
    EXPECT_FALSE(std::filesystem::exists(path_));
  }

  Arrays bundle_;
  ModelPtr model_;
  std::string path_;
  Layers layers_;
  rill_compile_opts opts_ = {};
};

TEST_F(Compile, WritesFilesThatRunAsAPreparedPlan) {
  pulse();
  ASSERT_EQ(rill_compile(model_.get(), nullptr, path_.c_str()), RILL_OK) << rill_last_error();
  const Arrays compiled = run_stream(opened(), bundle_);
  const Arrays prepared = run_stream(open_session(model_.get()), bundle_);
  ASSERT_FALSE(prepared.empty());
  ASSERT_EQ(compiled.size(), prepared.size());
  for (const auto& [name, array] : prepared) {
    EXPECT_EQ(compiled.at(name).bytes, array.bytes) << name;
  }
}

/// The properties of a plan, each as "key type count text".
std::vector<std::string> properties_of(const rill_plan* plan) {
  std::vector<std::string> out;
  for (size_t i = 0; i < rill_plan_properties(plan); ++i) {
    rill_property found = {};
    found.size = sizeof(found);
    EXPECT_EQ(rill_plan_property(plan, i, &found), RILL_OK) << rill_last_error();
    out.push_back(std::string(found.key) + " " + rill_dtype_name(found.dtype) + " " +
                  std::to_string(found.count) + " " + found.text);
  }
  return out;
}

TEST_F(Compile, KeepsThePropertiesOfTheModel) {
  std::vector<std::string> expected;
  for (size_t i = 0; i < rill_model_properties(model_.get()); ++i) {
    rill_property found = {};
    found.size = sizeof(found);
    ASSERT_EQ(rill_model_property(model_.get(), i, &found), RILL_OK);
    expected.push_back(std::string(found.key) + " " + rill_dtype_name(found.dtype) + " " +
                       std::to_string(found.count) + " " + found.text);
  }
  ASSERT_GT(expected.size(), 3U);
  pulse();
  ASSERT_EQ(rill_compile(model_.get(), nullptr, path_.c_str()), RILL_OK) << rill_last_error();
  EXPECT_EQ(properties_of(opened().plan.get()), expected);
  EXPECT_EQ(properties_of(open_session(model_.get()).plan.get()), expected);
  // A plan without a graph has the same properties.
  rill_property found = {};
  found.size = sizeof(found);
  const Opened again = opened();
  ASSERT_EQ(rill_plan_property_find(again.plan.get(), "torch_version", &found), RILL_OK);
  EXPECT_STREQ(found.strings[0], found.text);
}

TEST_F(Compile, GivesTheSameBytesOnceMore) {
  pulse();
  opts_.targets = "scalar,native";
  ASSERT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), RILL_OK) << rill_last_error();
  const std::string first = bytes_of(path_);
  ASSERT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), RILL_OK) << rill_last_error();
  EXPECT_EQ(bytes_of(path_), first);
  opts_.no_notes = 1;
  ASSERT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), RILL_OK) << rill_last_error();
  EXPECT_LT(bytes_of(path_).size(), first.size());
}

TEST_F(Compile, ReportsTheLayersWhoseWeightsHaveFewerBits) {
  pulse();
  ASSERT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), RILL_OK) << rill_last_error();
  EXPECT_EQ(layers_.bytes, layers_.f32_bytes);
  const size_t whole = bytes_of(path_).size();
  const size_t count = layers_.small.size() + layers_.kept.size();
  layers_ = {};
  opts_.weights = "q8";
  ASSERT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), RILL_OK) << rill_last_error();
  ASSERT_GE(layers_.small.size(), 2U);
  EXPECT_EQ(layers_.small.size() + layers_.kept.size(), count);
  EXPECT_LT(layers_.bytes, layers_.f32_bytes);
  EXPECT_LT(bytes_of(path_).size(), whole);
  const std::string node = layers_.small[0];
  const size_t small = layers_.small.size();
  layers_ = {};
  const char* keep[] = {node.c_str()};
  opts_.keep = keep;
  opts_.keep_count = 1;
  ASSERT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), RILL_OK) << rill_last_error();
  EXPECT_EQ(layers_.small.size(), small - 1);
  // Both CPUs have the same layers, so these are reported once.
  const Layers once = std::move(layers_);
  layers_ = {};
  opts_.targets = "native,scalar";
  ASSERT_EQ(rill_compile(model_.get(), &opts_, path_.c_str()), RILL_OK) << rill_last_error();
  EXPECT_EQ(layers_.small, once.small);
  EXPECT_EQ(layers_.f32_bytes, once.f32_bytes);
}

TEST_F(Compile, LeavesOtherThreadsTheirCpu) {
  pulse();
  const std::string own = rill_cpu();
  const Arrays wanted = run_stream(open_session(model_.get()), bundle_);
  ASSERT_FALSE(wanted.empty());
  const std::string targets[] = {"scalar", "native", "native,scalar"};
  std::vector<std::thread> threads;
  for (const std::string& target : targets) {
    threads.emplace_back([&] {
      const std::string path = path_ + target;
      auto opts = opts_;
      opts.layer = nullptr;
      opts.targets = target.c_str();
      std::string first;
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(rill_compile(model_.get(), &opts, path.c_str()), RILL_OK) << rill_last_error();
        if (i == 0) first = bytes_of(path);
        EXPECT_EQ(bytes_of(path), first) << target;
      }
      std::filesystem::remove(path);
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(rill_cpu(), own);
      const Arrays got = run_stream(open_session(model_.get()), bundle_);
      ASSERT_EQ(got.size(), wanted.size());
      for (const auto& [name, array] : wanted) EXPECT_EQ(got.at(name).bytes, array.bytes) << name;
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rill_cpu(), own);
}

TEST_F(Compile, WritesNothingForRefusedOptions) {
  expect_refused(RILL_E_SYMBOL, "S");
  pulse();
  opts_.targets = "native,z80";
  expect_refused(RILL_E_ARG, "targets z80: expected native");
  opts_.targets = nullptr;
  opts_.weights = "q5";
  expect_refused(RILL_E_ARG, "weights q5: expected f32, f16, q8, q4 or int8");
  opts_.weights = "q8";
  const char* keep[] = {"nobody", nullptr};
  opts_.keep = keep;
  opts_.keep_count = 1;
  expect_refused(RILL_E_ARG, "keep nobody: no node of this name has weights");
  opts_.keep_count = 2;
  expect_refused(RILL_E_ARG, "no name at index 1");
  opts_.keep = nullptr;
  expect_refused(RILL_E_ARG, "no names of the nodes");
  opts_ = {};
  opts_.size = 4;
  expect_refused(RILL_E_ABI, "rill_compile_opts");
  opts_.size = sizeof(opts_);
  EXPECT_EQ(rill_compile(nullptr, &opts_, path_.c_str()), RILL_E_ARG);
  EXPECT_EQ(rill_compile(model_.get(), &opts_, nullptr), RILL_E_ARG);
  EXPECT_EQ(rill_compile(model_.get(), &opts_, (path_ + "/no/folder").c_str()), RILL_E_IO);
}

}  // namespace
}  // namespace rill::test
