// Every model that streams gives, pulse by pulse, the bits of its whole run.
//
// RILL_PULSES=64 tries every legal pulse of up to 64 units.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/models.h"
#include "tests/support/runs.h"
#include "tests/support/sanitized.h"

namespace rill::test {
namespace {

// A Fourier transform of several frames at once may round differently from single ones; the
// tolerance against the whole run.
constexpr double kFftAtol = 1e-5;
constexpr double kFftRtol = 1e-4;

/// Return the list, or every fourth element under sanitizers, where a run takes fifty times as
/// long.
std::vector<int64_t> sampled(std::vector<int64_t> all) {
#ifdef RILL_SANITIZED
  size_t at = 0;
  std::erase_if(all, [&](int64_t) { return at++ % 4 != 0; });
#endif
  return all;
}

bool has_fft(const ModelFolder& model) {
  return model.name == "vad_speech" || model.name == "vad_marblenet_audio";
}

/// The lengths that the conditions on S in the model's README allow.
struct Lengths {
  int64_t unit = 1;
  int64_t least = 1;
};

Lengths lengths_of(const ModelFolder& model) {
  if (model.unit > 1) return {model.unit, model.unit};
  if (model.name == "vad_speech") return {1, 160};
  if (model.name == "conv_tasnet" || model.name == "wav2vec_features" || model.name == "wavenet") {
    return {1, 16};
  }
  if (model.name == "vad_marblenet_audio") return {1, 512};
  return {};
}

const std::string& streaming_input(const Arrays& bundle, const ModelFolder& model) {
  static const std::string names[] = {"mel", "melbank", "features", "noisy", "audio", "spectrum"};
  for (const std::string& name : names) {
    if (bundle.contains(name)) return name;
  }
  ADD_FAILURE() << model.name << ": no input that streams is known by name";
  return names[0];
}

int stream_axis(const ModelFolder& model, const Arrays& bundle) {
  const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  rill_stream_info info = {};
  info.size = sizeof(info);
  if (!stream.plan || rill_plan_stream(stream.plan.get(), 0, &info) != RILL_OK) {
    ADD_FAILURE() << rill_last_error();
    return 0;
  }
  return info.input_axis;
}

void expect_same(const ModelFolder& model, const Arrays& streamed, const Arrays& whole) {
  ASSERT_FALSE(streamed.empty()) << rill_last_error();
  for (const auto& [name, output] : whole) {
    ASSERT_TRUE(streamed.contains(name)) << name;
    const Array& found = streamed.at(name);
    const bool rounds = has_fft(model) || has_attention(model);
    EXPECT_EQ(
        rounds ? difference(found, output, kFftAtol, kFftRtol) : bit_difference(found, output), "")
        << name;
  }
}

void expect_no_frames(const Arrays& streamed) {
  ASSERT_FALSE(streamed.empty()) << rill_last_error();
  for (const auto& [name, output] : streamed) EXPECT_EQ(output.volume(), 0) << name;
}

class Stream : public ::testing::TestWithParam<ModelFolder> {
 protected:
  void TearDown() override { (void)rill_set_cpu_limit(nullptr); }
};

TEST_P(Stream, GivesTheReferenceOutputs) {
  const ModelFolder& model = GetParam();
  for (const std::string& path : model.bundles) {
    const Arrays bundle = read_bundle(path);
    for (const int64_t times : {1, 2, 5}) {
      SCOPED_TRACE(path + ", pulse times " + std::to_string(times));
      const Opened stream = open_stream(model.archive, bundle, model.symbol, times * model.pulse);
      ASSERT_TRUE(stream.session) << rill_last_error();
      const Arrays streamed = run_stream(stream, bundle);
      ASSERT_FALSE(streamed.empty()) << rill_last_error();
      for (const auto& [name, output] : streamed) {
        EXPECT_EQ(difference(output, bundle.at(name), 1e-4, 5e-4), "") << name;
      }
    }
  }
}

TEST_P(Stream, HasTheDelayThatItMustHave) {
  const ModelFolder& model = GetParam();
  if (model.delay < 0) return;
  const Arrays bundle = read_bundle(model.bundles[0]);
  for (const int64_t times : {1, 2, 5}) {
    const Opened stream = open_stream(model.archive, bundle, model.symbol, times * model.pulse);
    ASSERT_TRUE(stream.plan) << rill_last_error();
    rill_stream_info info = {};
    info.size = sizeof(info);
    ASSERT_EQ(rill_plan_stream(stream.plan.get(), 0, &info), RILL_OK) << rill_last_error();
    EXPECT_EQ(info.delay, model.delay) << "pulse " << times * model.pulse;
  }
}

TEST_P(Stream, GivesTheBitsOfTheWholeRunAtAnyLength) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const std::string& input = streaming_input(bundle, model);
  const int axis = stream_axis(model, bundle);
  const auto [unit, least] = lengths_of(model);
  std::vector<int64_t> shape = bundle.at(input).shape;
  for (const int64_t times : sampled({2, 1, 5})) {
    const int64_t pulse = times * model.pulse;
    const Opened stream = open_stream(model.archive, bundle, model.symbol, pulse);
    ASSERT_TRUE(stream.session) << rill_last_error();
    std::set<int64_t> lengths;
    for (const int64_t length : {int64_t{1}, least, pulse / 2, pulse - 1, pulse, pulse + 1,
                                 2 * pulse, 3 * pulse + pulse / 2 + 1, 6 * pulse - 1}) {
      lengths.insert(std::max(least, length / unit * unit));
    }
    for (const int64_t length : lengths) {
      SCOPED_TRACE("pulse " + std::to_string(pulse) + ", length " + std::to_string(length));
      shape[static_cast<size_t>(axis)] = length;
      const Arrays noise = {{input, Array::noise(shape, static_cast<uint32_t>(length))}};
      ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
      const Arrays streamed = run_stream(stream, noise);
      const Arrays whole = run_whole(model.archive, noise);
      // The stream is too short for one output frame, so the whole run has no shape to compare.
      whole.empty() ? expect_no_frames(streamed) : expect_same(model, streamed, whole);
    }
  }
}

int64_t most_pulses() {
  const char* text = std::getenv("RILL_PULSES");
  return text ? std::strtoll(text, nullptr, 10) : 3;
}

TEST_P(Stream, GivesTheBitsOfTheWholeRunAtEveryLegalPulse) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const std::string& input = streaming_input(bundle, model);
  const auto [unit, least] = lengths_of(model);
  // For audio, a tenth of the reference pulse is one unit: usually one frame of features.
  const int64_t pulse_unit = model.pulse > 64 ? model.pulse / 10 : 1;
  std::vector<int64_t> shape = bundle.at(input).shape;
  std::vector<std::pair<Arrays, Arrays>> runs;
  for (const int64_t frames :
       sampled({1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 32, 33, 47, 64, 65, 96, 101, 150})) {
    const int64_t length = std::max(least, frames * pulse_unit / unit * unit);
    shape[static_cast<size_t>(stream_axis(model, bundle))] = length;
    Arrays noise = {{input, Array::noise(shape, static_cast<uint32_t>(length))}};
    Arrays whole = run_whole(model.archive, noise);
    runs.emplace_back(std::move(noise), std::move(whole));
  }
  int legal = 0;
  for (int64_t times = 1; times <= most_pulses() || legal == 0; ++times) {
    ASSERT_LE(times, 64) << "no legal pulse: " << rill_last_error();
    const Opened stream = open_stream(model.archive, bundle, model.symbol, times * pulse_unit);
    if (!stream.session) continue;
    ++legal;
    for (const auto& [noise, whole] : runs) {
      SCOPED_TRACE(
          "pulse " + std::to_string(times * pulse_unit) + ", frames " +
          std::to_string(noise.at(input).shape[static_cast<size_t>(stream_axis(model, bundle))]));
      ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
      const Arrays streamed = run_stream(stream, noise);
      whole.empty() ? expect_no_frames(streamed) : expect_same(model, streamed, whole);
      if (HasFailure()) return;
    }
  }
  std::printf("%s: %d legal pulses\n", model.name.c_str(), legal);
}

