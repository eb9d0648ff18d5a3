// Threads share a plan with a session each, load and free models concurrently, and share the steps
// of one session.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rill/rill.hpp"
#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

const char kArchive[] = RILL_SOURCE_DIR "/tests/models/kws_gru/model.nnef.tgz";

TEST(Threads, StreamsOnOnePlanDoNotDisturbEachOther) {
  const Arrays noise = {{"mel", Array::noise({1, 61, 40}, 3)}};
  const Opened first = open_stream(kArchive, noise, "S", 8);
  ASSERT_TRUE(first.session) << rill_last_error();
  const Arrays want = run_stream(first, noise);
  ASSERT_FALSE(want.empty()) << rill_last_error();
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::string& result : found) {
    threads.emplace_back([&] {
      rill_session* session = nullptr;
      if (rill_session_new(first.plan.get(), &session) != RILL_OK) {
        result = rill_last_error();
        return;
      }
      const Opened own{PlanPtr(rill_plan_retain(first.plan.get())), SessionPtr(session)};
      for (int again = 0; again < 5; ++again) {
        const Arrays got = run_stream(own, noise);
        result += got.empty() ? rill_last_error()
                              : bit_difference(got.at("keywords"), want.at("keywords"));
        (void)rill_session_reset(session);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : found) EXPECT_EQ(result, "");
}

struct ReleaseThreads {
  void operator()(rill_threads* threads) const { rill_threads_free(threads); }
};
using ThreadsPtr = std::unique_ptr<rill_threads, ReleaseThreads>;

ThreadsPtr new_threads(uint32_t count) {
  rill_threads* threads = nullptr;
  EXPECT_EQ(rill_threads_new(count, &threads), RILL_OK) << rill_last_error();
  return ThreadsPtr(threads);
}

/// A model with steps that are large enough for several threads.
class SharedSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    inputs_ = {{"mel", Array::noise({1, 900, 40}, 3)}};
    const ModelPtr model = load_bound(kArchive, inputs_, "");
    ASSERT_TRUE(model) << rill_last_error();
    opened_ = open_session(model.get());
    ASSERT_TRUE(opened_.session) << rill_last_error();
    want_ = outputs_of(opened_.session.get());
  }
  SessionPtr session() const {
    rill_session* session = nullptr;
    EXPECT_EQ(rill_session_new(opened_.plan.get(), &session), RILL_OK) << rill_last_error();
    return SessionPtr(session);
  }
  std::vector<uint8_t> outputs_of(rill_session* session) const {
    rill_view view = {};
    view.size = sizeof(view);
    EXPECT_EQ(rill_input_buffer(session, 0, &view), RILL_OK);
    const auto& bytes = inputs_.at("mel").bytes;
    std::memcpy(view.data, bytes.data(), bytes.size());
    EXPECT_EQ(rill_session_reset(session), RILL_OK) << rill_last_error();
    EXPECT_EQ(rill_step(session), RILL_OK) << rill_last_error();
    rill_io_info info = {};
    info.size = sizeof(info);
    EXPECT_EQ(rill_plan_io(opened_.plan.get(), RILL_OUTPUT, 0, &info), RILL_OK);
    EXPECT_EQ(rill_output_buffer(session, 0, &view), RILL_OK);
    const auto* first = static_cast<const uint8_t*>(view.data);
    return {first, first + info.bytes};
  }

  Arrays inputs_;
  Opened opened_;
  std::vector<uint8_t> want_;
};

TEST_F(SharedSteps, GiveTheSameForAnyNumberOfThreads) {
  const int64_t alone = rill_session_bytes(opened_.session.get());
  for (const uint32_t count : {1U, 2U, 3U, 7U}) {
    const ThreadsPtr threads = new_threads(count);
    ASSERT_EQ(rill_session_set_threads(opened_.session.get(), threads.get()), RILL_OK);
    EXPECT_GE(rill_session_bytes(opened_.session.get()), alone);
    for (int again = 0; again < 3; ++again) {
      EXPECT_TRUE(outputs_of(opened_.session.get()) == want_) << count;
    }
  }
  ASSERT_EQ(rill_session_set_threads(opened_.session.get(), nullptr), RILL_OK);
  EXPECT_EQ(rill_session_bytes(opened_.session.get()), alone);
  EXPECT_TRUE(outputs_of(opened_.session.get()) == want_);
}

