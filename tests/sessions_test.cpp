// Sessions through the public interface: pushes and pulls of any size, saved states that continue
// in another session, many streams on one plan, and common steps.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "rill/rill.hpp"
#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

constexpr size_t kManySessions = 2000;

/// One stream of a session: pushes an array of frames, and collects the pulled ones.
class Pushed {
 public:
  explicit Pushed(rill_session* session, const Opened& opened) : session_(session) {
    rill_stream_info info = {};
    info.size = sizeof(info);
    EXPECT_EQ(rill_plan_stream(opened.plan.get(), 0, &info), RILL_OK);
    input_ = static_cast<size_t>(info.input);
    input_axis_ = info.input_axis;
    rill_io_info io = {};
    io.size = sizeof(io);
    for (size_t i = 0; rill_plan_io(opened.plan.get(), RILL_OUTPUT, i, &io) == RILL_OK; ++i) {
      names_.push_back(io.name);
      axes_.push_back(io.stream_axis);
      outputs_.emplace(io.name, Array::zeros(io.dtype, shape_of(io, 0)));
    }
  }

  /// Push frames [first, last) in pieces of at most `piece` frames, pulling in between.
  void push(const Array& all, int64_t first, int64_t last, int64_t piece) {
    while (first < last) {
      const Array part = all.part(input_axis_, first, std::min(piece, last - first));
      const rill_view view = part.view();
      int64_t taken = -1;
      ASSERT_EQ(rill_push(session_, input_, &view, &taken), RILL_OK) << rill_last_error();
      const int64_t given = pull(piece + 1);
      ASSERT_TRUE(taken > 0 || given > 0) << "the stream stands still";
      first += taken;
    }
  }
  Arrays finish() {
    EXPECT_EQ(rill_finish(session_), RILL_OK) << rill_last_error();
    while (pull(5) > 0) continue;
    return outputs_;
  }
  void move_to(rill_session* session) { session_ = session; }

 private:
  std::vector<int64_t> shape_of(const rill_io_info& io, int64_t frames) const {
    std::vector<int64_t> shape(io.shape, io.shape + io.rank);
    if (io.stream_axis >= 0) shape[static_cast<size_t>(io.stream_axis)] = frames;
    return shape;
  }
  int64_t pull(int64_t room) {
    int64_t all = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (axes_[i] < 0) continue;
      Array& output = outputs_.at(names_[i]);
      std::vector<int64_t> shape = output.shape;
      shape[static_cast<size_t>(axes_[i])] = room;
      const Array part = Array::zeros(output.dtype, shape);
      const rill_view view = part.view();
      int64_t given = -1;
      EXPECT_EQ(rill_pull(session_, i, &view, &given), RILL_OK) << rill_last_error();
      output.append(part.part(axes_[i], 0, given), axes_[i]);
      all += given;
    }
    return all;
  }

  rill_session* session_;
  size_t input_ = 0;
  int input_axis_ = 0;
  std::vector<std::string> names_;
  std::vector<int> axes_;
  Arrays outputs_;
};

/// The saved state, in memory aligned as rill_state_save requires.
std::vector<uint64_t> saved(const rill_session* session, size_t* used) {
  size_t size = 0;
  EXPECT_EQ(rill_state_size(session, &size), RILL_OK) << rill_last_error();
  std::vector<uint64_t> bytes(size / 8 + 1);
  EXPECT_EQ(rill_state_save(session, bytes.data(), size, used), RILL_OK) << rill_last_error();
  return bytes;
}

bool same_bits(const Arrays& found, const Arrays& want) {
  return std::all_of(want.begin(), want.end(), [&](const auto& output) {
    return bit_difference(found.at(output.first), output.second).empty();
  });
}

/// Compare; `rounds` allows the rounding of attention sums at different pulses.
void expect_same(const Arrays& found, const Arrays& want, bool rounds = false) {
  for (const auto& [name, output] : want) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_GT(output.volume(), 0) << name;
    const Array& own = found.at(name);
    EXPECT_EQ(rounds ? difference(own, output, 1e-6, 1e-6) : bit_difference(own, output), "")
        << name;
  }
}