TEST_P(Stream, GivesTheSameAfterReset) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  const Arrays first = run_stream(stream, bundle);
  ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
  const Arrays second = run_stream(stream, bundle);
  ASSERT_FALSE(first.empty()) << rill_last_error();
  for (const auto& [name, output] : first) {
    EXPECT_EQ(bit_difference(second.at(name), output), "") << name;
  }
}

TEST_P(Stream, GivesTheBitsOfTheWholeRunOnEveryTier) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles.back());
  for (const char* tier : {"scalar", "sse42", "avx2", "avx512", "neon"}) {
    SCOPED_TRACE(tier);
    ASSERT_EQ(rill_set_cpu_limit(tier), RILL_OK);
    const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
    ASSERT_TRUE(stream.session) << rill_last_error();
    const Arrays whole = run_whole(model.archive, bundle);
    ASSERT_FALSE(whole.empty()) << rill_last_error();
    expect_same(model, run_stream(stream, bundle), whole);
  }
}

TEST_P(Stream, ContinuesInACloneAsInTheOriginal) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  // The stream starts with other frames, so that both sessions continue from one state.
  ASSERT_EQ(rill_step(stream.session.get()), RILL_OK);
  rill_session* copy = nullptr;
  ASSERT_EQ(rill_session_clone(stream.session.get(), &copy), RILL_OK) << rill_last_error();
  const Arrays original = run_stream(stream, bundle);
  stream.session.reset(copy);
  const Arrays cloned = run_stream(stream, bundle);
  ASSERT_FALSE(original.empty()) << rill_last_error();
  for (const auto& [name, output] : original) {
    EXPECT_EQ(bit_difference(cloned.at(name), output), "") << name;
  }
}

