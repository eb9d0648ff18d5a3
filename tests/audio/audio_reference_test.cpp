// Effects and listeners of models with a second input: both inputs of a frame reach the model
// together, at any rate, block size and number of channels.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "rill/audio.h"
#include "rill/audio.hpp"

namespace rill::test {
namespace {

/// Return a model of `y[t] = 0.5 x[t] + 0.25 r[t - 2]` with inputs of these shapes.
Result<Plan> cancelling(const std::string& shape, const std::string& reference, int64_t pulse) {
  const std::string text = "version 1.0;\nextension tract_registry tract_core;\n"
                           "extension tract_symbol S;\n"
                           "graph network(x, r) -> (y)\n{\n"
                           "    x = tract_core_external(shape = [" + shape +
                           "], datum_type = 'f32');\n"
                           "    r = tract_core_external(shape = [" + reference +
                           "], datum_type = 'f32');\n"
                           "    late = pad(r, padding = [(0, 0), (0, 0), (2, 0)]);\n"
                           "    part = slice(late, axes = [2], begin = [0], end = [-2]);\n"
                           "    y = x * 0.5 + part * 0.25;\n}\n";
  auto model = Model::load(text.data(), text.size());
  if (!model) return model.error();
  if (!model->pulse("S", pulse)) return Error::last();
  return model->prepare();
}

std::vector<float> noise(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& value : out) value = draw(random);
  return out;
}

AudioOptions options(int64_t device, int32_t channels, int32_t reference, int64_t block = 0) {
  AudioOptions out = {device, 16000, channels, block};
  out.reference_channels = reference;
  return out;
}

float wanted(const std::vector<float>& sound, const std::vector<float>& reference, int64_t t) {
  const auto at = [](const std::vector<float>& all, int64_t i) {
    return i >= 0 && i < static_cast<int64_t>(all.size()) ? all[static_cast<size_t>(i)] : 0.0f;
  };
  return at(sound, t) * 0.5f + at(reference, t - 2) * 0.25f;
}

/// Return the frames of one channel of interleaved sound.
std::vector<float> channel_of(const std::vector<float>& all, int32_t channels, int32_t channel) {
  std::vector<float> out;
  const auto step = static_cast<size_t>(channels);
  for (auto i = static_cast<size_t>(channel); i < all.size(); i += step) out.push_back(all[i]);
  return out;
}

struct Form {
  const char* name;
  const char* shape;
  const char* reference;
  int32_t channels;
  int32_t reference_channels;
};
const Form kForms[] = {{"mono", "1, 1, S", "1, 1, S", 1, 1},
                       {"a model for each channel", "1, 1, S", "1, 1, S", 2, 1},
                       {"two channels", "1, 2, S", "1, 1, S", 2, 1},
                       {"a reference for each channel", "1, 2, S", "1, 2, S", 2, 2},
                       {"two entries of a batch", "2, 1, S", "2, 1, S", 2, 2}};

TEST(AudioReference, IsHeardInTheFrameInWhichItPlays) {
  for (const Form& form : kForms) {
    for (const int64_t pulse : {1, 7, 160}) {
      auto plan = cancelling(form.shape, form.reference, pulse);
      ASSERT_TRUE(plan) << plan.error().text;
      for (const bool worker : {false, true}) {
        AudioOptions opts = options(16000, form.channels, form.reference_channels);
        opts.worker = worker;
        auto effect = AudioEffect::make(*plan, opts);
        ASSERT_TRUE(effect) << form.name << ": " << effect.error().text;
        effect->offline(true);
        constexpr int64_t kFrames = 2000;
        const std::vector<float> sound = noise(kFrames * form.channels, 1);
        const std::vector<float> reference = noise(kFrames * form.reference_channels, 2);
        std::vector<float> out(sound.size());
        std::mt19937 random(3);
        for (int64_t at = 0; at < kFrames;) {
          const auto drawn = static_cast<int64_t>(random() % 400);
          const int64_t count = std::min(drawn, kFrames - at);
          const auto in = ConstSound::interleaved(sound.data() + at * form.channels, form.channels,
                                                  count);
          const auto second = ConstSound::interleaved(
              reference.data() + at * form.reference_channels, form.reference_channels, count);
          ASSERT_EQ(effect->process(in, second,
                                    Sound::interleaved(out.data() + at * form.channels,
                                                       form.channels, count)),
                    RILL_OK);
          at += count;
        }
        for (int32_t channel = 0; channel < form.channels; ++channel) {
          const auto x = channel_of(sound, form.channels, channel);
          const auto r = channel_of(reference, form.reference_channels,
                                    form.reference_channels == 1 ? 0 : channel);
          const auto y = channel_of(out, form.channels, channel);
          for (int64_t i = 0; i < kFrames; ++i) {
            ASSERT_EQ(y[static_cast<size_t>(i)], wanted(x, r, i - effect->latency()))
                << form.name << ", pulse " << pulse << ", frame " << i;
          }
        }
      }
    }
  }
}

TEST(AudioReference, OfSeveralChannelsIsTheirMeanWhereTheModelHearsOne) {
  auto plan = cancelling("1, 1, S", "1, 1, S", 64);
  ASSERT_TRUE(plan) << plan.error().text;
  auto effect = AudioEffect::make(*plan, options(16000, 1, 2));
  ASSERT_TRUE(effect) << effect.error().text;
  const std::vector<float> sound = noise(1000, 4);
  const std::vector<float> reference = noise(2000, 5);
  std::vector<float> mean;
  for (size_t i = 0; i < 2000; i += 2) mean.push_back((reference[i] + reference[i + 1]) * 0.5f);
  std::vector<float> out(1000);
  ASSERT_EQ(effect->process(ConstSound::interleaved(sound.data(), 1, 1000),
                            ConstSound::interleaved(reference.data(), 2, 1000),
                            Sound::interleaved(out.data(), 1, 1000)),
            RILL_OK);
  for (int64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(out[static_cast<size_t>(i)], wanted(sound, mean, i - effect->latency()));
  }
}

TEST(AudioReference, AtAnotherRateIsResampledAsTheFirstInputIs) {
  // With the same sound for both, `y` equals that of the model with `r = x` built in.
  const char kOne[] = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
    x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');
    late = pad(x, padding = [(0, 0), (0, 0), (2, 0)]);
    part = slice(late, axes = [2], begin = [0], end = [-2]);
    y = x * 0.5 + part * 0.25;
}
)";
  auto model = Model::load(kOne, sizeof kOne - 1);
  ASSERT_TRUE(model) << model.error().text;
  ASSERT_TRUE(model->pulse("S", 160));
  auto one = model->prepare();
  ASSERT_TRUE(one) << one.error().text;
  auto two = cancelling("1, 1, S", "1, 1, S", 160);
  ASSERT_TRUE(two) << two.error().text;
  for (const int64_t device : {8000, 44100, 48000}) {
    for (const int crossings : {8, 32, 100}) {
      AudioOptions opts = options(device, 1, 0, 128);
      opts.crossings = crossings;
      auto want = AudioEffect::make(*one, opts);
      opts.reference_channels = 1;
      auto found = AudioEffect::make(*two, opts);
      ASSERT_TRUE(want && found);
      EXPECT_EQ(found->latency(), want->latency());
      std::vector<float> first = noise(128 * 100, 6);
      std::vector<float> second = first;
      for (int64_t at = 0; at < 128 * 100; at += 128) {
        const auto in = ConstSound::interleaved(first.data() + at, 1, 128);
        ASSERT_EQ(want->process(in, Sound::interleaved(first.data() + at, 1, 128)), RILL_OK);
        // The output may overwrite both inputs.
        const auto same = ConstSound::interleaved(second.data() + at, 1, 128);
        ASSERT_EQ(found->process(same, same, Sound::interleaved(second.data() + at, 1, 128)),
                  RILL_OK);
      }
      ASSERT_EQ(first, second) << device << " " << crossings;
    }
  }
}

