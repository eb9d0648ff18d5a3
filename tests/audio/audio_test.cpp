// Sound passes through models in any format, layout, rate and block size, delayed by the reported
// latency.

#include "rill/audio.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "rill/streamer.hpp"
#include "tests/support/array.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

const char kHalf[] = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
    x = tract_core_external(shape = [1, SHAPE], datum_type = 'f32');
    y = x * 0.5;
}
)";

/// A model that halves its input; `shape` is that of the input without the batch.
Result<Model> half_model(const std::string& shape) {
  std::string text = kHalf;
  text.replace(text.find("SHAPE"), 5, shape);
  return Model::load(text.data(), text.size());
}
Result<Plan> half(const std::string& shape, int64_t pulse) {
  auto model = half_model(shape);
  if (!model) return model.error();
  if (!model->pulse("S", pulse)) return Error::last();
  return model->prepare();
}
Result<Plan> tests_model(const std::string& name, int64_t pulse) {
  auto model = Model::load(RILL_SOURCE_DIR "/tests/models/" + name + "/model.nnef.tgz");
  if (!model) return model.error();
  if (!model->set("B", 1) || !model->pulse("S", pulse)) return Error::last();
  return model->prepare();
}

std::vector<float> noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> out(count);
  for (float& value : out) value = draw(random);
  return out;
}

/// Pass mono floats in place through an effect, in blocks of up to `largest` frames.
std::vector<float> pass(AudioEffect& effect, std::vector<float> sound, int64_t largest,
                        int64_t unit = 1) {
  std::mt19937 random(static_cast<unsigned>(largest));
  const int64_t frames = static_cast<int64_t>(sound.size());
  for (int64_t at = 0; at < frames;) {
    const int64_t drawn = static_cast<int64_t>(random() % static_cast<unsigned>(largest + 1));
    const int64_t block = std::min(drawn * unit, frames - at);
    const rill_status status = effect.process(ConstSound::interleaved(sound.data() + at, 1, block),
                                              Sound::interleaved(sound.data() + at, 1, block));
    EXPECT_EQ(status, RILL_OK) << "at " << at;
    if (status != RILL_OK) return {};
    at += block;
  }
  return sound;
}

/// Expect `latency` frames of silence, then `want` within `atol`.
void expect_late(const std::vector<float>& found, const std::vector<float>& want, int64_t latency,
                 float atol) {
  ASSERT_GT(static_cast<int64_t>(found.size()), latency);
  for (int64_t i = 0; i < static_cast<int64_t>(found.size()); ++i) {
    const size_t from = static_cast<size_t>(i - latency);
    const float value = i < latency ? 0 : from < want.size() ? want[from] : 0;
    ASSERT_NEAR(found[static_cast<size_t>(i)], value, atol) << "frame " << i;
  }
}

TEST(AudioEffect, ChainOfTwoRatesIsThatOfScipy) {
  const Arrays expected = read_bundle(RILL_SOURCE_DIR "/tests/audio/expected.npz");
  const Array& in = expected.at("effect_in");
  const Array& out = expected.at("effect_out");
  const std::vector<float> want(out.as<float>(), out.as<float>() + out.volume());
  for (const int64_t pulse : {1, 100, 160, 333}) {
    auto plan = half("S", pulse);
    ASSERT_TRUE(plan) << plan.error().text;
    auto effect = AudioEffect::make(*plan, {44100, 16000, 1, 0});
    ASSERT_TRUE(effect) << effect.error().text;
    for (const int64_t largest : {1, 50, 3000}) {
      ASSERT_EQ(effect->reset(), RILL_OK);
      std::vector<float> sound(in.as<float>(), in.as<float>() + in.volume());
      for (int64_t i = 0; i < effect->latency(); ++i) sound.push_back(0);
      // After the end of the first resampler's signal, the second resampler still outputs its
      // filter's tail.
      auto found = pass(*effect, std::move(sound), largest);
      found.erase(found.end() - 200, found.end());
      expect_late(found, want, effect->latency(), 1e-5f);
    }
  }
}

