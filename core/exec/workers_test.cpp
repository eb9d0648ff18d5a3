#include "core/exec/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace rill {
namespace {

struct Counts {
  std::vector<std::atomic<int>> parts = std::vector<std::atomic<int>>(kMostThreads);

  static void count(void* own, uint32_t part) { ++static_cast<Counts*>(own)->parts[part]; }
};

std::shared_ptr<const Pool> pool_of(uint32_t threads) {
  auto pool = make_pool(threads);
  EXPECT_TRUE(pool.ok()) << pool.error().to_string();
  return pool.ok() ? std::move(pool).value() : nullptr;
}

TEST(Workers, EveryPartRunsOnce) {
  for (const uint32_t threads : {1U, 2U, 3U, 7U}) {
    const auto pool = pool_of(threads);
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->threads, threads);
    for (uint32_t parts = 1; parts <= threads; ++parts) {
      Counts counts;
      constexpr int kCalls = 500;
      for (int i = 0; i < kCalls; ++i) pool->run(pool->context, Counts::count, &counts, parts);
      for (uint32_t part = 0; part < kMostThreads; ++part) {
        EXPECT_EQ(counts.parts[part], part < parts ? kCalls : 0) << part << " of " << parts;
      }
    }
  }
}

TEST(Workers, ThreadsThatShareAPoolDoNotWaitForEachOther) {
  const auto pool = pool_of(3);
  ASSERT_TRUE(pool);
  std::vector<Counts> counts(4);
  std::vector<std::thread> threads;
  constexpr int kCalls = 500;
  for (Counts& own : counts) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) pool->run(pool->context, Counts::count, &own, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Counts& own : counts) {
    for (uint32_t part = 0; part < 3; ++part) EXPECT_EQ(own.parts[part], kCalls);
  }
}

TEST(Workers, ABusyPoolRunsAllPartsOnTheCallingThread) {
  const auto pool = pool_of(2);
  ASSERT_TRUE(pool);
  struct Nested {
    const Pool* pool;
    Counts counts;
    static void again(void* own, uint32_t) {
      auto* self = static_cast<Nested*>(own);
      self->pool->run(self->pool->context, Counts::count, &self->counts, 2);
    }
  };
  Nested nested{pool.get(), {}};
  pool->run(pool->context, Nested::again, &nested, 2);
  EXPECT_EQ(nested.counts.parts[0], 2);
  EXPECT_EQ(nested.counts.parts[1], 2);
}

TEST(Workers, ThreadsEndInAnyState) {
  for (int i = 0; i < 50; ++i) (void)pool_of(4);
  const auto pool = pool_of(2);
  ASSERT_TRUE(pool);
  // One thread of these pools gets no part: it may be in any state when the pool is destroyed.
  Counts counts;
  for (int i = 0; i < 50; ++i) {
    const auto brief = pool_of(3);
    ASSERT_TRUE(brief);
    brief->run(brief->context, Counts::count, &counts, 2);
  }
  EXPECT_EQ(counts.parts[1], 50);
}

TEST(Workers, CountsOutOfRangeAreRefused) {
  for (const uint32_t threads : {0U, kMostThreads + 1, ~0U}) {
    const auto pool = make_pool(threads);
    ASSERT_FALSE(pool.ok());
    EXPECT_EQ(pool.error().code, Code::kArg);
    EXPECT_NE(pool.error().message.find("expected 1 to 256"), std::string::npos);
  }
}

}  // namespace
}  // namespace rill
