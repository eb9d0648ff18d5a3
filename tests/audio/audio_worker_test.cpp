// Effects whose steps run in another thread give the same frames one pulse later, or silence for
// pulses that they report as late.

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "rill/audio.h"
#include "rill/audio_worker.hpp"
#include "tests/support/heap_calls.h"
#include "tests/support/lock_calls.h"

namespace rill::test {
namespace {

/// y(t) = x(t) / 2 + x(t + ahead) / 4.
Plan ahead_plan(int64_t ahead, int64_t pulse, const std::string& shape = "S") {
  const bool rows = shape != "S";
  std::string text = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
    x = tract_core_external(shape = [SHAPE], datum_type = 'f32');
    padded = pad(x, padding = [PADS], border = 'constant', value = 0.0);
    later = slice(padded, axes = [AXIS], begin = [AHEAD], end = [0]);
    half = x * 0.5;
    quarter = LATER * 0.25;
    y = half + quarter;
}
)";
  const auto put = [&text](const std::string& name, const std::string& value) {
    text.replace(text.find(name), name.size(), value);
  };
  put("SHAPE", shape);
  put("PADS", (rows ? "(0, 0), (0, " : "(0, ") + std::to_string(ahead) + ")");
  put("AXIS", rows ? "1" : "0");
  put("AHEAD", std::to_string(ahead));
  put("LATER", ahead == 0 ? "x" : "later");
  auto model = Model::load(text.data(), text.size());
  if (!model || !model->pulse("S", pulse)) std::abort();
  return model->prepare().value();
}

std::vector<float> noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(0.25f, 1);
  std::vector<float> out(count);
  for (float& value : out) value = draw(random);
  return out;
}

/// The output of the model by its definition. No sample of `noise` is 0.
float wanted(const std::vector<float>& sound, int64_t ahead, int64_t t) {
  const auto at = [&](int64_t i) {
    return i < static_cast<int64_t>(sound.size()) ? sound[static_cast<size_t>(i)] : 0.0f;
  };
  return t < 0 ? 0 : at(t) * 0.5f + at(t + ahead) * 0.25f;
}

AudioOptions options(int64_t device, int64_t rate, int32_t channels, int64_t block,
                     bool worker = true) {
  AudioOptions out = {device, rate, channels, block};
  out.worker = worker;
  return out;
}

/// Passes blocks of a mono sound through an effect.
struct Player {
  AudioEffect& effect;
  std::vector<float> sound;
  std::vector<float> out = std::vector<float>(sound.size());
  int64_t at = 0;

  int64_t left() const { return static_cast<int64_t>(sound.size()) - at; }
  rill_status play(int64_t frames) {
    const rill_status status = effect.process(ConstSound::interleaved(sound.data() + at, 1, frames),
                                              Sound::interleaved(out.data() + at, 1, frames));
    at += frames;
    return status;
  }
};

TEST(AudioWorker, GivesTheWholeRunAPulseLater) {
  for (const int64_t ahead : {0, 1, 77, 500}) {
    for (const int64_t pulse : {1, 64, 160, 333}) {
      for (const int64_t block : {0, 48, 160}) {
        auto effect = AudioEffect::make(ahead_plan(ahead, pulse), options(16000, 16000, 1, block));
        ASSERT_TRUE(effect) << effect.error().text;
        const int64_t filling = block == 0 ? pulse - 1 : pulse - std::gcd(pulse, block);
        ASSERT_EQ(effect->latency(), ahead + filling + pulse) << pulse << " in blocks of " << block;
        std::mt19937 random(static_cast<unsigned>(pulse));
        Player player{*effect, noise(9600, 5)};
        while (player.left() > 0) {
          // At most one pulse is filled between two calls of `work`.
          const int64_t most = std::min<int64_t>(pulse, player.left());
          const int64_t any = 1 + static_cast<int64_t>(random()) % most;
          if (block > pulse) effect->offline(true);
          ASSERT_EQ(player.play(block == 0 ? any : std::min(block, player.left())), RILL_OK);
          (void)effect->work();
        }
        for (int64_t i = 0; i < player.at; ++i) {
          const float want = wanted(player.sound, ahead, i - effect->latency());
          if (i - effect->latency() + ahead >= 9600) break;
          ASSERT_EQ(player.out[static_cast<size_t>(i)], want) << i << ", pulse " << pulse;
        }
        EXPECT_EQ(effect->late(), 0);
      }
    }
  }
}