TEST(AudioEffect, OutputsOfAnotherRateComeBackAtTheRateOfTheDevice) {
  struct Layer {
    const char* kernel;
    const char* call;
    double late;   // delay of the filter in seconds
    double gain;   // at 300 Hz
    double image;  // amplitude at 15700 Hz in the output of devices of higher rates
  };
  // A repeated sample is the sum of 2 neighbours at 32 kHz, which delays by half a sample and
  // attenuates by a cosine.
  const double pi = 3.14159265358979323846;
  const Layer layers[] = {{"[[[1.0, 1.0]]]", "deconv(x, kernel, 0.0, stride = [2])", 0.5 / 32000,
                           std::cos(pi * 300 / 32000), std::cos(pi * 15700 / 32000)},
                          {"[[[1.0]]]", "conv(x, kernel, 0.0, stride = [2])", 0, 1, 0}};
  for (const Layer& layer : layers) {
    const std::string text = std::string(R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
    x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');
    kernel = )") + layer.kernel +
                             ";\n    y = " + layer.call + ";\n}\n";
    auto model = Model::load(text.data(), text.size());
    ASSERT_TRUE(model) << model.error().text;
    ASSERT_TRUE(model->pulse("S", 160)) << rill_last_error();
    auto plan = model->prepare();
    ASSERT_TRUE(plan) << plan.error().text;
    for (const int64_t device : {16000, 44100, 48000}) {
      for (const int64_t block : {0, 128}) {
        auto effect = AudioEffect::make(*plan, {device, 16000, 1, block});
        ASSERT_TRUE(effect) << effect.error().text;
        const auto sine = [&](double t) { return std::sin(2 * pi * 300 * t); };
        std::vector<float> sound;
        for (int i = 0; i < 128 * 100; ++i) {
          sound.push_back(static_cast<float>(sine(i / static_cast<double>(device))));
        }
        const auto found = block == 0 ? pass(*effect, sound, 500) : pass(*effect, sound, 1, block);
        // The tolerance is twice the ripple of a resampler's pass band, plus the image.
        const double most = 1e-3 + (device > 16000 ? layer.image : 0);
        for (size_t i = static_cast<size_t>(effect->latency()) + 800; i < found.size(); ++i) {
          const double t = static_cast<double>(static_cast<int64_t>(i) - effect->latency()) /
                           static_cast<double>(device);
          ASSERT_NEAR(found[i], layer.gain * sine(t - layer.late), most) << i << " at " << device;
        }
      }
    }
  }
}

TEST(AudioEffect, LatencyIsTheLeastThatNeverRunsDry) {
  // With equal rates the latency has a closed form. It is the delay of the model, plus pulse - 1
  // frames if blocks have any size, or 0 if blocks are whole pulses.
  auto plan = half("S", 480);
  ASSERT_TRUE(plan) << plan.error().text;
  EXPECT_EQ(AudioEffect::make(*plan, {16000, 16000, 1, 0})->latency(), 479);
  EXPECT_EQ(AudioEffect::make(*plan, {16000, 16000, 1, 480})->latency(), 0);
  EXPECT_EQ(AudioEffect::make(*plan, {16000, 16000, 1, 960})->latency(), 0);
  EXPECT_EQ(AudioEffect::make(*plan, {16000, 16000, 1, 160})->latency(), 320);
  EXPECT_EQ(AudioEffect::make(*plan, {16000, 16000, 1, 100})->latency(), 460);
  EXPECT_EQ(AudioEffect::make(*plan, {16000, 16000, 1, 512})->latency(), 448);
  // With other rates, a frame-by-frame count of missing frames gives the latency.
  for (const auto& [device, model, pulse, block] : {std::array<int64_t, 4>{48000, 16000, 160, 0},
                                                    {48000, 16000, 160, 480},
                                                    {44100, 16000, 160, 0},
                                                    {44100, 16000, 333, 128},
                                                    {8000, 16000, 100, 0},
                                                    {22050, 48000, 17, 0},
                                                    {22050, 48000, 17, 64}}) {
    auto other = half("S", pulse);
    ASSERT_TRUE(other) << other.error().text;
    auto effect = AudioEffect::make(*other, {device, model, 1, block});
    ASSERT_TRUE(effect) << effect.error().text;
    const auto in = Resampler::make(device, model);
    const auto back = Resampler::make(model, device);
    int64_t most = 0;
    for (int64_t frames = 1; frames < 300000; ++frames) {
      if (block > 0 && frames % block != 0) continue;
      const int64_t heard = in.value().count(frames) / pulse * pulse;
      most = std::max(most, frames - back.value().count(heard));
    }
    EXPECT_EQ(effect->latency(), most) << device << " " << model << " " << pulse << " " << block;
  }
}