class Sessions : public ::testing::TestWithParam<ModelFolder> {
 protected:
  void SetUp() override {
    const ModelFolder& model = GetParam();
    bundle_ = read_bundle(model.bundles[0]);
    stream_ = open_stream(model.archive, bundle_, model.symbol, model.pulse);
    ASSERT_TRUE(stream_.session) << rill_last_error();
    rill_stream_info info = {};
    info.size = sizeof(info);
    ASSERT_EQ(rill_plan_stream(stream_.plan.get(), 0, &info), RILL_OK);
    rill_io_info io = {};
    io.size = sizeof(io);
    ASSERT_EQ(rill_plan_io(stream_.plan.get(), RILL_INPUT, static_cast<size_t>(info.input), &io),
              RILL_OK);
    name_ = io.name;
    axis_ = info.input_axis;
    frames_ = bundle_.at(name_).shape[static_cast<size_t>(axis_)];
    want_ = run_stream(stream_, bundle_);
    ASSERT_FALSE(want_.empty()) << rill_last_error();
    ASSERT_EQ(rill_session_reset(stream_.session.get()), RILL_OK);
  }

  Arrays bundle_;
  Opened stream_;
  std::string name_;
  int axis_ = 0;
  int64_t frames_ = 0;
  Arrays want_;  ///< outputs of fixed steps, which streams_test compares to the whole run
};

TEST_P(Sessions, TakeAnyNumberOfFrames) {
  for (const int64_t piece :
       {int64_t{1}, GetParam().pulse - 1, 3 * GetParam().pulse + 1, frames_}) {
    if (piece < 1 || (piece == 1 && frames_ > 20000)) continue;
    SCOPED_TRACE("pieces of " + std::to_string(piece));
    ASSERT_EQ(rill_session_reset(stream_.session.get()), RILL_OK);
    Pushed stream(stream_.session.get(), stream_);
    stream.push(bundle_.at(name_), 0, frames_, piece);
    expect_same(stream.finish(), want_);
  }
}

TEST_P(Sessions, HoldTheRequestedFrames) {
  rill_session_opts opts = {};
  opts.size = sizeof(opts);
  opts.max_push = frames_;
  rill_session* session = nullptr;
  ASSERT_EQ(rill_session_open(stream_.plan.get(), &opts, &session), RILL_OK) << rill_last_error();
  const SessionPtr owned(session);
  const rill_view view = bundle_.at(name_).view();
  int64_t taken = 0;
  ASSERT_EQ(rill_push(session, 0, &view, &taken), RILL_OK) << rill_last_error();
  EXPECT_EQ(taken, frames_) << "nothing was pulled meanwhile";
  expect_same(Pushed(session, stream_).finish(), want_);
}

TEST_P(Sessions, AreAfterResetAsNewOnes) {
  rill_session* fresh = nullptr;
  ASSERT_EQ(rill_session_new(stream_.plan.get(), &fresh), RILL_OK);
  const SessionPtr owned(fresh);
  Pushed stream(stream_.session.get(), stream_);
  stream.push(bundle_.at(name_), 0, frames_ / 2, GetParam().pulse);
  ASSERT_EQ(rill_session_reset(stream_.session.get()), RILL_OK);
  size_t used = 0;
  size_t fresh_used = 0;
  const auto state = saved(stream_.session.get(), &used);
  const auto fresh_state = saved(fresh, &fresh_used);
  ASSERT_EQ(used, fresh_used);
  EXPECT_EQ(std::memcmp(state.data(), fresh_state.data(), used), 0);
}