TEST_F(SharedSteps, RunOnThreadsOfTheApp) {
  struct App {
    int calls = 0;
    static void run(void* context, rill_task task, void* argument, uint32_t parts) {
      ++static_cast<App*>(context)->calls;
      std::vector<std::thread> threads;
      for (uint32_t part = 0; part < parts; ++part) threads.emplace_back(task, argument, part);
      for (std::thread& thread : threads) thread.join();
    }
  };
  App app;
  rill_pool pool = {};
  pool.size = sizeof(pool);
  pool.threads = 3;
  pool.context = &app;
  pool.run = App::run;
  rill_threads* wrapped = nullptr;
  ASSERT_EQ(rill_threads_wrap(&pool, &wrapped), RILL_OK) << rill_last_error();
  const ThreadsPtr threads(wrapped);
  ASSERT_EQ(rill_session_set_threads(opened_.session.get(), wrapped), RILL_OK);
  EXPECT_TRUE(outputs_of(opened_.session.get()) == want_);
  EXPECT_GT(app.calls, 0);
}

TEST_F(SharedSteps, OfSeveralSessionsShareThreads) {
  const ThreadsPtr shared = new_threads(3);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      const SessionPtr own = session();
      count += rill_session_set_threads(own.get(), shared.get()) != RILL_OK;
      for (int again = 0; again < 5; ++again) count += outputs_of(own.get()) != want_;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

TEST_F(SharedSteps, ThreadsSessionsAndPlanGoInAnyOrder) {
  for (int order = 0; order < 6; ++order) {
    ThreadsPtr threads = new_threads(2);
    SessionPtr first = session();
    SessionPtr second = session();
    ASSERT_EQ(rill_session_set_threads(first.get(), threads.get()), RILL_OK);
    ASSERT_EQ(rill_session_set_threads(second.get(), threads.get()), RILL_OK);
    if (order % 2 == 0) threads.reset();
    EXPECT_TRUE(outputs_of(first.get()) == want_);
    if (order % 3 == 0) first.reset();
    EXPECT_TRUE(outputs_of(second.get()) == want_);
    if (order % 3 == 1) second.reset();
    threads.reset();
    if (first) {
      EXPECT_TRUE(outputs_of(first.get()) == want_);
    }
  }
}

TEST_F(SharedSteps, AreNotThoseOfClones) {
  const ThreadsPtr threads = new_threads(2);
  const int64_t alone = rill_session_bytes(opened_.session.get());
  ASSERT_EQ(rill_session_set_threads(opened_.session.get(), threads.get()), RILL_OK);
  rill_session* copy = nullptr;
  ASSERT_EQ(rill_session_clone(opened_.session.get(), &copy), RILL_OK) << rill_last_error();
  const SessionPtr clone(copy);
  EXPECT_EQ(rill_session_bytes(copy), alone);
  EXPECT_TRUE(outputs_of(copy) == want_);
}

TEST(SharedStepsInCpp, GiveTheSame) {
  auto model = Model::load(kArchive);
  ASSERT_TRUE(model) << rill_last_error();
  ASSERT_TRUE(model->set("B", 1) && model->set("S", 900)) << rill_last_error();
  auto plan = model->prepare();
  ASSERT_TRUE(plan) << rill_last_error();
  std::vector<std::vector<float>> got;
  for (const uint32_t count : {1U, 2U}) {
    auto session = Session::make(*plan);
    ASSERT_TRUE(session) << rill_last_error();
    auto threads = Threads::make(count);
    ASSERT_TRUE(threads) << rill_last_error();
    ASSERT_TRUE(session->set_threads(*threads)) << rill_last_error();
    const auto in = session->input<float>(0);
    for (int64_t i = 0; i < in.size(); ++i) in.data()[i] = static_cast<float>(i % 97) * 0.01F;
    ASSERT_TRUE(session->step()) << rill_last_error();
    const auto out = session->output<float>(0);
    got.emplace_back(out.data(), out.data() + out.size());
  }
  EXPECT_TRUE(got[0] == got[1]);
  EXPECT_FALSE(Threads::make(0));
}

TEST(Threads, ModelsAreLoadedSideBySide) {
  const Arrays noise = {{"mel", Array::noise({1, 40, 40}, 3)}};
  const Arrays want = run_whole(kArchive, noise);
  ASSERT_FALSE(want.empty()) << rill_last_error();
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::string& result : found) {
    threads.emplace_back([&] {
      const Arrays got = run_whole(kArchive, noise);
      result =
          got.empty() ? rill_last_error() : bit_difference(got.at("keywords"), want.at("keywords"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : found) EXPECT_EQ(result, "");
}

TEST(Threads, EachHasASeparateError) {
  EXPECT_EQ(rill_set_cpu_limit("here"), RILL_E_ARG);
  std::string before;
  std::string after;
  std::thread other([&] {
    before = rill_last_error();
    (void)rill_set_cpu_limit("there");
    after = rill_last_error();
  });
  other.join();
  EXPECT_EQ(before, "");
  EXPECT_NE(after.find("there"), std::string::npos);
  EXPECT_NE(std::string(rill_last_error()).find("here"), std::string::npos);
}

}  // namespace
}  // namespace rill::test
