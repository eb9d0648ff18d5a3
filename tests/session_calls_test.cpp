// Calls of a session in every state of a stream: the content of a clone, the effect of a failed
// call, the position of waiting frames, and the outputs of a stream without frames.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tests/support/runs.h"

namespace rill::test {
namespace {

/// x streams, w does not; y streams, t is known at the end.
constexpr char kScaled[] = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x, w) -> (y, t)
{
  x = tract_core_external(shape = [1, 2, S], datum_type = 'f32');
  w = tract_core_external(shape = [1, 2, 1], datum_type = 'f32');
  y = x * w;
  t = sum_reduce(y, axes = [2]);
}
)";

/// No output streams.
constexpr char kSummed[] = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (t)
{
  x = tract_core_external(shape = [1, 2, S], datum_type = 'f32');
  t = sum_reduce(x, axes = [2]);
}
)";

/// A model along S with equal numbers of input and output frames, and assertions on S.
std::string copied(const std::string& assertions, const std::string& statements) {
  return "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n" +
         assertions +
         "graph network(x) -> (y)\n{\n"
         "x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');\n" +
         statements + "}\n";
}

Opened open_text(const std::string& text, int64_t pulse) {
  rill_model* raw = nullptr;
  if (rill_load_memory(text.data(), text.size(), nullptr, &raw) != RILL_OK) return {};
  const ModelPtr model(raw);
  if (rill_model_pulse(raw, "S", std::to_string(pulse).c_str()) != RILL_OK) return {};
  return open_session(raw);
}

struct Floats {
  std::vector<int64_t> shape;
  std::vector<float> values;

  Floats(std::vector<int64_t> of, float first = 0) : shape(std::move(of)) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    values.resize(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), first);
  }
  rill_view view() {
    rill_view view = {};
    view.size = sizeof(view);
    view.dtype = RILL_F32;
    view.rank = static_cast<uint32_t>(shape.size());
    view.shape = shape.data();
    view.data = values.data();
    return view;
  }
};

std::span<float> buffer(rill_session* session, rill_dir dir, size_t index) {
  rill_view view = {};
  view.size = sizeof(view);
  const rill_status result = dir == RILL_INPUT ? rill_input_buffer(session, index, &view)
                                               : rill_output_buffer(session, index, &view);
  EXPECT_EQ(result, RILL_OK) << rill_last_error();
  size_t count = 1;
  for (uint32_t i = 0; i < view.rank; ++i) count *= static_cast<size_t>(view.shape[i]);
  return {static_cast<float*>(view.data), count};
}

std::vector<float> output(rill_session* session, size_t index) {
  const std::span<float> values = buffer(session, RILL_OUTPUT, index);
  return {values.begin(), values.end()};
}

void fill(rill_session* session, size_t input, const std::vector<float>& values) {
  const std::span<float> to = buffer(session, RILL_INPUT, input);
  ASSERT_EQ(to.size(), values.size());
  std::copy(values.begin(), values.end(), to.begin());
}

int64_t push(rill_session* session, size_t input, Floats frames) {
  const rill_view view = frames.view();
  int64_t taken = -1;
  EXPECT_EQ(rill_push(session, input, &view, &taken), RILL_OK) << rill_last_error();
  return taken;
}

std::vector<float> pull(rill_session* session, size_t output, std::vector<int64_t> room) {
  Floats frames(std::move(room));
  const rill_view view = frames.view();
  int64_t given = -1;
  EXPECT_EQ(rill_pull(session, output, &view, &given), RILL_OK) << rill_last_error();
  // A single row makes the frames contiguous.
  frames.values.resize(static_cast<size_t>(given));
  return frames.values;
}

SessionPtr clone(const rill_session* session) {
  rill_session* copy = nullptr;
  EXPECT_EQ(rill_session_clone(session, &copy), RILL_OK) << rill_last_error();
  return SessionPtr(copy);
}