TEST_P(Sessions, ContinueFromASavedStateAtAnotherPulse) {
  const ModelFolder& model = GetParam();
  const Opened other = open_stream(model.archive, bundle_, model.symbol, 3 * model.pulse);
  ASSERT_TRUE(other.session) << rill_last_error();
  // If whole streams of the two pulses differ in bits, the moved stream may differ too.
  const bool rounds = !same_bits(run_stream(other, bundle_), want_);
  ASSERT_EQ(rill_session_reset(other.session.get()), RILL_OK);
  Pushed stream(stream_.session.get(), stream_);
  const int64_t middle = frames_ / 2;
  stream.push(bundle_.at(name_), 0, middle, model.pulse + 1);
  size_t used = 0;
  const auto state = saved(stream_.session.get(), &used);
  rill_status loaded = rill_state_load(other.session.get(), state.data(), used);
  int64_t pushed = middle;
  if (loaded == RILL_E_STATE) {
    // Repeated first frames move only at whole pulses.
    EXPECT_NE(std::string(rill_last_error()).find("only at multiples of"), std::string::npos);
    pushed = (middle / (3 * model.pulse) + 1) * 3 * model.pulse;
    ASSERT_LE(pushed, frames_);
    stream.push(bundle_.at(name_), middle, pushed, model.pulse);
    const auto later = saved(stream_.session.get(), &used);
    loaded = rill_state_load(other.session.get(), later.data(), used);
  }
  ASSERT_EQ(loaded, RILL_OK) << rill_last_error();
  stream.move_to(other.session.get());
  stream.push(bundle_.at(name_), pushed, frames_, model.pulse);
  expect_same(stream.finish(), want_, rounds);
}

TEST_P(Sessions, ContinueInACloneWithWaitingFrames) {
  Pushed stream(stream_.session.get(), stream_);
  stream.push(bundle_.at(name_), 0, frames_ / 2 + 1, GetParam().pulse);
  rill_session* copy = nullptr;
  ASSERT_EQ(rill_session_clone(stream_.session.get(), &copy), RILL_OK) << rill_last_error();
  const SessionPtr owned(copy);
  ASSERT_EQ(rill_session_reset(stream_.session.get()), RILL_OK);
  stream.move_to(copy);
  stream.push(bundle_.at(name_), frames_ / 2 + 1, frames_, GetParam().pulse);
  expect_same(stream.finish(), want_);
}

INSTANTIATE_TEST_SUITE_P(, Sessions, ::testing::ValuesIn(streaming_models()), ModelName());

const char kArchive[] = RILL_SOURCE_DIR "/tests/models/kws_gru/model.nnef.tgz";

TEST(SavedState, OfAnotherModelIsRefused) {
  const Arrays mel = {{"mel", Array::noise({1, 40, 40}, 3)}};
  const Opened stream = open_stream(kArchive, mel, "S", 8);
  ASSERT_TRUE(stream.session) << rill_last_error();
  size_t used = 0;
  const auto state = saved(stream.session.get(), &used);
  const Arrays lanes = {{"mel", Array::noise({2, 40, 40}, 3)}};
  const Opened wider = open_stream(kArchive, lanes, "S", 8);
  ASSERT_TRUE(wider.session) << rill_last_error();
  EXPECT_EQ(rill_state_load(wider.session.get(), state.data(), used), RILL_E_STATE);
  EXPECT_NE(std::string(rill_last_error()).find("another model"), std::string::npos);
  const std::string folder = RILL_SOURCE_DIR "/tests/graphs/two_frames_per_symbol";
  const Opened other = open_stream(folder, {{"x", Array::noise({1, 1, 6}, 1)}}, "S", 3);
  ASSERT_TRUE(other.session) << rill_last_error();
  EXPECT_EQ(rill_state_load(other.session.get(), state.data(), used), RILL_E_STATE);
}

