// Threads share a plan, each with a session of its own, and load and free models side by side.

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

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

TEST(Threads, EachHasAnErrorOfItsOwn) {
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