TEST(AudioEffect, ModelIsHeardBitForBitAfterItsLatency) {
  auto plan = tests_model("unet_denoiser", 40);
  ASSERT_TRUE(plan) << plan.error().text;
  const std::vector<float> sound = noise(4000, 1);
  std::vector<float> want;
  auto streamer = Streamer<float>::make(*plan);
  ASSERT_TRUE(streamer) << streamer.error().text;
  const auto keep = [&](size_t, TensorView<const float> frames) {
    for (int64_t i = 0; i < frames.size(); ++i) want.push_back(frames(0, 0, i));
  };
  ASSERT_TRUE(streamer->push_last(sound.data(), 4000, keep)) << rill_last_error();
  ASSERT_EQ(want.size(), sound.size());
  for (const int64_t block : {0, 40, 64}) {
    auto effect = AudioEffect::make(*plan, {16000, 16000, 1, block});
    ASSERT_TRUE(effect) << effect.error().text;
    const int64_t unit = block ? block : 1;
    const int64_t delay = plan->stream().value().delay;
    const int64_t waits = block == 0 ? 39 : block == 40 ? 0 : 32;
    EXPECT_EQ(effect->latency(), waits + delay);
    auto found = pass(*effect, std::vector<float>(sound.begin(), sound.begin() + 3840),
                      block ? 10 : 700, unit);
    expect_late(found, want, effect->latency(), 0);
  }
}

TEST(AudioEffect, ChannelsStaySeparateInEveryLayout) {
  constexpr int64_t kFrames = 2000;
  const std::vector<float> left = noise(kFrames, 2);
  const std::vector<float> right = noise(kFrames, 3);
  // A mono model per channel, a model with channels before time, and one with time before channels.
  for (const char* shape : {"S", "2, S", "S, 2"}) {
    auto plan = half(shape, 64);
    ASSERT_TRUE(plan) << plan.error().text;
    auto effect = AudioEffect::make(*plan, {16000, 16000, 2, 0});
    ASSERT_TRUE(effect) << effect.error().text;
    EXPECT_EQ(effect->latency(), 63);
    std::vector<float> out_left(kFrames);
    std::vector<float> out_right(kFrames);
    const float* in[] = {left.data(), right.data()};
    float* out[] = {out_left.data(), out_right.data()};
    ASSERT_EQ(effect->process(ConstSound::planar(in, 2, kFrames), Sound::planar(out, 2, kFrames)),
              RILL_OK);
    std::vector<int16_t> frames(2 * kFrames);
    for (size_t i = 0; i < kFrames; ++i) {
      frames[2 * i] = static_cast<int16_t>(left[i] * 32767);
      frames[2 * i + 1] = static_cast<int16_t>(right[i] * 32767);
    }
    const std::vector<int16_t> sent = frames;
    ASSERT_EQ(effect->reset(), RILL_OK);
    ASSERT_EQ(effect->process(ConstSound::interleaved(frames.data(), 2, kFrames),
                              Sound::interleaved(frames.data(), 2, kFrames)),
              RILL_OK);
    for (size_t i = 63; i < kFrames; ++i) {
      ASSERT_EQ(out_left[i], left[i - 63] * 0.5f);
      ASSERT_EQ(out_right[i], right[i - 63] * 0.5f);
      ASSERT_NEAR(frames[2 * i], sent[2 * (i - 63)] * 0.5, 0.5);
      ASSERT_NEAR(frames[2 * i + 1], sent[2 * (i - 63) + 1] * 0.5, 0.5);
    }
  }
}