TEST(ManySessions, ShareAPlanAndStaySeparate) {
  const Arrays first = {{"mel", Array::noise({1, 40, 40}, 3)}};
  const Opened stream = open_stream(kArchive, first, "S", 8);
  ASSERT_TRUE(stream.session) << rill_last_error();
  std::vector<SessionPtr> sessions;
  int64_t bytes = 0;
  for (size_t i = 0; i < kManySessions; ++i) {
    rill_session* session = nullptr;
    ASSERT_EQ(rill_session_new(stream.plan.get(), &session), RILL_OK) << rill_last_error();
    sessions.emplace_back(session);
    bytes += rill_session_bytes(session);
  }
  rill_memory_info memory = {};
  memory.size = sizeof(memory);
  ASSERT_EQ(rill_plan_memory(stream.plan.get(), &memory), RILL_OK);
  const int64_t each = bytes / static_cast<int64_t>(kManySessions);
  RecordProperty("bytes_per_session", static_cast<int>(each));
  std::printf("%zu sessions of %lld bytes each, %lld bytes of weights once\n", kManySessions,
              static_cast<long long>(each), static_cast<long long>(memory.weight_bytes));
  EXPECT_LE(each, memory.state_bytes + memory.arena_bytes + memory.io_bytes + 2048);
  // Step the lanes by one frame in turn, then some of them to their ends. Compare with separate
  // streams.
  std::vector<Array> inputs;
  for (size_t i = 0; i < kManySessions; ++i) {
    inputs.push_back(Array::noise({1, 12, 40}, static_cast<uint32_t>(i)));
  }
  std::vector<Pushed> streams;
  for (const SessionPtr& session : sessions) streams.emplace_back(session.get(), stream);
  for (int64_t frame = 0; frame < 12; frame += 3) {
    for (size_t i = 0; i < kManySessions; ++i) {
      streams[i].push(inputs[i], frame, frame + 3, 3);
    }
  }
  for (size_t i = 0; i < kManySessions; i += 97) {
    ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
    expect_same(streams[i].finish(), run_stream(stream, {{"mel", inputs[i]}}));
  }
}

/// A lane of a common step: a stream with its own length and start.
struct Lane {
  SessionPtr session;
  Array input;
  Arrays want;
  Array got;
  int64_t begin = 0;  ///< the first common step of this lane
  int64_t tick = 0;
  bool ended = false;
  bool done = false;
};

TEST(StepTogether, LanesStartEndAndRestartIndependently) {
  const Arrays first = {{"mel", Array::noise({1, 40, 40}, 3)}};
  const Opened stream = open_stream(kArchive, first, "S", 8);
  ASSERT_TRUE(stream.session) << rill_last_error();
  std::vector<Lane> lanes(9);
  for (size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    rill_session* session = nullptr;
    ASSERT_EQ(rill_session_new(stream.plan.get(), &session), RILL_OK);
    lane.session.reset(session);
    const auto seed = static_cast<uint32_t>(i);
    lane.input = Array::noise({1, 6 + 7 * static_cast<int64_t>(i), 40}, seed);
    ASSERT_EQ(rill_session_reset(stream.session.get()), RILL_OK);
    lane.want = run_stream(stream, {{"mel", lane.input}});
    ASSERT_FALSE(lane.want.empty());
    lane.got = Array::zeros(RILL_F32, lane.want.at("keywords").shape);
    lane.got.shape[1] = 0;
    lane.got.bytes.clear();
    lane.begin = static_cast<int64_t>(i % 4);
    if (i % 3 == 0) {
      // A restarted lane must not depend on its earlier stream.
      const rill_session_step request = {sizeof(rill_session_step), RILL_STEP_FULL, session, 0};
      ASSERT_EQ(rill_step_together(&request, 1), RILL_OK) << rill_last_error();
      ASSERT_EQ(rill_session_reset(session), RILL_OK);
    }
  }
  for (int64_t step = 0; step < 40; ++step) {
    std::vector<rill_session_step> requests;
    std::vector<Lane*> active;
    for (Lane& lane : lanes) {
      if (step < lane.begin || lane.done) continue;
      rill_view view = {};
      view.size = sizeof(view);
      ASSERT_EQ(rill_input_buffer(lane.session.get(), 0, &view), RILL_OK);
      const Array pulse = lane.input.part(1, 8 * lane.tick, 8);
      std::memcpy(view.data, pulse.bytes.data(), pulse.bytes.size());
      const int64_t left = lane.input.shape[1] - 8 * lane.tick++;
      rill_session_step request = {sizeof(rill_session_step), RILL_STEP_FULL, lane.session.get(),
                                   0};
      if (lane.ended) {
        request.kind = RILL_STEP_FLUSH;
      } else if (left <= 8) {
        request.kind = RILL_STEP_PARTIAL;
        request.valid_frames = left;
        lane.ended = true;
      }
      requests.push_back(request);
      active.push_back(&lane);
    }
    ASSERT_EQ(rill_step_together(requests.data(), requests.size()), RILL_OK) << rill_last_error();
    for (size_t i = 0; i < active.size(); ++i) {
      Lane& lane = *active[i];
      int64_t from = 0;
      int64_t count = 0;
      ASSERT_EQ(rill_valid_frames(lane.session.get(), 0, &from, &count), RILL_OK);
      rill_view view = {};
      view.size = sizeof(view);
      ASSERT_EQ(rill_output_buffer(lane.session.get(), 0, &view), RILL_OK);
      const size_t row = static_cast<size_t>(view.shape[2]) * sizeof(float);
      const auto* rows = static_cast<const std::byte*>(view.data) + static_cast<size_t>(from) * row;
      lane.got.bytes.insert(lane.got.bytes.end(), rows, rows + static_cast<size_t>(count) * row);
      lane.got.shape[1] += count;
      lane.done = requests[i].kind == RILL_STEP_FLUSH && count == 0;
    }
  }
  for (const Lane& lane : lanes) {
    EXPECT_TRUE(lane.done);
    EXPECT_EQ(bit_difference(lane.got, lane.want.at("keywords")), "");
  }
}