TEST(AudioReference, MoreCrossingsTakeLonger) {
  auto plan = cancelling("1, 1, S", "1, 1, S", 160);
  ASSERT_TRUE(plan);
  int64_t last = 0;
  for (const int crossings : {8, 32, 256}) {
    AudioOptions opts = options(48000, 1, 1);
    opts.crossings = crossings;
    auto effect = AudioEffect::make(*plan, opts);
    ASSERT_TRUE(effect) << effect.error().text;
    EXPECT_GT(effect->latency(), last);
    last = effect->latency();
  }
}

TEST(AudioReference, SavedEffectsContinueWithTheSameBits) {
  for (const Form& form : kForms) {
    auto plan = cancelling(form.shape, form.reference, 33);
    ASSERT_TRUE(plan) << plan.error().text;
    for (const bool worker : {false, true}) {
      AudioOptions opts = options(44100, form.channels, form.reference_channels);
      opts.worker = worker;
      auto first = AudioEffect::make(*plan, opts);
      auto second = AudioEffect::make(*plan, opts);
      ASSERT_TRUE(first && second);
      first->offline(true);
      second->offline(true);
      const auto play = [&](AudioEffect& effect, unsigned seed) {
        std::vector<float> out = noise(777 * form.channels, seed);
        const std::vector<float> reference = noise(777 * form.reference_channels, seed + 1);
        EXPECT_EQ(effect.process(
                      ConstSound::interleaved(out.data(), form.channels, 777),
                      ConstSound::interleaved(reference.data(), form.reference_channels, 777),
                      Sound::interleaved(out.data(), form.channels, 777)),
                  RILL_OK);
        return out;
      };
      play(*first, 7);
      std::vector<double> state(first->state_bytes() / 8 + 1);
      size_t bytes = 0;
      ASSERT_EQ(first->save(state.data(), state.size() * 8, &bytes), RILL_OK);
      ASSERT_EQ(second->load(state.data(), bytes), RILL_OK) << form.name;
      EXPECT_EQ(play(*first, 9), play(*second, 9)) << form.name;
    }
  }
}