TEST(AudioEffect, TakesAMillionFramesAndNone) {
  auto plan = half("S", 100);
  ASSERT_TRUE(plan) << plan.error().text;
  auto effect = AudioEffect::make(*plan, {16000, 16000, 1, 0});
  ASSERT_TRUE(effect) << effect.error().text;
  const std::vector<float> sound = noise(1000000, 4);
  std::vector<float> out(sound.size());
  EXPECT_EQ(effect->process(ConstSound::interleaved(sound.data(), 1, 0),
                            Sound::interleaved<float>(nullptr, 1, 0)),
            RILL_OK);
  ASSERT_EQ(effect->process(ConstSound::interleaved(sound.data(), 1, 1000000),
                            Sound::interleaved(out.data(), 1, 1000000)),
            RILL_OK);
  for (size_t i = 99; i < out.size(); ++i) ASSERT_EQ(out[i], sound[i - 99] * 0.5f);
}

TEST(AudioEffect, RefusesUnsupportedOptions) {
  auto plan = half("S", 100);
  ASSERT_TRUE(plan) << plan.error().text;
  const auto code = [&](const AudioOptions& options) {
    const auto made = AudioEffect::make(*plan, options);
    return made ? RILL_OK : made.error().code;
  };
  EXPECT_EQ(code({0, 16000, 1, 0}), RILL_E_ARG);
  EXPECT_EQ(code({16000, 0, 1, 0}), RILL_E_ARG);
  EXPECT_EQ(code({-48000, 16000, 1, 0}), RILL_E_ARG);
  EXPECT_EQ(code({48000, 16000, 0, 0}), RILL_E_ARG);
  EXPECT_EQ(code({48000, 16000, -2, 0}), RILL_E_ARG);
  EXPECT_EQ(code({48000, 16000, 1000, 0}), RILL_E_ARG);
  EXPECT_EQ(code({48000, 16000, 1, -1}), RILL_E_ARG);
  EXPECT_EQ(code({999983, 16001, 1, 0}), RILL_E_UNSUPPORTED);
  EXPECT_EQ(AudioEffect::make(*half("3, S", 100), {48000, 16000, 2, 0}).error().code, RILL_E_ARG);
  // The output of a listener is features, so an effect refuses the model.
  EXPECT_EQ(AudioEffect::make(*tests_model("vad_speech", 1600), {48000, 16000, 1, 0}).error().code,
            RILL_E_ARG);

  auto made = AudioEffect::make(*plan, {16000, 16000, 2, 0});
  ASSERT_TRUE(made);
  AudioEffect& effect = *made;
  std::vector<float> block(256);
  const auto in = [&](int32_t channels, int64_t frames) {
    return ConstSound::interleaved(block.data(), channels, frames);
  };
  const auto out = [&](int32_t channels, int64_t frames) {
    return Sound::interleaved(block.data(), channels, frames);
  };
  EXPECT_EQ(effect.process(in(1, 10), out(1, 10)), RILL_E_SHAPE);
  EXPECT_EQ(effect.process(in(2, 10), out(3, 10)), RILL_E_SHAPE);
  EXPECT_EQ(effect.process(in(2, 10), out(2, 9)), RILL_E_SHAPE);
  EXPECT_EQ(effect.process(in(2, -1), out(2, -1)), RILL_E_SHAPE);
  EXPECT_EQ(effect.process(ConstSound::interleaved<float>(nullptr, 2, 10), out(2, 10)), RILL_E_ARG);
  float* half_there[] = {block.data(), nullptr};
  EXPECT_EQ(effect.process(in(2, 10), Sound::planar(half_there, 2, 10)), RILL_E_ARG);
  ConstSound odd = in(2, 10);
  for (const int format : {-1, 3, 1000}) {
    odd.format = static_cast<SampleFormat>(format);
    EXPECT_EQ(effect.process(odd, out(2, 10)), RILL_E_DTYPE);
  }
  EXPECT_EQ(effect.process(in(2, 10), out(2, 10)), RILL_OK);
  auto blocks = AudioEffect::make(*plan, {16000, 16000, 2, 64});
  EXPECT_EQ(blocks->process(in(2, 63), out(2, 63)), RILL_E_SHAPE);
}

