// The C++ snippets of README.md and docs/sessions.md, inside functions of an app, lose no frame.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "rill/streamer.hpp"

namespace {

std::vector<float> used;

void use(float frame) { used.push_back(frame); }
void use(const float* frames, int64_t count) { used.insert(used.end(), frames, frames + count); }

void complain(const std::string& text) { ADD_FAILURE() << text; }

void stream_by_callback(const float* samples, int64_t count) {
#include "readme/streamer.inc"
}

void stream_by_pulling(rill::Result<rill::Plan> plan, const float* samples, int64_t count,
                       int64_t block, float* out, int64_t capacity) {
#include "readme/session.inc"
  EXPECT_TRUE(state);
}

const std::string kModel = std::string(RILL_SOURCE_DIR) + "/tests/models/vad_speech/model.nnef.tgz";

rill::Result<rill::Plan> plan_of(bool whole, int64_t samples) {
  auto model = rill::Model::load(kModel.c_str());
  EXPECT_TRUE(model && model->set("B", 1));
  EXPECT_TRUE(whole ? model->set("S", samples) : model->pulse("S", 1600));
  return model->prepare();
}

std::vector<float> whole_run(const std::vector<float>& samples) {
  auto plan = plan_of(true, static_cast<int64_t>(samples.size()));
  auto session = rill::Session::make(*plan);
  auto in = session->input<float>(0);
  for (size_t i = 0; i < samples.size(); ++i) in(0, static_cast<int64_t>(i)) = samples[i];
  EXPECT_TRUE(session->step());
  const auto out = session->output<float>(0);
  std::vector<float> frames;
  for (int64_t t = 0; t < out.extent(1); ++t) frames.push_back(out(0, t));
  return frames;
}

/// Return `count` samples of noise.
std::vector<float> sound(size_t count) {
  std::vector<float> samples(count);
  uint32_t state = 1;
  for (float& sample : samples) {
    state = state * 1664525U + 1013904223U;
    sample = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
  }
  return samples;
}

TEST(Readme, TheStreamerGivesEveryFrameOfTheWholeRun) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("rill_readme_" + std::to_string(std::rand()));
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(kModel, folder / "vad.nnef.tgz",
                             std::filesystem::copy_options::overwrite_existing);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  for (const size_t count : {1600U, 16000U, 16001U, 12345U}) {
    const std::vector<float> samples = sound(count);
    used.clear();
    stream_by_callback(samples.data(), static_cast<int64_t>(count));
    EXPECT_EQ(used, whole_run(samples)) << count;
  }
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(Readme, PushAndPullGiveEveryFrameOfTheWholeRun) {
  for (const size_t count : {1600U, 16000U, 16001U, 12345U}) {
    const std::vector<float> samples = sound(count);
    const std::vector<float> expected = whole_run(samples);
    for (const int64_t block : {1, 480, 800, 100000}) {
      for (const size_t capacity : {1U, 7U, 1000U}) {
        std::vector<float> out(capacity);
        used.clear();
        stream_by_pulling(plan_of(false, 0), samples.data(), static_cast<int64_t>(count), block,
                          out.data(), static_cast<int64_t>(capacity));
        EXPECT_EQ(used, expected) << count << ' ' << block << ' ' << capacity;
      }
    }
  }
}

}  // namespace