TEST(AudioReference, ListenersHearBoth) {
  auto plan = cancelling("1, 1, S", "1, 1, S", 50);
  ASSERT_TRUE(plan) << plan.error().text;
  auto listener = AudioListener::make(*plan, options(16000, 1, 1));
  ASSERT_TRUE(listener) << listener.error().text;
  const std::vector<float> sound = noise(333, 10);
  const std::vector<float> reference = noise(333, 11);
  std::vector<float> heard;
  const auto keep = [&](size_t, const TensorView<const float>& frames) {
    for (int64_t i = 0; i < frames.extent(2); ++i) heard.push_back(frames(0, 0, i));
  };
  EXPECT_EQ(listener->push(ConstSound::interleaved(sound.data(), 1, 333), keep), RILL_E_ARG);
  ASSERT_EQ(listener->push(ConstSound::interleaved(sound.data(), 1, 333),
                           ConstSound::interleaved(reference.data(), 1, 333), keep),
            RILL_OK);
  ASSERT_EQ(listener->finish(keep), RILL_OK);
  ASSERT_EQ(heard.size(), sound.size());
  for (int64_t i = 0; i < 333; ++i) {
    ASSERT_EQ(heard[static_cast<size_t>(i)], wanted(sound, reference, i));
  }
}

TEST(AudioReference, ThatDoesNotFitIsRefused) {
  auto plan = cancelling("1, 2, S", "1, 2, S", 64);
  ASSERT_TRUE(plan) << plan.error().text;
  const auto refusal = [&](const Plan& of, const AudioOptions& opts) {
    const auto made = AudioEffect::make(of, opts);
    return made ? std::string() : made.error().text;
  };
  EXPECT_NE(refusal(*plan, options(16000, 2, 0)).find("reference_channels"), std::string::npos);
  EXPECT_NE(refusal(*plan, options(16000, 2, 3)).find("second input has 2 channels"),
            std::string::npos);
  EXPECT_NE(refusal(*plan, options(16000, 2, -1)).find("found -1"), std::string::npos);
  EXPECT_NE(refusal(*plan, options(16000, 2, 257)).find("found 257"), std::string::npos);
  AudioOptions few = options(48000, 2, 2);
  few.crossings = 7;
  EXPECT_NE(refusal(*plan, few).find("8 to 256 zero crossings"), std::string::npos);

  auto effect = AudioEffect::make(*plan, options(16000, 2, 2, 64));
  ASSERT_TRUE(effect) << effect.error().text;
  std::vector<float> block(256);
  const auto in = [&](int32_t channels, int64_t frames) {
    return ConstSound::interleaved(block.data(), channels, frames);
  };
  const Sound out = Sound::interleaved(block.data(), 2, 64);
  EXPECT_EQ(effect->process(in(2, 64), out), RILL_E_ARG);
  EXPECT_EQ(effect->process(in(2, 64), in(1, 64), out), RILL_E_SHAPE);
  EXPECT_EQ(effect->process(in(2, 64), in(2, 63), out), RILL_E_SHAPE);
  EXPECT_EQ(effect->process(in(2, 64), in(2, 128), out), RILL_E_SHAPE);
  EXPECT_EQ(effect->process(in(2, 64), ConstSound::interleaved<float>(nullptr, 2, 64), out),
            RILL_E_ARG);
  EXPECT_EQ(effect->process(in(2, 64), in(2, 64), out), RILL_OK);
}

