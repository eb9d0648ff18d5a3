// Sessions in the caller's memory never allocate, and give the bits of sessions that allocate their
// own memory.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/support/heap_calls.h"
#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

/// Return a plan of the model that streams, with a batch of 1.
PlanPtr plan_of(const ModelFolder& folder) {
  rill_model* model = nullptr;
  EXPECT_EQ(rill_load(folder.archive.c_str(), nullptr, &model), RILL_OK) << rill_last_error();
  const ModelPtr keep(model);
  const char* symbol = nullptr;
  for (size_t i = 0; rill_model_symbol(model, i, &symbol) == RILL_OK && symbol;) {
    if (symbol == folder.symbol) {
      ++i;
    } else {
      EXPECT_EQ(rill_model_set_symbol(model, symbol, "1"), RILL_OK) << rill_last_error();
    }
  }
  const std::string pulse = std::to_string(folder.pulse);
  EXPECT_EQ(rill_model_pulse(model, folder.symbol.c_str(), pulse.c_str()), RILL_OK)
      << rill_last_error();
  rill_plan* plan = nullptr;
  EXPECT_EQ(rill_prepare(model, nullptr, &plan), RILL_OK) << rill_last_error();
  return PlanPtr(plan);
}

/// Fill the inputs of two sessions with equal values.
void fill(const rill_plan* plan, rill_session* one, rill_session* other, int step) {
  for (size_t i = 0; i < rill_plan_count(plan, RILL_INPUT); ++i) {
    rill_view a = {};
    rill_view b = {};
    a.size = b.size = sizeof(rill_view);
    ASSERT_EQ(rill_input_buffer(one, i, &a), RILL_OK);
    ASSERT_EQ(rill_input_buffer(other, i, &b), RILL_OK);
    int64_t count = 1;
    for (uint32_t axis = 0; axis < a.rank; ++axis) count *= a.shape[axis];
    if (a.dtype == RILL_F32) {
      for (int64_t k = 0; k < count; ++k) {
        static_cast<float*>(a.data)[k] = static_cast<float>((k * 7 + step * 3) % 11) * 0.1F - 0.5F;
      }
    }
    std::memcpy(b.data, a.data, static_cast<size_t>(count) * rill_dtype_size(a.dtype));
  }
}

void expect_same_outputs(const rill_plan* plan, rill_session* one, rill_session* other) {
  for (size_t i = 0; i < rill_plan_count(plan, RILL_OUTPUT); ++i) {
    rill_view a = {};
    rill_view b = {};
    a.size = b.size = sizeof(rill_view);
    ASSERT_EQ(rill_output_buffer(one, i, &a), RILL_OK);
    ASSERT_EQ(rill_output_buffer(other, i, &b), RILL_OK);
    int64_t count = 1;
    for (uint32_t axis = 0; axis < a.rank; ++axis) count *= a.shape[axis];
    EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<size_t>(count) * rill_dtype_size(a.dtype)), 0)
        << "output " << i;
  }
}

class PlacedSessions : public ::testing::TestWithParam<ModelFolder> {};

TEST_P(PlacedSessions, AskTheHeapForNothingAndGiveTheSameBits) {
  const PlanPtr plan = plan_of(GetParam());
  size_t bytes = 0;
  ASSERT_EQ(rill_session_need(plan.get(), nullptr, &bytes), RILL_OK) << rill_last_error();
  const std::unique_ptr<void, FreeMemory> memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  rill_session* own = nullptr;
  ASSERT_EQ(rill_session_new(plan.get(), &own), RILL_OK) << rill_last_error();
  const SessionPtr keep(own);

  const int64_t before = heap_calls();
  rill_session* placed = nullptr;
  ASSERT_EQ(rill_session_place(plan.get(), nullptr, memory.get(), bytes, &placed), RILL_OK);
  EXPECT_EQ(heap_calls(), before) << "calls of the heap to place a session";
  for (int round = 0; round < 2; ++round) {
    for (int step = 0; step < 5; ++step) {
      fill(plan.get(), own, placed, step);
      const int64_t at_step = heap_calls();
      ASSERT_EQ(rill_step(placed), RILL_OK) << rill_last_error();
      EXPECT_EQ(heap_calls(), at_step);
      ASSERT_EQ(rill_step(own), RILL_OK) << rill_last_error();
      expect_same_outputs(plan.get(), own, placed);
    }
    const int64_t at_end = heap_calls();
    int64_t left = 1;
    while (left > 0 && rill_flush(placed, &left) == RILL_OK) continue;
    ASSERT_EQ(rill_session_reset(placed), RILL_OK);
    EXPECT_EQ(heap_calls(), at_end);
    ASSERT_EQ(rill_session_reset(own), RILL_OK);
  }
  const int64_t at_free = heap_calls();
  rill_session_free(placed);
  EXPECT_EQ(heap_calls(), at_free);
}

/// Return the state of a stream that holds one frame of each input and has not stepped.
std::vector<char> state_with_waiting_frames(rill_plan* plan) {
  rill_session* session = nullptr;
  EXPECT_EQ(rill_session_new(plan, &session), RILL_OK) << rill_last_error();
  const SessionPtr keep(session);
  for (size_t i = 0; i < rill_plan_count(plan, RILL_INPUT); ++i) {
    rill_io_info io = {};
    io.size = sizeof io;
    EXPECT_EQ(rill_plan_io(plan, RILL_INPUT, i, &io), RILL_OK) << rill_last_error();
    if (io.stream_axis < 0) continue;
    std::vector<int64_t> shape(io.shape, io.shape + io.rank);
    shape[static_cast<size_t>(io.stream_axis)] = 1;
    const int64_t count =
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    std::vector<char> frame(static_cast<size_t>(count) * rill_dtype_size(io.dtype));
    const rill_view view{sizeof(rill_view), io.dtype, io.rank, shape.data(), nullptr, frame.data()};
    int64_t taken = 0;
    EXPECT_EQ(rill_push(session, i, &view, &taken), RILL_OK) << rill_last_error();
  }
  size_t size = 0;
  EXPECT_EQ(rill_state_size(session, &size), RILL_OK);
  std::vector<char> state(size);
  EXPECT_EQ(rill_state_save(session, state.data(), size, &size), RILL_OK) << rill_last_error();
  state.resize(size);
  return state;
}

TEST_P(PlacedSessions, GiveBackTheFramesOfALoadedState) {
  const PlanPtr plan = plan_of(GetParam());
  const std::vector<char> state = state_with_waiting_frames(plan.get());
  size_t bytes = 0;
  ASSERT_EQ(rill_session_need(plan.get(), nullptr, &bytes), RILL_OK) << rill_last_error();
  const std::unique_ptr<void, FreeMemory> memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  const int64_t before = heap_blocks();
  rill_session* placed = nullptr;
  ASSERT_EQ(rill_session_place(plan.get(), nullptr, memory.get(), bytes, &placed), RILL_OK);
  ASSERT_EQ(rill_state_load(placed, state.data(), state.size()), RILL_OK) << rill_last_error();
  rill_session_free(placed);
  EXPECT_EQ(heap_blocks(), before);
}

INSTANTIATE_TEST_SUITE_P(Models, PlacedSessions, ::testing::ValuesIn(streaming_models()),
                         ModelName());

}  // namespace
}  // namespace rill::test