TEST_P(Stream, MayLearnOfItsEndAStepLater) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const std::string& input = streaming_input(bundle, model);
  std::vector<int64_t> shape = bundle.at(input).shape;
  shape[static_cast<size_t>(stream_axis(model, bundle))] = 4 * model.pulse;
  const Arrays noise = {{input, Array::noise(shape, 7)}};
  const Opened stream = open_stream(model.archive, noise, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  const Arrays whole = run_whole(model.archive, noise);
  ASSERT_FALSE(whole.empty()) << rill_last_error();
  expect_same(model, run_stream(stream, noise, EndAnnounced::kAStepLater), whole);
}

INSTANTIATE_TEST_SUITE_P(, Stream, ::testing::ValuesIn(streaming_models()), ModelName());

/// A smoothing filter with 3 frames of lookahead and stride 2, at a pulse that rill chooses.
ModelPtr chosen(const char* pulse, rill_status* status) {
  constexpr std::string_view kText =
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
      "graph network(x) -> (y)\n{\n"
      "  x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');\n"
      "  y = box(x, size = [1, 1, 8], padding = [(0, 0), (0, 0), (4, 3)], stride = [1, 1, 2],\n"
      "          border = 'constant', normalize = true);\n}\n";
  rill_model* raw = nullptr;
  EXPECT_EQ(rill_load_memory(kText.data(), kText.size(), nullptr, &raw), RILL_OK)
      << rill_last_error();
  *status = rill_model_pulse(raw, "S", pulse);
  return ModelPtr(raw);
}

TEST(ChosenPulse, IsWithinItsBounds) {
  struct Bound {
    const char* text;
    int64_t least, most, latency;
  };
  for (const Bound& bound : {Bound{"auto", 2, 1000, 1000}, Bound{"auto:min=9,max=13", 10, 12, 1000},
                             Bound{"auto:max_latency=9", 2, 8, 9},
                             Bound{"auto:max_delay=2", 2, 1000, 1000},
                             Bound{" auto : max = 3", 2, 2, 5}}) {
    SCOPED_TRACE(bound.text);
    rill_status status = RILL_OK;
    const ModelPtr model = chosen(bound.text, &status);
    ASSERT_EQ(status, RILL_OK) << rill_last_error();
    const Opened opened = open_session(model.get());
    ASSERT_TRUE(opened.session) << rill_last_error();
    rill_stream_info info = {};
    info.size = sizeof(info);
    ASSERT_EQ(rill_plan_stream(opened.plan.get(), 0, &info), RILL_OK);
    EXPECT_EQ(info.input_pulse % 2, 0);
    EXPECT_GE(info.input_pulse, bound.least);
    EXPECT_LE(info.input_pulse, bound.most);
    EXPECT_LE(info.input_pulse - 1 + 2 * info.delay, bound.latency);
  }
}