std::vector<uint64_t> saved(const rill_session* session, size_t* used) {
  size_t size = 0;
  EXPECT_EQ(rill_state_size(session, &size), RILL_OK) << rill_last_error();
  std::vector<uint64_t> bytes(size / 8 + 1);
  EXPECT_EQ(rill_state_save(session, bytes.data(), size, used), RILL_OK) << rill_last_error();
  return bytes;
}

TEST(Clone, HoldsValuesThatAreKnownAtTheEnd) {
  const Opened pushed = open_text(kSummed, 4);
  ASSERT_TRUE(pushed.session) << rill_last_error();
  EXPECT_EQ(push(pushed.session.get(), 0, Floats({1, 2, 6}, 1)), 6);
  ASSERT_EQ(rill_finish(pushed.session.get()), RILL_OK) << rill_last_error();
  const std::vector<float> want = {21, 57};
  EXPECT_EQ(output(pushed.session.get(), 0), want);
  EXPECT_EQ(output(clone(pushed.session.get()).get(), 0), want);

  const Opened stepped = open_text(kSummed, 4);
  fill(stepped.session.get(), 0, {1, 2, 3, 4, 7, 8, 9, 10});
  ASSERT_EQ(rill_step(stepped.session.get()), RILL_OK) << rill_last_error();
  fill(stepped.session.get(), 0, {5, 6, 0, 0, 11, 12, 0, 0});
  ASSERT_EQ(rill_step_partial(stepped.session.get(), 2), RILL_OK) << rill_last_error();
  for (int64_t left = 1; left > 0;) ASSERT_EQ(rill_flush(stepped.session.get(), &left), RILL_OK);
  EXPECT_EQ(output(stepped.session.get(), 0), want);
  EXPECT_EQ(output(clone(stepped.session.get()).get(), 0), want);
}

