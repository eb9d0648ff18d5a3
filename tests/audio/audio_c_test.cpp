// rill/audio.h gives the same sound as rill/audio.hpp. Bypassing, saving and continuing an effect
// does not shift its output.

#include "rill/audio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "rill/audio.hpp"

namespace rill::test {
namespace {

using EffectPtr = std::unique_ptr<rill_effect, decltype(&rill_effect_free)>;
using ListenerPtr = std::unique_ptr<rill_listener, decltype(&rill_listener_free)>;

/// A model that halves its input and mixes in earlier frames, so that later output shows a lost
/// state.
Result<Plan> smoothing(int64_t pulse, const std::string& rate = "") {
  std::string text = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
PROPERTIES
graph network(x) -> (y)
{
    x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');
    kernel = [[[0.25, 0.5, 0.125, 1.0]]];
    y = conv(x, kernel, 0.0, padding = [(3, 0)], stride = [1], dilation = [1]);
}
)";
  const std::string property =
      rate.empty()
          ? ""
          : "fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[]) {\n"
            "  properties = [(\"rill.sample_rate\", " +
                rate + ")];\n}\n";
  text.replace(text.find("PROPERTIES"), 10, property);
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

rill_audio_opts options(int32_t channels, int64_t device, int64_t model, int64_t block = 0) {
  rill_audio_opts out = {};
  out.size = sizeof(out);
  out.channels = channels;
  out.device_rate = device;
  out.model_rate = model;
  out.block = block;
  return out;
}

rill_sound sound_of(float* data, int32_t channels, int64_t frames) {
  rill_sound out = {};
  out.size = sizeof(out);
  out.format = RILL_SAMPLE_F32;
  out.channels = channels;
  out.frames = frames;
  out.data = data;
  return out;
}

EffectPtr effect_of(const Plan& plan, const rill_audio_opts& opts) {
  rill_effect* effect = nullptr;
  EXPECT_EQ(rill_effect_new(plan.get(), &opts, &effect), RILL_OK) << rill_audio_error();
  return {effect, rill_effect_free};
}

/// Pass frames in place, in blocks of random sizes.
void pass(rill_effect* effect, float* data, int32_t channels, int64_t frames,
          std::mt19937& random) {
  for (int64_t at = 0; at < frames;) {
    const int64_t count = std::min<int64_t>(static_cast<int64_t>(random() % 700), frames - at);
    const rill_sound block = sound_of(data + at * channels, channels, count);
    ASSERT_EQ(rill_effect_process(effect, &block, &block), RILL_OK);
    at += count;
  }
}

struct Rates {
  int64_t device, model, pulse;
  int32_t channels;
};
const Rates kRates[] = {{16000, 16000, 160, 1}, {16000, 16000, 7, 2}, {48000, 16000, 40, 1},
                        {44100, 16000, 33, 2},  {8000, 16000, 64, 1}, {44100, 48000, 128, 3}};

TEST(AudioInC, EffectsGiveTheSoundOfCpp) {
  for (const Rates& each : kRates) {
    auto plan = smoothing(each.pulse);
    ASSERT_TRUE(plan) << plan.error().text;
    const EffectPtr effect = effect_of(*plan, options(each.channels, each.device, each.model));
    auto other = AudioEffect::make(*plan, {each.device, each.model, each.channels, 0});
    ASSERT_TRUE(other) << other.error().text;
    EXPECT_EQ(rill_effect_latency(effect.get()), other->latency());
    std::vector<float> found = noise(4000 * each.channels, 1);
    std::vector<float> want = found;
    std::mt19937 random(3);
    pass(effect.get(), found.data(), each.channels, 4000, random);
    ASSERT_EQ(other->process(ConstSound::interleaved(want.data(), each.channels, 4000),
                             Sound::interleaved(want.data(), each.channels, 4000)),
              RILL_OK);
    EXPECT_EQ(found, want);
  }
}

TEST(AudioInC, SavedEffectsContinueWithTheSameBits) {
  std::mt19937 random(5);
  for (int draw = 0; draw < 60; ++draw) {
    const Rates& each = kRates[random() % std::size(kRates)];
    auto plan = smoothing(each.pulse);
    ASSERT_TRUE(plan);
    const rill_audio_opts opts = options(each.channels, each.device, each.model);
    const EffectPtr whole = effect_of(*plan, opts);
    const EffectPtr first = effect_of(*plan, opts);
    const EffectPtr second = effect_of(*plan, opts);
    const int64_t frames = 3000;
    const int64_t cut = static_cast<int64_t>(random() % 3001);
    std::vector<float> want = noise(frames * each.channels, static_cast<unsigned>(draw));
    std::vector<float> found = want;
    const bool bypassed = random() % 3 == 0;
    for (rill_effect* effect : {whole.get(), first.get()})
      rill_effect_bypass(effect, bypassed ? 1 : 0);
    pass(whole.get(), want.data(), each.channels, frames, random);
    pass(first.get(), found.data(), each.channels, cut, random);
    size_t size = 0;
    size_t written = 0;
    ASSERT_EQ(rill_effect_state_size(first.get(), &size), RILL_OK);
    std::vector<uint64_t> state(size / 8 + 1);
    EXPECT_EQ(rill_effect_save(first.get(), state.data(), 16, &written), RILL_E_ARG);
    ASSERT_EQ(rill_effect_save(first.get(), state.data(), size, &written), RILL_OK);
    ASSERT_LE(written, size);
    // The load must overwrite the state of this other stream.
    std::vector<float> other = noise(500 * each.channels, 9);
    pass(second.get(), other.data(), each.channels, 500, random);
    ASSERT_EQ(rill_effect_load(second.get(), state.data(), written), RILL_OK);
    pass(second.get(), found.data() + cut * each.channels, each.channels, frames - cut, random);
    ASSERT_EQ(found, want) << "draw " << draw << ", cut at " << cut;
  }
}

TEST(AudioInC, DamagedStatesAreRefusedOrPlay) {
  auto plan = smoothing(33);
  ASSERT_TRUE(plan);
  const EffectPtr effect = effect_of(*plan, options(2, 44100, 16000));
  std::mt19937 random(7);
  std::vector<float> sound = noise(4000, 1);
  pass(effect.get(), sound.data(), 2, 2000, random);
  size_t size = 0;
  size_t written = 0;
  ASSERT_EQ(rill_effect_state_size(effect.get(), &size), RILL_OK);
  std::vector<uint64_t> whole(size / 8 + 1);
  ASSERT_EQ(rill_effect_save(effect.get(), whole.data(), size, &written), RILL_OK);
  for (size_t bytes = 0; bytes < written; bytes += 8 + random() % 64) {
    EXPECT_NE(rill_effect_load(effect.get(), whole.data(), bytes), RILL_OK) << bytes;
  }
  int refused = 0;
  for (int draw = 0; draw < 2000; ++draw) {
    std::vector<uint64_t> state = whole;
    constexpr uint64_t kExtremes[] = {0, 1, UINT64_MAX, uint64_t{1} << 63, 1000, uint64_t{1} << 40};
    const uint64_t drawn = random();
    state[random() % (written / 8)] =
        draw % 2 == 0 ? kExtremes[drawn % std::size(kExtremes)] : drawn;
    refused += rill_effect_load(effect.get(), state.data(), written) != RILL_OK;
    const rill_sound block = sound_of(sound.data(), 2, 2000);
    const rill_status status = rill_effect_process(effect.get(), &block, &block);
    EXPECT_TRUE(status == RILL_OK || status == RILL_E_INTERNAL) << status;
  }
  EXPECT_GT(refused, 50);
  EXPECT_EQ(rill_effect_reset(effect.get()), RILL_OK);
}

TEST(AudioInC, StatesOfOtherOptionsAreRefused) {
  auto plan = smoothing(40);
  ASSERT_TRUE(plan);
  const EffectPtr from = effect_of(*plan, options(1, 48000, 16000));
  size_t size = 0;
  size_t written = 0;
  ASSERT_EQ(rill_effect_state_size(from.get(), &size), RILL_OK);
  std::vector<uint64_t> state(size / 8 + 1);
  ASSERT_EQ(rill_effect_save(from.get(), state.data(), size, &written), RILL_OK);
  for (const rill_audio_opts& other : {options(2, 48000, 16000), options(1, 44100, 16000),
                                       options(1, 48000, 16000, 120), options(1, 16000, 16000)}) {
    const EffectPtr to = effect_of(*plan, other);
    EXPECT_EQ(rill_effect_load(to.get(), state.data(), written), RILL_E_PARSE);
  }
}

TEST(AudioInC, BypassedSoundIsTheInputAsLateAsTheOutput) {
  for (const Rates& each : kRates) {
    auto plan = smoothing(each.pulse);
    ASSERT_TRUE(plan);
    const EffectPtr effect = effect_of(*plan, options(each.channels, each.device, each.model));
    const int64_t latency = rill_effect_latency(effect.get());
    const int64_t fade = each.device / 200 + 1;
    const int64_t frames = 3 * latency + 4 * fade + 4000;
    const std::vector<float> in = noise(frames * each.channels, 2);
    std::vector<float> out = in;
    std::mt19937 random(4);
    rill_effect_bypass(effect.get(), 1);
    pass(effect.get(), out.data(), each.channels, frames, random);
    for (int64_t i = fade; i < frames; ++i) {
      for (int32_t c = 0; c < each.channels; ++c) {
        const float want =
            i < latency ? 0 : in[static_cast<size_t>((i - latency) * each.channels + c)];
        ASSERT_EQ(out[static_cast<size_t>(i * each.channels + c)], want) << "frame " << i;
      }
    }
  }
}

TEST(AudioInC, SwitchingTheBypassFadesAndKeepsTheStream) {
  auto plan = smoothing(160);
  ASSERT_TRUE(plan);
  const EffectPtr plain = effect_of(*plan, options(1, 16000, 16000));
  const EffectPtr effect = effect_of(*plan, options(1, 16000, 16000));
  const int64_t fade = 16000 / 200 + 1;
  const int64_t latency = rill_effect_latency(effect.get());
  std::vector<float> want(6000);
  for (size_t i = 0; i < want.size(); ++i) want[i] = std::sin(0.02f * static_cast<float>(i));
  const std::vector<float> in = want;
  std::vector<float> out = want;
  std::mt19937 random(4);
  pass(plain.get(), want.data(), 1, 6000, random);
  pass(effect.get(), out.data(), 1, 2000, random);
  rill_effect_bypass(effect.get(), 1);
  pass(effect.get(), out.data() + 2000, 1, 2000, random);
  rill_effect_bypass(effect.get(), 0);
  pass(effect.get(), out.data() + 4000, 1, 2000, random);
  float most = 0;
  for (int64_t i = 0; i < 6000; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool wet = i < 2000 || i >= 4000 + fade;
    const bool dry = i >= 2000 + fade && i < 4000;
    if (wet) {
      ASSERT_EQ(out[at], want[at]) << i;
    }
    if (dry) {
      ASSERT_EQ(out[at], in[static_cast<size_t>(i - latency)]) << i;
    }
    if (i > latency + 10) most = std::max(most, std::abs(out[at] - out[at - 1]));
  }
  // The gain of the model is 1.875, so the sine moves by at most 0.02 * 1.875 per frame. The fade
  // adds (1.875 + 1) / 81.
  EXPECT_LT(most, 0.02f * 1.875f + 2.875f / 81);
}

TEST(AudioInC, RateOfTheModelIsItsProperty) {
  auto plan = smoothing(160, "16000");
  ASSERT_TRUE(plan) << plan.error().text;
  const EffectPtr effect = effect_of(*plan, options(1, 48000, 0));
  const EffectPtr at_model_rate = effect_of(*plan, options(1, 48000, 16000));
  EXPECT_EQ(rill_effect_latency(effect.get()), rill_effect_latency(at_model_rate.get()));
  auto silent = smoothing(160);
  ASSERT_TRUE(silent);
  const rill_audio_opts opts = options(1, 48000, 0);
  rill_effect* none = nullptr;
  EXPECT_EQ(rill_effect_new(silent->get(), &opts, &none), RILL_E_ARG);
  EXPECT_NE(std::string(rill_audio_error()).find("rill.sample_rate"), std::string::npos);
}

TEST(AudioInC, ListenersGiveTheFramesOfCpp) {
  auto plan = smoothing(40);
  ASSERT_TRUE(plan);
  const rill_audio_opts opts = options(2, 44100, 16000);
  rill_listener* made = nullptr;
  ASSERT_EQ(rill_listener_new(plan->get(), &opts, &made), RILL_OK) << rill_audio_error();
  const ListenerPtr listener(made, rill_listener_free);
  auto other = AudioListener::make(*plan, {44100, 16000, 2, 0});
  ASSERT_TRUE(other);
  EXPECT_EQ(rill_listener_latency(made, 0), other->latency(0));
  EXPECT_EQ(rill_listener_latency(made, 9), -1);
  std::vector<float> in = noise(6000, 1);
  std::vector<float> found;
  std::vector<float> want;
  const auto keep = [](void* user, size_t, const rill_view* view) {
    auto* all = static_cast<std::vector<float>*>(user);
    const auto* data = static_cast<const float*>(view->data);
    for (int64_t i = 0; i < view->shape[2]; ++i) all->push_back(data[i * view->strides[2]]);
  };
  const rill_sound block = sound_of(in.data(), 2, 3000);
  ASSERT_EQ(rill_listener_push(made, &block, keep, &found), RILL_OK);
  ASSERT_EQ(rill_listener_finish(made, keep, &found), RILL_OK);
  const auto emit = [&](size_t, const TensorView<const float>& frames) {
    for (int64_t i = 0; i < frames.extent(2); ++i)
      want.push_back(frames.data()[i * frames.stride(2)]);
  };
  ASSERT_EQ(other->push(ConstSound::interleaved(in.data(), 2, 3000), emit), RILL_OK);
  ASSERT_EQ(other->finish(emit), RILL_OK);
  EXPECT_FALSE(want.empty());
  EXPECT_EQ(found, want);
  EXPECT_EQ(rill_listener_reset(made), RILL_OK);
}

TEST(AudioInC, WrongCallsAreRefused) {
  auto plan = smoothing(40);
  ASSERT_TRUE(plan);
  rill_audio_opts opts = options(1, 16000, 16000);
  rill_effect* none = nullptr;
  EXPECT_EQ(rill_effect_new(nullptr, &opts, &none), RILL_E_ARG);
  EXPECT_EQ(rill_effect_new(plan->get(), nullptr, &none), RILL_E_ARG);
  EXPECT_EQ(rill_effect_new(plan->get(), &opts, nullptr), RILL_E_ARG);
  opts.size = 4;
  EXPECT_EQ(rill_effect_new(plan->get(), &opts, &none), RILL_E_ABI);
  opts = options(0, 0, 16000);
  EXPECT_EQ(rill_effect_new(plan->get(), &opts, &none), RILL_E_ARG);
  EXPECT_STRNE(rill_audio_error(), "");
  EXPECT_EQ(none, nullptr);
  const EffectPtr effect = effect_of(*plan, options(1, 16000, 16000));
  std::vector<float> in = noise(100, 1);
  rill_sound block = sound_of(in.data(), 1, 100);
  EXPECT_EQ(rill_effect_process(nullptr, &block, &block), RILL_E_ARG);
  EXPECT_EQ(rill_effect_process(effect.get(), nullptr, &block), RILL_E_ARG);
  EXPECT_EQ(rill_effect_process(effect.get(), &block, nullptr), RILL_E_ARG);
  rill_sound wrong = block;
  wrong.size = 8;
  EXPECT_EQ(rill_effect_process(effect.get(), &wrong, &block), RILL_E_ABI);
  wrong = block;
  wrong.format = static_cast<rill_sample_format>(7);
  EXPECT_EQ(rill_effect_process(effect.get(), &wrong, &block), RILL_E_DTYPE);
  wrong = sound_of(in.data(), 2, 50);
  EXPECT_EQ(rill_effect_process(effect.get(), &wrong, &block), RILL_E_SHAPE);
  wrong = sound_of(in.data(), 1, 0);
  EXPECT_EQ(rill_effect_process(effect.get(), &wrong, &wrong), RILL_OK);
  EXPECT_EQ(rill_effect_bypass(nullptr, 1), RILL_E_ARG);
  EXPECT_EQ(rill_effect_reset(nullptr), RILL_E_ARG);
  EXPECT_EQ(rill_effect_latency(nullptr), -1);
  rill_effect_free(nullptr);
  rill_listener_free(nullptr);
}

}  // namespace
}  // namespace rill::test