TEST(Samples, AreRoundedAndKeptWithinTheirType) {
  using detail::to_sample;
  EXPECT_EQ(to_sample<int16_t>(0.5f), 16384);
  EXPECT_EQ(to_sample<int16_t>(1.0f), 32767);
  EXPECT_EQ(to_sample<int16_t>(-1.0f), -32768);
  EXPECT_EQ(to_sample<int16_t>(1e30f), 32767);
  EXPECT_EQ(to_sample<int16_t>(-1e30f), -32768);
  EXPECT_EQ(to_sample<int16_t>(2.6f / 32768), 3);
  EXPECT_EQ(to_sample<int16_t>(-2.6f / 32768), -3);
  EXPECT_EQ(to_sample<int32_t>(1.0f), INT32_MAX);
  EXPECT_EQ(to_sample<int32_t>(-2.0f), INT32_MIN);
  EXPECT_EQ(to_sample<int32_t>(-std::numeric_limits<float>::infinity()), INT32_MIN);
  EXPECT_EQ(to_sample<int16_t>(std::numeric_limits<float>::infinity()), 32767);
  EXPECT_EQ(to_sample<int16_t>(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(to_sample<int32_t>(std::numeric_limits<float>::quiet_NaN()), 0);
  for (int sample = -32768; sample < 32768; ++sample) {
    const auto as = static_cast<int16_t>(sample);
    ASSERT_EQ(to_sample<int16_t>(detail::from_sample(as)), sample);
  }
}

/// Return a listener's output for sound, in blocks of up to `largest` frames.
std::vector<float> listen(AudioListener& listener, const std::vector<int16_t>& sound,
                          int32_t channels, int64_t largest) {
  std::vector<float> out;
  std::mt19937 random(static_cast<unsigned>(largest));
  const int64_t frames = static_cast<int64_t>(sound.size()) / channels;
  const auto keep = [&](size_t, TensorView<const float> heard) {
    for (int64_t i = 0; i < heard.size(); ++i) out.push_back(heard(0, i));
  };
  for (int64_t at = 0; at < frames;) {
    const int64_t drawn = static_cast<int64_t>(random() % static_cast<unsigned>(largest + 1));
    const int64_t block = std::min(drawn, frames - at);
    const auto view = ConstSound::interleaved(sound.data() + at * channels, channels, block);
    EXPECT_EQ(listener.push(view, keep), RILL_OK);
    at += block;
  }
  EXPECT_EQ(listener.finish(keep), RILL_OK);
  return out;
}

TEST(AudioListener, HearsTheMeanOfAllChannelsInAnyBlocks) {
  auto plan = tests_model("vad_speech", 1600);
  ASSERT_TRUE(plan) << plan.error().text;
  const std::vector<float> mono = noise(16000, 5);
  std::vector<int16_t> stereo(2 * mono.size());
  std::vector<float> mean(mono.size());
  for (size_t i = 0; i < mono.size(); ++i) {
    stereo[2 * i] = static_cast<int16_t>(mono[i] * 20000);
    stereo[2 * i + 1] = static_cast<int16_t>(mono[i] * 9000);
    mean[i] = static_cast<float>(stereo[2 * i] + stereo[2 * i + 1]) * 0x1p-16f;
  }
  std::vector<float> want;
  auto streamer = Streamer<float>::make(*plan);
  ASSERT_TRUE(streamer);
  const auto keep = [&](size_t, TensorView<const float> frames) {
    for (int64_t i = 0; i < frames.size(); ++i) want.push_back(frames(0, i));
  };
  ASSERT_TRUE(streamer->push(mean.data(), 16000, keep));
  ASSERT_TRUE(streamer->finish(keep));
  ASSERT_FALSE(want.empty());
  auto listener = AudioListener::make(*plan, {16000, 16000, 2, 0});
  ASSERT_TRUE(listener) << listener.error().text;
  const rill_stream_info info = plan->stream().value();
  EXPECT_EQ(listener->latency(), 1599 + info.delay * info.rate_den / info.rate_num);
  for (const int64_t largest : {100, 3000}) {
    ASSERT_EQ(listener->reset(), RILL_OK);
    EXPECT_EQ(listen(*listener, stereo, 2, largest), want);
  }
  EXPECT_EQ(listener->latency(99), -1);
}

TEST(AudioListener, HearsAllOfAnotherRate) {
  auto plan = half("S", 320);
  ASSERT_TRUE(plan) << plan.error().text;
  const Arrays expected = read_bundle(RILL_SOURCE_DIR "/tests/audio/expected.npz");
  const Array& in = expected.at("noise_44100_16000");
  const Array& want = expected.at("scipy_44100_16000");
  auto listener = AudioListener::make(*plan, {44100, 16000, 1, 0});
  ASSERT_TRUE(listener) << listener.error().text;
  std::vector<float> found;
  const auto keep = [&](size_t, TensorView<const float> frames) {
    for (int64_t i = 0; i < frames.size(); ++i) found.push_back(frames(0, i));
  };
  ASSERT_EQ(listener->push(ConstSound::interleaved(in.as<float>(), 1, in.volume()), keep), RILL_OK);
  ASSERT_EQ(listener->finish(keep), RILL_OK);
  ASSERT_EQ(static_cast<int64_t>(found.size()), want.volume());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], want.as<float>()[i] * 0.5, 2e-6);
  EXPECT_EQ(listener->push(ConstSound::interleaved(in.as<float>(), 1, 5), keep), RILL_OK);
}

