// rill and the surrounding process: float modes, signals, forks, and a library that is loaded and
// unloaded at run time.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/heap_calls.h"
#include "tests/support/runs.h"
#include "tests/support/sanitized.h"

namespace rill::test {
namespace {

const char kArchive[] = RILL_SOURCE_DIR "/tests/models/tcn_dilated/model.nnef.tgz";
constexpr int64_t kPulse = 8;

Arrays noise(int64_t frames = 60) {
  const ModelPtr model = [] {
    rill_model* raw = nullptr;
    EXPECT_EQ(rill_load(kArchive, nullptr, &raw), RILL_OK) << rill_last_error();
    return ModelPtr(raw);
  }();
  rill_io_info io = {};
  io.size = sizeof(io);
  EXPECT_EQ(rill_model_io(model.get(), RILL_INPUT, 0, &io), RILL_OK) << rill_last_error();
  std::vector<int64_t> shape;
  for (uint32_t i = 0; i < io.rank; ++i) {
    const std::string dim = io.dims[i];
    shape.push_back(dim == "S" ? frames : dim == "B" ? 1 : std::stoll(dim));
  }
  return {{io.name, Array::noise(shape, 4)}};
}

Opened open(const Arrays& inputs) { return open_stream(kArchive, inputs, "S", kPulse); }

void expect_same(const Arrays& found, const Arrays& want) {
  ASSERT_FALSE(found.empty()) << rill_last_error();
  for (const auto& [name, array] : want) {
    EXPECT_EQ(bit_difference(found.at(name), array), "") << name;
  }
}

TEST(Surroundings, ModesOfFloatsChangeNoBitAndStay) {
  const Arrays inputs = noise();
  const Arrays whole = run_whole(kArchive, inputs);
  const Arrays want = run_stream(open(inputs), inputs);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    SCOPED_TRACE(mode);
    ASSERT_EQ(std::fesetround(mode), 0);
    const Opened stream = open(inputs);
    const Arrays found = run_stream(stream, inputs);
    const Arrays again = run_whole(kArchive, inputs);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    expect_same(found, want);
    expect_same(again, whole);
  }
}

#if defined(__GLIBC__) && defined(__x86_64__)
TEST(Surroundings, TrappedExceptionsTrapNothing) {
  const Arrays inputs = noise();
  const Opened stream = open(inputs);
  const Arrays want = run_stream(stream, inputs);
  ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
  feenableexcept(FE_INEXACT | FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
  const Arrays found = run_stream(stream, inputs);
  const int trapped = fegetexcept();
  fedisableexcept(FE_ALL_EXCEPT);
  EXPECT_NE(trapped & FE_INEXACT, 0) << "the thread gets its own mode back";
  expect_same(found, want);
}
#endif

rill_session* in_handler = nullptr;
volatile sig_atomic_t signals = 0;
volatile sig_atomic_t failed = 0;

void step_in_handler(int) {
  signals = signals + 1;
  if (rill_step(in_handler) != RILL_OK) failed = failed + 1;
}

TEST(Surroundings, SignalsMayInterruptStepsAndStepOtherSessions) {
  const Arrays inputs = noise();
  const Opened stream = open(inputs);
  const Opened other = open(inputs);
  const Arrays want = run_stream(stream, inputs);
  in_handler = other.session.get();
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = step_in_handler;
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval often = {{0, 300}, {0, 300}};
  const itimerval never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 100000 && signals < 200; ++i) {
    rill_session_reset(stream.session.get());
    expect_same(run_stream(stream, inputs), want);
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_GE(signals, 200);
  EXPECT_EQ(failed, 0);
}

TEST(Surroundings, AForkedChildContinuesWithoutTheThreadsOfItsParent) {
#ifdef RILL_SANITIZED
  GTEST_SKIP() << "sanitizers have own threads and locks, which a forked child lacks";
#endif
  const Arrays inputs = noise(6000);
  const Arrays want = run_whole(kArchive, inputs);
  ASSERT_EQ(want.size(), 1U) << rill_last_error();
  const Opened whole = open_session(load_bound(kArchive, inputs, "").get());
  ASSERT_TRUE(whole.session) << rill_last_error();
  rill_threads* threads = nullptr;
  ASSERT_EQ(rill_threads_new(3, &threads), RILL_OK) << rill_last_error();
  ASSERT_EQ(rill_session_set_threads(whole.session.get(), threads), RILL_OK) << rill_last_error();
  const auto runs = [&] {
    const rill_view in = inputs.begin()->second.view();
    Array found = want.begin()->second;
    std::fill(found.bytes.begin(), found.bytes.end(), std::byte{0});
    const rill_view out = found.view();
    if (rill_run(whole.session.get(), &in, 1, &out, 1) != RILL_OK) return 2;
    return bit_difference(found, want.begin()->second).empty() ? 0 : 3;
  };
  EXPECT_EQ(runs(), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const int status = runs();
    rill_threads_free(threads);
    rill_session_set_threads(whole.session.get(), nullptr);
    _exit(status);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(runs(), 0) << "and the parent with them";
  rill_threads_free(threads);
}

#ifdef RILL_SHARED_LIBRARY

/// The library as an app loads it at run time.
struct Library {
  void* handle = dlopen(RILL_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle, name));
  }
};

TEST(Surroundings, AFailureInALibraryThatWasOpenedAllocatesNothing) {
  if (heap_blocks() < 0) GTEST_SKIP() << "sanitizers replace the heap";
  const Library library;
  ASSERT_NE(library.handle, nullptr) << dlerror();
  auto* const step = library.find<rill_status(rill_session*)>("rill_step");
  auto* const last = library.find<const char*(void)>("rill_last_error");
  ASSERT_TRUE(step && last);
  for (int i = 0; i < 20; ++i) {
    int64_t calls = -1;
    std::string before;
    std::string text;
    std::thread([&] {
      const int64_t first = heap_calls();
      const char* const none = last();
      const rill_status status = step(nullptr);
      const char* const failure = last();
      calls = heap_calls() - first;
      before = none;
      text = failure;
      EXPECT_EQ(status, RILL_E_ARG);
    }).join();
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(before, "") << "of another thread";
    EXPECT_NE(text.find("not a session"), std::string::npos);
  }
  EXPECT_EQ(dlclose(library.handle), 0);
}

TEST(Surroundings, ALibraryIsClosedAndOpenedAgain) {
  for (int i = 0; i < 5; ++i) {
    const Library library;
    ASSERT_NE(library.handle, nullptr) << dlerror();
    auto* const load = library.find<decltype(rill_load)>("rill_load");
    auto* const free_model = library.find<decltype(rill_model_free)>("rill_model_free");
    auto* const new_threads = library.find<decltype(rill_threads_new)>("rill_threads_new");
    auto* const free_threads = library.find<decltype(rill_threads_free)>("rill_threads_free");
    ASSERT_TRUE(load && free_model && new_threads && free_threads);
    rill_model* model = nullptr;
    rill_threads* threads = nullptr;
    EXPECT_EQ(load(kArchive, nullptr, &model), RILL_OK);
    EXPECT_EQ(new_threads(3, &threads), RILL_OK);
    free_threads(threads);
    free_model(model);
    // This thread has seen an error, and ends after the library is unloaded.
    std::atomic<bool> refused{false};
    std::atomic<bool> closed{false};
    std::thread late([&] {
      EXPECT_EQ(load(nullptr, nullptr, &model), RILL_E_ARG);
      refused = true;
      while (!closed) std::this_thread::yield();
    });
    while (!refused) std::this_thread::yield();
    EXPECT_EQ(dlclose(library.handle), 0);
    closed = true;
    late.join();
  }
}

#endif

}  // namespace
}  // namespace rill::test