TEST(AudioWorker, AtAnotherRateGivesTheFramesOfAnEffectWithoutOne) {
  for (const int64_t device : {44100, 48000, 8000}) {
    for (const int64_t pulse : {100, 160}) {
      const Plan plan = ahead_plan(21, pulse);
      auto plain = AudioEffect::make(plan, options(device, 16000, 1, 128, false));
      auto threaded = AudioEffect::make(plan, options(device, 16000, 1, 128));
      ASSERT_TRUE(plain && threaded);
      const int64_t more = threaded->latency() - plain->latency();
      EXPECT_LE(more, (pulse * device + 15999) / 16000 + 128);
      threaded->offline(true);
      Player first{*plain, noise(128 * 200, 9)};
      Player second{*threaded, first.sound};
      while (first.left() > 0) {
        ASSERT_EQ(first.play(128), RILL_OK);
        ASSERT_EQ(second.play(128), RILL_OK);
      }
      for (size_t i = 0; i + static_cast<size_t>(more) < first.out.size(); ++i) {
        ASSERT_EQ(second.out[i + static_cast<size_t>(more)], first.out[i]) << i;
      }
    }
  }
}

/// Expect the frames of the model, but silence in `late` pulses.
void expect_frames_or_silence(const Player& player, int64_t ahead, int64_t pulse, int64_t late) {
  const int64_t latency = player.effect.latency();
  int64_t silent = 0;
  for (int64_t i = latency; i < player.at - ahead; ++i) {
    const float found = player.out[static_cast<size_t>(i)];
    if (found == 0) {
      ++silent;
      continue;
    }
    ASSERT_EQ(found, wanted(player.sound, ahead, i - latency)) << i;
  }
  EXPECT_LE(silent, late * pulse);
  EXPECT_GE(silent, late > 0 ? 1 : 0);
}

TEST(AudioWorker, LatePulsesAreSilenceAndTheStreamKeepsItsPlace) {
  for (const int64_t pulse : {1, 50, 160}) {
    // Up to 7 pulses can wait. A further pulse is dropped, and counts as late too.
    for (const int64_t lag : {1, 2, 6, 7, 8, 9, 30}) {
      auto effect = AudioEffect::make(ahead_plan(0, pulse), options(16000, 16000, 1, 0));
      ASSERT_TRUE(effect);
      Player player{*effect, noise(static_cast<size_t>(pulse * 200), 3)};
      for (int64_t i = 0; i < 200; ++i) {
        const bool idle = i >= 50 && i < 50 + lag;
        const rill_status status = player.play(pulse);
        // The previous pulse is late if the worker has not run since.
        const bool late = i > 50 && i <= 50 + lag + (lag >= 7 ? 1 : 0);
        ASSERT_EQ(status, late ? RILL_E_STATE : RILL_OK) << "pulse " << i << ", lag " << lag;
        if (!idle) (void)effect->work();
      }
      EXPECT_EQ(effect->late(), lag + (lag >= 7 ? 1 : 0));
      expect_frames_or_silence(player, 0, pulse, effect->late());
    }
  }
}