TEST(SampleRate, IsReadFromTheProperty) {
  auto model = half_model("S");
  ASSERT_TRUE(model) << model.error().text;
  EXPECT_EQ(sample_rate(*model).error().code, RILL_E_ARG);
  const auto with = [](const std::string& value) {
    std::string text = kHalf;
    text.replace(text.find("SHAPE"), 5, "S");
    const std::string properties =
        "\nfragment tract_core_properties() -> (properties: (string, tensor<scalar>)[])\n"
        "{ properties = [(\"rill.sample_rate\", " +
        value + ")]; }\n\n";
    text.insert(text.find("graph network"), properties);
    return Model::load(text.data(), text.size());
  };
  for (const char* right : {"16000.0", "\"16000\"", "tract_core_cast(16000, to = 'i64')"}) {
    auto known = with(right);
    ASSERT_TRUE(known) << known.error().text;
    const auto rate = sample_rate(*known);
    ASSERT_TRUE(rate) << rate.error().text;
    EXPECT_EQ(rate.value(), 16000);
  }
  for (const char* wrong : {"0.5", "-16000.0", "16000.5", "1e20", "\"16 kHz\"", "\"-16000\"",
                            "\"99999999999\"", "\"\""}) {
    auto invalid = with(wrong);
    ASSERT_TRUE(invalid) << invalid.error().text;
    EXPECT_FALSE(sample_rate(*invalid)) << wrong;
  }
}

}  // namespace
}  // namespace rill::test