TEST(ChosenPulse, MayBeLongerThanOnesWithMoreLatency) {
  // Layers over chunks of 16 frames wait for a whole chunk at every pulse that ends within a chunk.
  rill_model* raw = nullptr;
  const char* archive = RILL_SOURCE_DIR "/tests/models/conformer_chunks/model.nnef.tgz";
  ASSERT_EQ(rill_load(archive, nullptr, &raw), RILL_OK) << rill_last_error();
  const ModelPtr model(raw);
  ASSERT_EQ(rill_model_set_symbol(raw, "B", "1"), RILL_OK) << rill_last_error();
  EXPECT_NE(rill_model_pulse(raw, "S", "auto:max_latency=14"), RILL_OK);
  ASSERT_EQ(rill_model_pulse(raw, "S", "auto:max_latency=15"), RILL_OK) << rill_last_error();
  const Opened opened = open_session(raw);
  ASSERT_TRUE(opened.session) << rill_last_error();
  rill_stream_info info = {};
  info.size = sizeof(info);
  ASSERT_EQ(rill_plan_stream(opened.plan.get(), 0, &info), RILL_OK);
  EXPECT_EQ(info.input_pulse, 16);
  EXPECT_EQ(info.delay, 0);
}

TEST(ChosenPulse, ThatDoesNotExistIsRefused) {
  for (const char* text :
       {"auto:max_delay=1", "auto:max_latency=2", "auto:max=1", "auto:min=3,max=3",
        "auto:min=4,max=2", "auto:min=0", "auto:max_latency=-1",
        "auto:max=9223372036854775808", "auto:min", "auto:", "auto:,", "auto:delay=3",
        "auto:min=9223372036854775807", "automatic"}) {
    rill_status status = RILL_OK;
    const ModelPtr model = chosen(text, &status);
    EXPECT_NE(status, RILL_OK) << text;
    EXPECT_NE(std::string(rill_last_error()), "") << text;
    // The refusal left the model unchanged.
    EXPECT_EQ(rill_model_pulse(model.get(), "S", "4"), RILL_OK) << text;
  }
}

TEST(StreamLength, CountsFramesOfTheInputWhereItsSymbolCountsTwo) {
  const std::string folder = RILL_SOURCE_DIR "/tests/graphs/two_frames_per_symbol";
  const Opened stream = open_stream(folder, {{"x", Array::noise({1, 1, 6}, 1)}}, "S", 3);
  ASSERT_TRUE(stream.session) << rill_last_error();
  EXPECT_EQ(rill_step_partial(stream.session.get(), 3), RILL_E_SHAPE) << "half a unit of S";
  for (const int64_t units : {1, 2, 3, 4, 6, 10}) {
    const Arrays noise = {{"x", Array::noise({1, 1, 2 * units}, 9)}};
    rill_model* raw = nullptr;
    ASSERT_EQ(rill_load(folder.c_str(), nullptr, &raw), RILL_OK) << rill_last_error();
    const ModelPtr model(raw);
    const std::string value = std::to_string(units);
    ASSERT_EQ(rill_model_set_symbol(raw, "S", value.c_str()), RILL_OK) << rill_last_error();
    const Opened whole = open_session(raw);
    ASSERT_TRUE(whole.session) << rill_last_error();
    Array want = Array::zeros(RILL_F32, {1, 1, units});
    const rill_view in = noise.at("x").view();
    const rill_view out = want.view();
    ASSERT_EQ(rill_run(whole.session.get(), &in, 1, &out, 1), RILL_OK) << rill_last_error();
    ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
    const Arrays streamed = run_stream(stream, noise);
    ASSERT_FALSE(streamed.empty()) << rill_last_error();
    EXPECT_EQ(bit_difference(streamed.at("y"), want), "") << units << " units";
  }
}