/// Return the bytes of the outputs of a session.
std::string outputs_of(const Session& session) {
  std::string out;
  for (size_t i = 0; i < session.plan().outputs().size(); ++i) {
    rill_view view = {};
    view.size = sizeof(view);
    EXPECT_EQ(rill_output_buffer(session.get(), i, &view), RILL_OK);
    int64_t bytes = sizeof(float);
    for (uint32_t axis = 0; axis < view.rank; ++axis) bytes *= view.shape[axis];
    out.append(static_cast<const char*>(view.data), static_cast<size_t>(bytes));
  }
  return out;
}

/// Fill the first input of a session, of floats, with noise.
void fill_input(Session* session, uint32_t seed) {
  const auto to = session->input<float>(0);
  const Array noise = Array::noise({to.size()}, seed);
  std::memcpy(to.data(), noise.bytes.data(), noise.bytes.size());
}

TEST(StepTogether, StreamsAtDifferentPlacesHaveTheBitsOfStepsAlone) {
  for (const char* name : {"kws_gru", "crnn_lstm", "tcn_dilated", "unet_denoiser", "vad_speech"}) {
    SCOPED_TRACE(name);
    const std::string folder = RILL_SOURCE_DIR "/tests/models/";
    auto model = Model::load(folder + name + "/model.nnef.tgz");
    ASSERT_TRUE(model) << model.error().text;
    (void)model->set("B", "1");  // if the model has it
    const int64_t pulse = std::string(name) == "vad_speech" ? 160 : 8;
    ASSERT_TRUE(model->pulse("S", pulse));
    auto plan = model->prepare();
    ASSERT_TRUE(plan) << plan.error().text;
    constexpr size_t kStreams = 37;  // more than run at once
    std::vector<Session> alone, together;
    for (size_t i = 0; i < kStreams; ++i) {
      alone.push_back(std::move(*Session::make(*plan)));
      together.push_back(std::move(*Session::make(*plan)));
    }
    for (uint32_t step = 0; step < 5; ++step) {
      std::vector<rill_session_step> steps;
      for (size_t i = step % 2; i < kStreams; i += 1 + i % 2) {
        const uint32_t seed = 100 * step + static_cast<uint32_t>(i);
        fill_input(&alone[i], seed);
        fill_input(&together[i], seed);
        ASSERT_TRUE(alone[i].step());
        steps.push_back({sizeof(rill_session_step), RILL_STEP_FULL, together[i].get(), 0});
      }
      ASSERT_EQ(rill_step_together(steps.data(), steps.size()), RILL_OK) << rill_last_error();
      for (size_t i = 0; i < kStreams; ++i) {
        ASSERT_TRUE(outputs_of(alone[i]) == outputs_of(together[i])) << "stream " << i;
      }
    }
  }
}