TEST(AudioReference, InCGivesTheSoundOfCpp) {
  auto plan = cancelling("1, 2, S", "1, 1, S", 40);
  ASSERT_TRUE(plan) << plan.error().text;
  rill_audio_opts opts = {};
  opts.size = sizeof opts;
  opts.channels = 2;
  opts.device_rate = 44100;
  opts.model_rate = 16000;
  opts.reference_channels = 1;
  opts.crossings = 16;
  rill_effect* effect = nullptr;
  ASSERT_EQ(rill_effect_new(plan->get(), &opts, &effect), RILL_OK) << rill_audio_error();
  AudioOptions same = options(44100, 2, 1);
  same.crossings = 16;
  auto other = AudioEffect::make(*plan, same);
  ASSERT_TRUE(other);
  EXPECT_EQ(rill_effect_latency(effect), other->latency());
  std::vector<float> found = noise(6000, 12);
  std::vector<float> want = found;
  std::vector<float> reference = noise(3000, 13);
  const auto sound = [](float* data, int32_t channels) {
    rill_sound out = {};
    out.size = sizeof out;
    out.format = RILL_SAMPLE_F32;
    out.channels = channels;
    out.frames = 3000;
    out.data = data;
    return out;
  };
  const rill_sound in = sound(found.data(), 2);
  const rill_sound second = sound(reference.data(), 1);
  EXPECT_EQ(rill_effect_process(effect, &in, &in), RILL_E_ARG);
  EXPECT_EQ(rill_effect_process_with(effect, &in, nullptr, &in), RILL_E_ARG);
  ASSERT_EQ(rill_effect_process_with(effect, &in, &second, &in), RILL_OK);
  ASSERT_EQ(other->process(ConstSound::interleaved(want.data(), 2, 3000),
                           ConstSound::interleaved(reference.data(), 1, 3000),
                           Sound::interleaved(want.data(), 2, 3000)),
            RILL_OK);
  EXPECT_EQ(found, want);
  rill_effect_free(effect);

  opts.channels = 2;
  rill_listener* listener = nullptr;
  ASSERT_EQ(rill_listener_new(plan->get(), &opts, &listener), RILL_OK) << rill_audio_error();
  int64_t frames = 0;
  const auto count = [](void* user, size_t, const rill_view* view) {
    *static_cast<int64_t*>(user) += view->shape[2];
  };
  EXPECT_EQ(rill_listener_push(listener, &in, count, &frames), RILL_E_ARG);
  ASSERT_EQ(rill_listener_push_with(listener, &in, &second, count, &frames), RILL_OK);
  ASSERT_EQ(rill_listener_finish(listener, count, &frames), RILL_OK);
  EXPECT_EQ(frames, (3000 * 160 + 440) / 441);
  rill_listener_free(listener);
}

}  // namespace
}  // namespace rill::test
