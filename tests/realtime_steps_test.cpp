// Thousands of steps of every streaming model, in every mode, use no heap, lock or system call.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/heap_calls.h"
#include "tests/support/lock_calls.h"
#include "tests/support/models.h"
#include "tests/support/runs.h"
#include "tests/support/sanitized.h"
#include "tests/support/system_calls.h"

#if defined(__linux__)
#include <pthread.h>
#include <unistd.h>
#endif

namespace rill::test {
namespace {

#ifdef RILL_SANITIZED
constexpr int64_t kSteps = 2'000;  // sanitizers have their own allocator and locks
#else
constexpr int64_t kSteps = 100'000;
#endif

/// Results of a run, in shared memory that outlives the process.
struct Ledger {
  int64_t steps = 0;
  int64_t lives = 0;   ///< streams, from the start or a reset to the end of the tail
  int64_t frames = 0;  ///< output frames
  int64_t heap = 0;
  int64_t locks = 0;
  rill_status failed = RILL_OK;
};

/// Runs one session as apps do: some streams in steps, some by pushes, each to its end.
class Driver {
 public:
  Driver(rill_session* session, const ModelFolder& model, const Array& in, const Array& out)
      : session_(session), model_(model), in_(in.view()), out_(out.view()) {}

  void run(int64_t steps, Ledger* ledger) {
    ledger_ = ledger;
    const int64_t heap = heap_calls();
    const int64_t locks = lock_calls();
    while (ledger_->steps < steps && ledger_->failed == RILL_OK) {
      if (ledger_->lives++ % 2 == 0) {
        step_through();
      } else {
        push_through();
      }
      check(rill_session_reset(session_));
    }
    ledger_->heap = heap_calls() - heap;
    ledger_->locks = lock_calls() - locks;
  }

 private:
  void check(rill_status status) {
    if (ledger_->failed == RILL_OK) ledger_->failed = status;
  }
  void count_frames() {
    int64_t first = 0;
    int64_t count = 0;
    check(rill_valid_frames(session_, 0, &first, &count));
    ledger_->frames += count;
  }

  void step_through() {
    const rill_session_step part = {sizeof(rill_session_step), RILL_STEP_FULL, session_, 0};
    for (int i = 0; i < 60; ++i) {
      check(i % 2 == 0 ? rill_step(session_) : rill_step_together(&part, 1));
      count_frames();
      ++ledger_->steps;
    }
    check(rill_step_partial(session_, part_of_pulse(model_)));
    count_frames();
    for (int64_t left = 1; left > 0 && ledger_->failed == RILL_OK; ++ledger_->steps) {
      check(rill_flush(session_, &left));
      count_frames();
    }
  }

  void pull_all() {
    for (int64_t given = 1; given > 0 && ledger_->failed == RILL_OK;) {
      check(rill_pull(session_, 0, &out_, &given));
      ledger_->frames += given;
    }
  }

  void push_through() {
    int64_t pushed = 0;
    while (pushed < 60 * model_.pulse && ledger_->failed == RILL_OK) {
      int64_t taken = 0;
      check(rill_push(session_, 0, &in_, &taken));
      pushed += taken;
      pull_all();
    }
    ledger_->steps += pushed / model_.pulse;
    check(rill_finish(session_));
    pull_all();
  }

  rill_session* session_;
  const ModelFolder& model_;
  rill_view in_;
  rill_view out_;
  Ledger* ledger_ = nullptr;
};

class RealTimeSteps : public ::testing::TestWithParam<ModelFolder> {};

TEST(LockCalls, AreSeen) {
  if (lock_calls() < 0) GTEST_SKIP() << "the sanitizer sees to locks itself";
  const int64_t before = lock_calls();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  EXPECT_EQ(lock_calls(), before + 1);
  pthread_mutex_unlock(&mutex);
}

TEST(SystemCalls, AreSeen) {
  SystemCalls calls;
  const auto body = [] {
    (void)getppid();
    (void)getppid();
  };
  if (!count_system_calls(body, &calls)) GTEST_SKIP() << "no seccomp";
  EXPECT_TRUE(calls.finished);
  EXPECT_EQ(calls.count, 2);
}

/// Frames for an input or output of the plan.
Array frames_of(const rill_plan* plan, rill_dir dir, int64_t frames) {
  rill_io_info io = {};
  io.size = sizeof io;
  if (rill_plan_io(plan, dir, 0, &io) != RILL_OK) return {};
  std::vector<int64_t> shape(io.shape, io.shape + io.rank);
  shape[static_cast<size_t>(io.stream_axis)] = frames;
  return io.dtype == RILL_F32 ? Array::noise(shape, 1) : Array::zeros(io.dtype, shape);
}

TEST_P(RealTimeSteps, LeaveHeapLocksAndSystemAlone) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  const int64_t piece = model.unit == 1 ? 5 * model.pulse / 7 + 1 : model.unit;
  const Array in = frames_of(stream.plan.get(), RILL_INPUT, piece);
  const Array out = frames_of(stream.plan.get(), RILL_OUTPUT, 3);
  Driver driver(stream.session.get(), model, in, out);
  auto* ledger = static_cast<Ledger*>(shared_memory(sizeof(Ledger)));
  Ledger own;
  SystemCalls calls;
  const bool watched = ledger && count_system_calls([&] { driver.run(kSteps, ledger); }, &calls);
  if (!watched) driver.run(kSteps, ledger = &own);
  EXPECT_EQ(ledger->failed, RILL_OK);
  EXPECT_GE(ledger->steps, kSteps);
  EXPECT_GT(ledger->frames, 0);
  EXPECT_EQ(ledger->heap, 0);
  EXPECT_LE(ledger->locks, 0);
  if (!watched) GTEST_SKIP() << "heap and locks only: the system does not count its calls";
  EXPECT_TRUE(calls.finished);
  EXPECT_EQ(calls.count, 0) << "the first one is number " << calls.first;
}

INSTANTIATE_TEST_SUITE_P(, RealTimeSteps, ::testing::ValuesIn(streaming_models()), ModelName());

}  // namespace
}  // namespace rill::test