TEST(StreamLength, ThatDoesNotSuitTheModelIsRefusedAndChangesNothing) {
  const std::string folder = RILL_SOURCE_DIR "/tests/models/unet_denoiser/";
  const Arrays noise = {{"noisy", Array::noise({1, 1, 24}, 5)}};
  const Opened stream = open_stream(folder + "model.nnef.tgz", noise, "S", 8);
  ASSERT_TRUE(stream.session) << rill_last_error();
  EXPECT_EQ(rill_step_partial(stream.session.get(), 5), RILL_E_SHAPE);
  EXPECT_NE(std::string(rill_last_error()).find("5 frames"), std::string::npos);
  const Arrays streamed = run_stream(stream, noise);
  const Arrays whole = run_whole(folder + "model.nnef.tgz", noise);
  ASSERT_FALSE(whole.empty()) << rill_last_error();
  ASSERT_FALSE(streamed.empty()) << rill_last_error();
  EXPECT_EQ(bit_difference(streamed.at("clean"), whole.at("clean")), "");
}

TEST(StreamLength, ThatIsAssertedOtherwiseIsRefused) {
  const std::string folder = RILL_SOURCE_DIR "/tests/graphs/even_lengths";
  const Opened stream = open_stream(folder, {{"x", Array::noise({1, 1, 8}, 1)}}, "S", 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* session = stream.session.get();
  EXPECT_EQ(rill_step_partial(session, 2), RILL_E_SHAPE) << "at least 4";
  EXPECT_NE(std::string(rill_last_error()).find("-4+S"), std::string::npos) << rill_last_error();
  ASSERT_EQ(rill_step(session), RILL_OK) << rill_last_error();
  EXPECT_EQ(rill_step_partial(session, 3), RILL_E_SHAPE) << "an odd number";
  EXPECT_EQ(rill_step_partial(session, 2), RILL_OK) << rill_last_error();
  ASSERT_EQ(rill_session_reset(session), RILL_OK);
  EXPECT_EQ(rill_step_partial(session, 0), RILL_E_SHAPE) << "at least 4, and no frames are none";
}

// A table of 20 rows, read from row 2.
TEST(StreamLength, OfMoreFramesThanATableHasRowsIsRefused) {
  const std::string folder = RILL_SOURCE_DIR "/tests/graphs/position_table";
  const Opened stream = open_stream(folder, {{"x", Array::noise({18, 4}, 1)}}, "S", 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* session = stream.session.get();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(rill_step(session), RILL_OK) << rill_last_error();
  EXPECT_EQ(rill_step(session), RILL_E_SHAPE);
  EXPECT_NE(std::string(rill_last_error()).find("18 S"), std::string::npos) << rill_last_error();
  EXPECT_EQ(rill_step_partial(session, 3), RILL_E_SHAPE);
  EXPECT_EQ(rill_step_partial(session, 2), RILL_OK) << rill_last_error();

  ASSERT_EQ(rill_session_reset(session), RILL_OK);
  const Array frames = Array::noise({19, 4}, 1);
  rill_view view = frames.view();
  int64_t taken = 0;
  EXPECT_EQ(rill_push(session, 0, &view, &taken), RILL_E_SHAPE);
  EXPECT_NE(std::string(rill_last_error()).find("18 more frames"), std::string::npos);
  Array got = Array::zeros(RILL_F32, {20, 4});
  const rill_view out = got.view();
  const int64_t three[] = {3, 4};
  view.shape = three;
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(rill_push(session, 0, &view, &taken), RILL_OK) << rill_last_error();
    ASSERT_EQ(taken, 3);
    int64_t given = 0;
    ASSERT_EQ(rill_pull(session, 0, &out, &given), RILL_OK) << rill_last_error();
  }
  EXPECT_EQ(rill_push(session, 0, &view, &taken), RILL_E_SHAPE);
  EXPECT_EQ(rill_finish(session), RILL_OK) << rill_last_error();
}

}  // namespace
}  // namespace rill::test