TEST(AudioWorker, ThreadsGiveFramesOrReportedSilence) {
  for (const int64_t pulse : {32, 160}) {
    auto effect = AudioEffect::make(ahead_plan(40, pulse), options(16000, 16000, 1, 0));
    ASSERT_TRUE(effect);
    AudioWorker worker;
    ASSERT_EQ(worker.start(*effect, std::chrono::microseconds(100)), RILL_OK);
    EXPECT_EQ(worker.start(*effect, std::chrono::microseconds(100)), RILL_E_STATE);
    Player player{*effect, noise(static_cast<size_t>(pulse * 300), 3)};
    int64_t reported = 0;
    while (player.left() > 0) {
      reported += player.play(std::min<int64_t>(pulse / 2, player.left())) == RILL_E_STATE;
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    worker.stop();
    EXPECT_EQ(effect->late(), reported);
    // A dropped pulse shifts the input of the model by one pulse.
    if (reported == 0) expect_frames_or_silence(player, 40, pulse, 0);
    ASSERT_EQ(effect->reset(), RILL_OK);
    EXPECT_EQ(effect->late(), 0);
  }
}

TEST(AudioWorker, ChannelsAndRowsAreStepped) {
  for (const std::string shape : {"S", "2, S"}) {
    auto effect = AudioEffect::make(ahead_plan(9, 64, shape), options(16000, 16000, 2, 0));
    ASSERT_TRUE(effect) << effect.error().text;
    const std::vector<float> left = noise(6400, 1);
    const std::vector<float> right = noise(6400, 2);
    std::vector<float> sound;
    for (size_t i = 0; i < left.size(); ++i) sound.insert(sound.end(), {left[i], right[i]});
    std::vector<float> out(sound.size());
    for (size_t at = 0; at < 6400; at += 64) {
      ASSERT_EQ(effect->process(ConstSound::interleaved(sound.data() + 2 * at, 2, 64),
                                Sound::interleaved(out.data() + 2 * at, 2, 64)),
                RILL_OK);
      EXPECT_EQ(effect->work(), shape == "S" ? 2 : 1);
    }
    for (int64_t i = effect->latency(); i < 6400; ++i) {
      ASSERT_EQ(out[static_cast<size_t>(2 * i)], wanted(left, 9, i - effect->latency())) << i;
      ASSERT_EQ(out[static_cast<size_t>(2 * i + 1)], wanted(right, 9, i - effect->latency()));
    }
  }
}

TEST(AudioWorker, SavedStreamsContinueWithTheSameBits) {
  const Plan plan = ahead_plan(33, 160);
  for (const int64_t cut : {0, 100, 161, 1000, 4321}) {
    auto whole = AudioEffect::make(plan, options(44100, 16000, 1, 0));
    auto other = AudioEffect::make(plan, options(44100, 16000, 1, 0));
    auto plain = AudioEffect::make(plan, options(44100, 16000, 1, 0, false));
    ASSERT_TRUE(whole && other && plain);
    for (AudioEffect* each : {&*whole, &*other}) each->offline(true);
    Player player{*whole, noise(20000, 7)};
    ASSERT_EQ(player.play(cut), RILL_OK);
    std::vector<double> state(whole->state_bytes() / 8 + 1);
    size_t size = 0;
    ASSERT_EQ(whole->save(state.data(), 8 * state.size(), &size), RILL_OK);
    Player moved{*other, player.sound, player.out, cut};
    ASSERT_EQ(moved.play(0), RILL_OK);
    ASSERT_EQ(other->load(state.data(), size), RILL_OK);
    EXPECT_EQ(plain->load(state.data(), size), RILL_E_PARSE);
    ASSERT_EQ(player.play(player.left()), RILL_OK);
    ASSERT_EQ(moved.play(moved.left()), RILL_OK);
    EXPECT_EQ(player.out, moved.out) << "cut at " << cut;
  }
}

TEST(AudioWorker, TakesNoMemoryAndNoLocks) {
  auto effect = AudioEffect::make(ahead_plan(40, 160), options(44100, 16000, 1, 0));
  ASSERT_TRUE(effect);
  std::vector<float> sound = noise(20000, 1);
  const int64_t heap = heap_calls();
  const int64_t locks = lock_calls();
  for (size_t at = 0; at + 100 <= sound.size(); at += 100) {
    (void)effect->process(ConstSound::interleaved(sound.data() + at, 1, 100),
                          Sound::interleaved(sound.data() + at, 1, 100));
    if (at % 700 == 0) (void)effect->work();
  }
  EXPECT_EQ(heap_calls() - heap, 0);
  EXPECT_EQ(lock_calls() - locks, 0);
}

TEST(AudioWorker, CHasTheSameFrames) {
  const Plan plan = ahead_plan(12, 100);
  rill_audio_opts opts = {};
  opts.size = sizeof(opts);
  opts.device_rate = opts.model_rate = 16000;
  opts.worker = 1;
  rill_effect* effect = nullptr;
  ASSERT_EQ(rill_effect_new(plan.get(), &opts, &effect), RILL_OK) << rill_audio_error();
  EXPECT_EQ(rill_effect_latency(effect), 12 + 99 + 100);
  const std::vector<float> sound = noise(5000, 4);
  std::vector<float> out = sound;
  for (size_t at = 0; at < out.size(); at += 100) {
    rill_sound block = {};
    block.size = sizeof(block);
    block.format = RILL_SAMPLE_F32;
    block.channels = 1;
    block.frames = 100;
    block.data = out.data() + at;
    ASSERT_EQ(rill_effect_process(effect, &block, &block), RILL_OK);
    EXPECT_EQ(rill_effect_work(effect), 1);
  }
  EXPECT_EQ(rill_effect_late(effect), 0);
  for (int64_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(out[static_cast<size_t>(i)], wanted(sound, 12, i - 211));
  }
  rill_listener* listener = nullptr;
  EXPECT_EQ(rill_listener_new(plan.get(), &opts, &listener), RILL_E_ARG);
  EXPECT_EQ(rill_effect_work(nullptr), -1);
  EXPECT_EQ(rill_effect_late(nullptr), -1);
  EXPECT_EQ(rill_effect_offline(effect, 1), RILL_OK);
  rill_effect_free(effect);
}

}  // namespace
}  // namespace rill::test