TEST(Clone, HoldsInputsThatDoNotStreamAndTheFramesThatLieReady) {
  const Opened stream = open_text(kScaled, 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  Floats bound({1, 2, 1}, 3);
  const rill_view view = bound.view();
  ASSERT_EQ(rill_bind_input(stream.session.get(), 1, &view), RILL_OK) << rill_last_error();
  fill(stream.session.get(), 0, {1, 2, 3, 4, 5, 6, 7, 8});
  const SessionPtr copy = clone(stream.session.get());
  ASSERT_EQ(rill_step(stream.session.get()), RILL_OK);
  ASSERT_EQ(rill_step(copy.get()), RILL_OK);
  EXPECT_EQ(output(copy.get(), 0), (std::vector<float>{3, 6, 9, 12, 20, 24, 28, 32}));
  EXPECT_EQ(output(copy.get(), 0), output(stream.session.get(), 0));
  bound.values = {100, 100};
  ASSERT_EQ(rill_step(copy.get()), RILL_OK);
  EXPECT_EQ(output(copy.get(), 0)[0], 3) << "its buffers are its own";
}

TEST(Bind, TakesFramesThatWaitAlong) {
  const Opened stream = open_text(copied("", "y = x * 2.0;\n"), 8);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* session = stream.session.get();
  EXPECT_EQ(push(session, 0, Floats({1, 1, 3}, 1)), 3);
  Floats input({1, 1, 8}, 1000);
  Floats output({1, 1, 8}, 2000);
  const rill_view input_view = input.view();
  const rill_view output_view = output.view();
  ASSERT_EQ(rill_bind_input(session, 0, &input_view), RILL_OK) << rill_last_error();
  EXPECT_EQ(push(session, 0, Floats({1, 1, 5}, 4)), 5);
  EXPECT_EQ(push(session, 0, Floats({1, 1, 2}, 9)), 2);
  EXPECT_EQ(pull(session, 0, {1, 1, 3}), (std::vector<float>{2, 4, 6}));
  ASSERT_EQ(rill_bind_output(session, 0, &output_view), RILL_OK) << rill_last_error();
  EXPECT_EQ(pull(session, 0, {1, 1, 2}), (std::vector<float>{8, 10}));
  ASSERT_EQ(rill_bind_output(session, 0, nullptr), RILL_OK) << rill_last_error();
  ASSERT_EQ(rill_bind_input(session, 0, nullptr), RILL_OK) << rill_last_error();
  ASSERT_EQ(rill_finish(session), RILL_OK) << rill_last_error();
  EXPECT_EQ(pull(session, 0, {1, 1, 9}), (std::vector<float>{12, 14, 16, 18, 20}));
}

TEST(Bind, KeepsTheCallersFramesWhereNothingWaits) {
  const Opened stream = open_text(kScaled, 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* session = stream.session.get();
  Floats scale({1, 2, 1}, 3);
  Floats frames({1, 2, 4}, 1);
  rill_view view = frames.view();
  ASSERT_EQ(rill_bind_input(session, 0, &view), RILL_OK) << rill_last_error();
  EXPECT_EQ(frames.values[7], 8);
  EXPECT_EQ(push(session, 0, Floats({1, 2, 1}, 1)), 1);
  view = scale.view();
  ASSERT_EQ(rill_bind_input(session, 1, &view), RILL_OK) << rill_last_error();
  EXPECT_EQ(scale.values, (std::vector<float>{3, 4})) << "a value is the caller's own";
}

TEST(FailedCall, LeavesANewStreamNew) {
  const Opened stream = open_text(copied("extension tract_assert S >= 4;\n", "y = x * 2.0;\n"), 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* session = stream.session.get();
  Floats wide({1, 2, 4}, 0);
  rill_view view = wide.view();
  int64_t moved = -7;
  EXPECT_EQ(rill_push(session, 0, &view, &moved), RILL_E_SHAPE);
  EXPECT_EQ(rill_pull(session, 0, &view, &moved), RILL_E_SHAPE);
  EXPECT_EQ(rill_finish(session), RILL_E_SHAPE) << "no frames, where 4 are asserted";
  EXPECT_EQ(rill_step(session), RILL_OK) << rill_last_error();
  EXPECT_EQ(rill_push(session, 0, &view, &moved), RILL_E_STATE) << "it is stepped";
  EXPECT_EQ(moved, -7);
}

TEST(FailedCall, OfTooManyFramesLeavesANewStreamNew) {
  const Opened stream = open_text(copied("extension tract_assert S <= 8;\n", "y = x * 2.0;\n"), 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  Floats frames({1, 1, 9}, 0);
  const rill_view view = frames.view();
  int64_t moved = -7;
  EXPECT_EQ(rill_push(stream.session.get(), 0, &view, &moved), RILL_E_SHAPE);
  EXPECT_EQ(rill_step(stream.session.get()), RILL_OK) << rill_last_error();
}

TEST(Position, ContinuesAfterALoad) {
  const Opened stream = open_text(copied("", "y = x * 2.0;\n"), 4);
  const Opened other = open_text(copied("", "y = x * 2.0;\n"), 4);
  ASSERT_TRUE(stream.session && other.session) << rill_last_error();
  EXPECT_EQ(push(stream.session.get(), 0, Floats({1, 1, 4}, 0)), 4);
  EXPECT_EQ(pull(stream.session.get(), 0, {1, 1, 3}).size(), 3U);
  EXPECT_EQ(push(stream.session.get(), 0, Floats({1, 1, 2}, 4)), 2);
  size_t used = 0;
  const auto state = saved(stream.session.get(), &used);
  ASSERT_EQ(rill_state_load(other.session.get(), state.data(), used), RILL_OK);
  const SessionPtr copy = clone(other.session.get());
  for (rill_session* each : {stream.session.get(), other.session.get(), copy.get()}) {
    int64_t in = -1;
    int64_t out = -1;
    ASSERT_EQ(rill_position(each, 0, &in, &out), RILL_OK);
    EXPECT_EQ(in, 6);
    EXPECT_EQ(out, 3);
    EXPECT_EQ(pull(each, 0, {1, 1, 9}).size(), 1U);
    ASSERT_EQ(rill_position(each, 0, &in, &out), RILL_OK);
    EXPECT_EQ(out, 4);
  }
}

TEST(StateOfAFinishedStream, HoldsValuesThatAreKnownAtTheEnd) {
  for (const int64_t pulse : {4, 3}) {
    const Opened stream = open_text(kSummed, 4);
    const Opened other = open_text(kSummed, pulse);
    ASSERT_TRUE(stream.session && other.session) << rill_last_error();
    EXPECT_EQ(push(stream.session.get(), 0, Floats({1, 2, 12}, 1)), 12);
    ASSERT_EQ(rill_finish(stream.session.get()), RILL_OK) << rill_last_error();
    size_t used = 0;
    const auto state = saved(stream.session.get(), &used);
    const rill_status loaded = rill_state_load(other.session.get(), state.data(), used);
    if (pulse != 4 && loaded == RILL_E_STATE) continue;  // no pulse of 3 begins at its position
    ASSERT_EQ(loaded, RILL_OK) << rill_last_error();
    EXPECT_EQ(output(other.session.get(), 0), (std::vector<float>{78, 222}));
    EXPECT_EQ(output(clone(other.session.get()).get(), 0), (std::vector<float>{78, 222}));
  }
}

/// The end of a stream without frames, announced in one of two modes, with buffers prefilled by
/// filler values.
struct NoFrames {
  rill_status status = RILL_OK;
  std::vector<float> frames;
};

NoFrames stepped_without_frames(const std::string& text, int64_t pulse) {
  const Opened stream = open_text(text, pulse);
  EXPECT_TRUE(stream.session) << rill_last_error();
  NoFrames out;
  const float filler = std::numeric_limits<float>::quiet_NaN();
  rill_session* session = stream.session.get();
  fill(session, 0, std::vector<float>(static_cast<size_t>(pulse), filler));
  out.status = rill_step_partial(session, 0);
  for (int64_t left = 1; out.status == RILL_OK && left > 0;) {
    int64_t first = 0;
    int64_t count = 0;
    EXPECT_EQ(rill_valid_frames(session, 0, &first, &count), RILL_OK);
    const std::vector<float> all = output(session, 0);
    out.frames.insert(out.frames.end(), all.begin() + first, all.begin() + first + count);
    EXPECT_EQ(rill_flush(session, &left), RILL_OK) << rill_last_error();
  }
  return out;
}

NoFrames pushed_without_frames(const std::string& text, int64_t pulse) {
  const Opened stream = open_text(text, pulse);
  EXPECT_TRUE(stream.session) << rill_last_error();
  NoFrames out;
  out.status = rill_finish(stream.session.get());
  if (out.status == RILL_OK) out.frames = pull(stream.session.get(), 0, {1, 1, 100});
  return out;
}

/// The whole run of 0 frames, or its status if the model is undefined for them.
NoFrames whole_without_frames(const std::string& text) {
  rill_model* raw = nullptr;
  NoFrames out;
  out.status = rill_load_memory(text.data(), text.size(), nullptr, &raw);
  const ModelPtr model(raw);
  if (out.status == RILL_OK) out.status = rill_model_set_symbol(raw, "S", "0");
  if (out.status != RILL_OK) return out;
  const Opened whole = open_session(raw);
  out.status = whole.session ? rill_step(whole.session.get()) : RILL_E_SHAPE;
  if (out.status == RILL_OK) out.frames = output(whole.session.get(), 0);
  return out;
}

constexpr char kPadded[] =
    "y = conv(x, [[[0.5, 0.25]]], 0.125, stride = [1], dilation = [1], padding = [(1, 1)], "
    "border = 'constant');\n";

TEST(StreamWithoutFrames, GivesNoneWhereTheWholeRunDoes) {
  for (const char* asserted : {"", "extension tract_assert S >= 1;\n"}) {
    const std::string text = copied(asserted, "y = x * 2.0;\n");
    EXPECT_TRUE(whole_without_frames(text).frames.empty());
    for (const int64_t pulse : {1, 4}) {
      const NoFrames stepped = stepped_without_frames(text, pulse);
      EXPECT_EQ(stepped.status, RILL_OK) << rill_last_error();
      EXPECT_TRUE(stepped.frames.empty());
      const NoFrames pushed = pushed_without_frames(text, pulse);
      EXPECT_EQ(pushed.status, RILL_OK) << rill_last_error();
      EXPECT_TRUE(pushed.frames.empty());
    }
  }
}

TEST(StreamWithoutFrames, IsRefusedWhereMoreAreAsserted) {
  for (const char* asserted : {"S >= 2", "S >= 4"}) {
    const std::string text =
        copied("extension tract_assert " + std::string(asserted) + ";\n", "y = x * 2.0;\n");
    EXPECT_NE(whole_without_frames(text).status, RILL_OK);
    EXPECT_EQ(stepped_without_frames(text, 4).status, RILL_E_SHAPE);
    EXPECT_EQ(pushed_without_frames(text, 4).status, RILL_E_SHAPE);
    EXPECT_NE(std::string(rill_last_error()).find("is not negative"), std::string::npos);
  }
}

TEST(StreamWithoutFrames, IsRefusedWhereAWholeRunWouldGiveBorders) {
  const std::string text = copied("", kPadded);
  EXPECT_EQ(whole_without_frames(text).frames, std::vector<float>{0.125F});
  EXPECT_EQ(stepped_without_frames(text, 4).status, RILL_E_SHAPE);
  EXPECT_EQ(pushed_without_frames(text, 4).status, RILL_E_SHAPE);
}

TEST(StreamWithoutFrames, IsRefusedWhereAWholeRunWouldGiveAValue) {
  const Opened stream = open_text(kSummed, 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  EXPECT_EQ(rill_finish(stream.session.get()), RILL_E_SHAPE);
  EXPECT_EQ(rill_step_partial(stream.session.get(), 0), RILL_E_SHAPE);
  EXPECT_EQ(push(stream.session.get(), 0, Floats({1, 2, 1}, 7)), 1) << "the stream continues";
}

/// z has three frames more than the stream; the tail supplies them.
constexpr char kLonger[] = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(z, x) -> (y)
{
  z = external<scalar>(shape = [1, 1, S + 3]);
  x = external<scalar>(shape = [1, 1, S]);
  y = x + slice(z, axes = [2], begin = [3], end = [0]);
}
)";

void take_valid(rill_session* session, std::vector<float>* to) {
  int64_t first = 0;
  int64_t count = 0;
  ASSERT_EQ(rill_valid_frames(session, 0, &first, &count), RILL_OK) << rill_last_error();
  const std::vector<float> all = output(session, 0);
  to->insert(to->end(), all.begin() + first, all.begin() + first + count);
}

constexpr float kPastTheEnd = std::numeric_limits<float>::quiet_NaN();

/// Step to the end of x, with x = 1 to 6 and z = 10 to 18.
void step_to_the_end(rill_session* session, std::vector<float>* got) {
  fill(session, 0, {10, 11, 12, 13});
  fill(session, 1, {1, 2, 3, 4});
  ASSERT_EQ(rill_step(session), RILL_OK) << rill_last_error();
  take_valid(session, got);
  fill(session, 0, {14, 15, 16, 17});
  fill(session, 1, {5, 6, kPastTheEnd, kPastTheEnd});
  ASSERT_EQ(rill_step_partial(session, 2), RILL_OK) << rill_last_error();
  take_valid(session, got);
}

void flush_the_rest(rill_session* session, std::vector<float>* got) {
  fill(session, 0, {18, kPastTheEnd, kPastTheEnd, kPastTheEnd});
  int64_t left = -1;
  ASSERT_EQ(rill_flush(session, &left), RILL_OK) << rill_last_error();
  EXPECT_EQ(left, 0);
  take_valid(session, got);
}

TEST(LongerInput, EndsInTheStepsOfTheTail) {
  const Opened stream = open_text(kLonger, 4);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_stream_info info = {};
  info.size = sizeof(info);
  ASSERT_EQ(rill_plan_stream(stream.plan.get(), 0, &info), RILL_OK);
  EXPECT_EQ(info.input, 1) << "x counts the stream";
  const std::vector<float> want = {14, 16, 18, 20, 22, 24};
  for (int round = 0; round < 2; ++round) {
    std::vector<float> got;
    step_to_the_end(stream.session.get(), &got);
    flush_the_rest(stream.session.get(), &got);
    EXPECT_EQ(got, want);
    ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
  }
  EXPECT_EQ(push(stream.session.get(), 1, Floats({1, 1, 6}, 1)), 4);
  EXPECT_EQ(push(stream.session.get(), 0, Floats({1, 1, 9}, 10)), 9);
  EXPECT_EQ(push(stream.session.get(), 1, Floats({1, 1, 2}, 5)), 2);
  ASSERT_EQ(rill_finish(stream.session.get()), RILL_OK) << rill_last_error();
  EXPECT_EQ(pull(stream.session.get(), 0, {1, 1, 9}), want);
}

TEST(LongerInput, IsNotAssumedWhereItsFramesAreMissing) {
  const Opened begun = open_text(kLonger, 4);
  const Opened next = open_text(kLonger, 4);
  ASSERT_TRUE(begun.session && next.session) << rill_last_error();
  std::vector<float> got;
  step_to_the_end(begun.session.get(), &got);
  size_t used = 0;
  const std::vector<uint64_t> state = saved(begun.session.get(), &used);
  ASSERT_EQ(rill_state_load(next.session.get(), state.data(), used), RILL_OK);
  Floats room({1, 1, 4});
  const rill_view view = room.view();
  int64_t given = -1;
  EXPECT_EQ(rill_pull(next.session.get(), 0, &view, &given), RILL_E_STATE);
  EXPECT_NE(std::string(rill_last_error()).find("\"z\" lacks frames"), std::string::npos)
      << rill_last_error();
  flush_the_rest(next.session.get(), &got);
  EXPECT_EQ(got, (std::vector<float>{14, 16, 18, 20, 22, 24}));
}

/// Return the number of steps after the last input, for a stream of one channel and equal numbers
/// of input and output frames.
int64_t steps_of_the_tail(rill_session* session, int64_t pulse, int64_t length) {
  EXPECT_EQ(rill_session_reset(session), RILL_OK);
  const int64_t last = (length - 1) % pulse + 1;
  for (int64_t begun = 0; begun < length - last; begun += pulse) {
    EXPECT_EQ(rill_step(session), RILL_OK);
  }
  EXPECT_EQ(rill_step_partial(session, last), RILL_OK) << rill_last_error();
  int64_t steps = 0, out = 0;
  for (; rill_position(session, 0, nullptr, &out) == RILL_OK && out < length; ++steps) {
    if (rill_flush(session, nullptr) != RILL_OK) return -1;
  }
  return steps;
}

TEST(PlanStream, ReturnsTheSameMostStepsOfATailEachTime) {
  for (const int64_t after : {0, 1, 5, 12}) {
    std::string weights = "1.0";
    for (int64_t i = 0; i < after; ++i) weights += ", 1.0";
    const std::string text =
        copied("", "y = conv(x, [[[" + weights + "]]], 0.0, stride = [1], dilation = [1], " +
                       "padding = [(0, " + std::to_string(after) + ")], border = 'constant');\n");
    for (const int64_t pulse : {1, 3, 7}) {
      const Opened stream = open_text(text, pulse);
      ASSERT_TRUE(stream.session) << rill_last_error();
      int64_t most = 0;
      for (int64_t length = 20 * pulse + 1; length <= 21 * pulse; ++length) {
        most = std::max(most, steps_of_the_tail(stream.session.get(), pulse, length));
      }
      for (int round = 0; round < 2; ++round) {
        rill_stream_info info = {};
        info.size = sizeof(info);
        ASSERT_EQ(rill_plan_stream(stream.plan.get(), 0, &info), RILL_OK);
        EXPECT_EQ(info.flush_steps, most) << after << " frames ahead, pulse " << pulse;
      }
    }
  }
}

}  // namespace
}  // namespace rill::test