TEST(StepTogether, StepsOfALaterHeaderHaveALargerStride) {
  const Arrays first = {{"mel", Array::noise({1, 40, 40}, 3)}};
  const Opened stream = open_stream(kArchive, first, "S", 8);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* other = nullptr;
  ASSERT_EQ(rill_session_new(stream.plan.get(), &other), RILL_OK);
  const SessionPtr owned(other);
  struct LaterIteration {
    rill_session_step request;
    int64_t more;
  };
  LaterIteration requests[2] = {};
  requests[0].request.session = stream.session.get();
  requests[1].request.session = other;
  const auto step = [&](size_t size, size_t second) {
    requests[0].request.size = static_cast<uint32_t>(size);
    requests[1].request.size = static_cast<uint32_t>(second);
    return rill_step_together(&requests[0].request, 2);
  };
  EXPECT_EQ(step(sizeof(LaterIteration), sizeof(LaterIteration)), RILL_OK) << rill_last_error();
  int64_t in = 0;
  ASSERT_EQ(rill_position(other, 0, &in, nullptr), RILL_OK);
  EXPECT_EQ(in, 8);
  EXPECT_EQ(step(0, 0), RILL_E_ABI);
  EXPECT_EQ(step(sizeof(LaterIteration) + 1, sizeof(LaterIteration) + 1), RILL_E_ABI);
  EXPECT_EQ(step(sizeof(LaterIteration), sizeof(rill_session_step)), RILL_E_ABI);
  EXPECT_NE(std::string(rill_last_error()).find("step 1"), std::string::npos);
  ASSERT_EQ(rill_position(stream.session.get(), 0, &in, nullptr), RILL_OK);
  EXPECT_EQ(in, 8) << "nothing ran";
}

TEST(Wrapper, PushesPullsSavesAndLoads) {
  auto model = Model::load(kArchive);
  ASSERT_TRUE(model) << model.error().text;
  ASSERT_TRUE(model->set("B", 1));
  ASSERT_TRUE(model->pulse("S", 8));
  auto plan = model->prepare();
  ASSERT_TRUE(plan) << plan.error().text;
  auto session = Session::make(*plan, 61);
  ASSERT_TRUE(session) << session.error().text;
  const Array noise = Array::noise({1, 61, 40}, 3);
  auto taken = session->push(0, noise.as<float>(), 61);
  ASSERT_TRUE(taken) << taken.error().text;
  EXPECT_EQ(*taken, 61);
  auto state = session->save();
  ASSERT_TRUE(state) << state.error().text;
  auto other = Session::make(*plan);
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->load(*state));
  std::vector<float> rows[2];
  for (Session* each : {&*session, &*other}) {
    auto& own = rows[each == &*other];
    ASSERT_TRUE(each->finish());
    const auto width = static_cast<size_t>(plan->outputs()[0].shape[2]);
    own.resize(64 * width);
    auto given = each->pull(0, own.data(), 64);
    ASSERT_TRUE(given) << given.error().text;
    EXPECT_EQ(*given, (61 - 5) / 2 + 1);
    own.resize(static_cast<size_t>(*given) * width);
  }
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_FALSE(session->push(0, noise.as<double>(), 1)) << "an element of another type";
}

}  // namespace
}  // namespace rill::test
