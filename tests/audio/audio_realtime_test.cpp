// A callback that processes sound uses no heap, lock or system call. A ring buffer carries the
// sound to a thread.

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "rill/audio.hpp"
#include "tests/support/heap_calls.h"
#include "tests/support/lock_calls.h"
#include "tests/support/system_calls.h"

namespace rill::test {
namespace {

Plan plan_of(const char* name, int64_t pulse) {
  auto model = Model::load(std::string(RILL_SOURCE_DIR "/tests/models/") + name +
                           "/model.nnef.tgz");
  if (!model || !model->set("B", 1) || !model->pulse("S", pulse)) std::abort();
  return model->prepare().value();
}

/// Results of a run, in shared memory that outlives the process.
struct Ledger {
  int64_t heap = 0;
  int64_t locks = 0;
  int64_t frames = 0;
  rill_status failed = RILL_OK;
};

/// Calls an effect and a listener with blocks of all sizes and formats, including invalid ones.
class Callbacks {
 public:
  Callbacks(AudioEffect& effect, AudioListener& listener)
      : effect_(effect), listener_(listener), floats_(2 * 6000, 0.1f), shorts_(2 * 6000, 99) {}

  void run(Ledger* ledger) {
    const int64_t heap = heap_calls();
    const int64_t locks = lock_calls();
    for (int64_t block = 0; block < 6000; block = block * 5 / 4 + 1) {
      const auto whole = ConstSound::interleaved(floats_.data(), 2, block);
      const auto small = ConstSound::interleaved(shorts_.data(), 2, block);
      keep(ledger, effect_.process(whole, Sound::interleaved(shorts_.data(), 2, block)));
      keep(ledger, effect_.process(small, Sound::interleaved(floats_.data(), 2, block)));
      const auto count = [&](size_t, const TensorView<const float>& frames) noexcept {
        ledger->frames += frames.size();
      };
      keep(ledger, listener_.push(whole, count));
      keep(ledger, listener_.push(small, count));
      ConstSound wrong = whole;
      wrong.channels = 3;
      if (listener_.push(wrong, count) == RILL_OK) ledger->failed = RILL_E_INTERNAL;
      if (block < 2000) continue;  // the model has no frames for so short a stream
      keep(ledger, listener_.finish(count));
      keep(ledger, listener_.reset());
      keep(ledger, effect_.reset());
    }
    ledger->heap = heap_calls() - heap;
    ledger->locks = lock_calls() - locks;
  }

 private:
  static void keep(Ledger* ledger, rill_status status) {
    if (ledger->failed == RILL_OK) ledger->failed = status;
  }

  AudioEffect& effect_;
  AudioListener& listener_;
  std::vector<float> floats_;
  std::vector<int16_t> shorts_;
};

TEST(Audio, LeavesHeapLocksAndSystemAlone) {
  auto effect = AudioEffect::make(plan_of("unet_denoiser", 160), {44100, 16000, 2, 0});
  ASSERT_TRUE(effect) << effect.error().text;
  auto listener = AudioListener::make(plan_of("vad_speech", 1600), {48000, 16000, 2, 0});
  ASSERT_TRUE(listener) << listener.error().text;
  Callbacks callbacks(*effect, *listener);
  auto* ledger = static_cast<Ledger*>(shared_memory(sizeof(Ledger)));
  Ledger own;
  SystemCalls calls;
  const bool watched = ledger && count_system_calls([&] { callbacks.run(ledger); }, &calls);
  if (!watched) callbacks.run(ledger = &own);
  EXPECT_EQ(ledger->failed, RILL_OK);
  EXPECT_GT(ledger->frames, 0);
  EXPECT_EQ(ledger->heap, 0);
  EXPECT_LE(ledger->locks, 0);
  if (!watched) GTEST_SKIP() << "heap and locks only: the system does not count its calls";
  EXPECT_TRUE(calls.finished);
  EXPECT_EQ(calls.count, 0) << "the first one is number " << calls.first;
}

TEST(Ring, CarriesEveryElementInOrderBetweenThreads) {
  constexpr uint32_t kCount = 300000;
  auto made = Ring<uint32_t>::make(100);
  ASSERT_TRUE(made);
  Ring<uint32_t>& ring = *made;
  EXPECT_EQ(ring.capacity(), 128u);
  std::thread writer([&] {
    uint32_t block[50];
    for (uint32_t at = 0; at < kCount;) {
      const uint32_t size = std::min<uint32_t>(1 + at % 50, kCount - at);
      for (uint32_t i = 0; i < size; ++i) block[i] = at + i;
      const auto written = static_cast<uint32_t>(ring.write(block, size));
      if (written == 0) std::this_thread::yield();
      at += written;
    }
  });
  uint32_t block[37];
  uint32_t wrong = 0;
  for (uint32_t at = 0; at < kCount;) {
    const auto got = static_cast<uint32_t>(ring.read(block, 1 + at % 37));
    for (uint32_t i = 0; i < got; ++i) wrong += block[i] != at + i;
    if (got == 0) std::this_thread::yield();
    at += got;
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(ring.readable(), 0u);
}

TEST(Ring, TakesElementsThatFitAndDoesNotAllocate) {
  EXPECT_EQ(Ring<float>::make(0).error().code, RILL_E_ARG);
  EXPECT_EQ(Ring<float>::make(SIZE_MAX).error().code, RILL_E_ARG);
  auto made = Ring<float>::make(8);
  ASSERT_TRUE(made);
  const int64_t before = heap_calls();
  float block[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const size_t written = made->write(block, 20);
  const size_t more = made->write(block, 1);
  float read[20] = {};
  const size_t got = made->read(read, 3);
  const size_t again = made->write(block, 20);
  const size_t rest = made->read(read + 3, 20);
  const int64_t calls = heap_calls() - before;
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(written, 8u);
  EXPECT_EQ(more, 0u);
  EXPECT_EQ(got, 3u);
  EXPECT_EQ(again, 3u);
  EXPECT_EQ(rest, 8u);
  for (int i = 0; i < 11; ++i) EXPECT_EQ(read[i], static_cast<float>(i < 8 ? i + 1 : i - 7));
}

}  // namespace
}  // namespace rill::test
