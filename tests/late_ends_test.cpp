// Ends of streams, announced in every mode: with the last frames, a step later, by common steps of
// several sessions, by pushes, and after loading the state of a stream. The graphs are random, and
// their wires may end before their inputs do. Each mode gives the frames of the whole run or is
// refused. RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "audit/draw.h"
#include "tests/property/seeds.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 40;

using Frames = std::vector<float>;

std::string model_of(const std::string& statements) {
  return "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
         "graph network(x) -> (y)\n{\n"
         "  x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');\n" +
         statements + "}\n";
}

struct Model {
  std::string text;
  int64_t unit = 1;  ///< pulses are multiples of it
};

/// A chain of layers. Some cut frames off the end, and some append frames.
class Chain {
 public:
  explicit Chain(audit::Draw* draw) : draw_(draw) {}

  Model drawn() {
    const std::vector<int64_t> kinds = drawn_kinds();
    for (size_t i = 0; i < kinds.size(); ++i) {
      const std::string name = i + 1 == kinds.size() ? "y" : "v" + std::to_string(i);
      out_.text += "  " + name + " = " + layer(kinds[i]) + ";\n";
      wire_ = name;
    }
    out_.text = model_of(out_.text);
    return out_;
  }

 private:
  static constexpr int64_t kSlice = 0;
  static constexpr int64_t kPad = 2;
  static constexpr int64_t kConv = 3;
  static constexpr int64_t kBothEnds = 8;

  /// In a third of the chains, windows over a prefix precede an early end.
  std::vector<int64_t> drawn_kinds() {
    if (draw_->chance(33)) return {kBothEnds, kConv, kSlice, kPad};
    std::vector<int64_t> out(static_cast<size_t>(draw_->in(1, 5)));
    for (int64_t& kind : out) kind = draw_->in(0, 10);
    return out;
  }

  std::string number(int64_t low, int64_t high) { return std::to_string(draw_->in(low, high)); }
  std::string pad(const std::string& attributes) {
    return "pad(" + wire_ + ", padding = [(0, 0), (0, 0), (" + number(0, 2) + ", " + number(1, 4) +
           ")], border = " + attributes + ")";
  }

  /// Convolutions of strides 1 to 3, as long as the unit of pulses stays small.
  std::string conv() {
    const int64_t stride = out_.unit <= 2 ? draw_->in(1, 3) : 1;
    out_.unit *= stride;
    constexpr const char* kTaps[] = {"0.5", "0.5, -0.25", "0.5, -0.25, 0.125",
                                     "0.5, -0.25, 0.125, 1.5"};
    const std::string taps = kTaps[draw_->in(0, 3)];
    return "conv(" + wire_ + ", [[[" + taps + "]]], 0.75, padding = [(" + number(0, 3) + ", " +
           number(0, 3) + ")], border = 'constant', stride = [" + std::to_string(stride) +
           "], dilation = [" + number(1, 3) + "])";
  }

  std::string layer(int64_t kind) {
    switch (kind) {
      case kSlice:
      case 1:
        return "slice(" + wire_ + ", axes = [2], begin = [" + number(0, 2) + "], end = [-" +
               number(1, 5) + "])";
      case kPad:
        return pad("'constant', value = 0.5");
      case kConv:
      case 4:
        return conv();
      case 5:
        return "concat([" + wire_ + ", [[[1.5, 2.5]]]], axis = 2)";
      case 6:
        return "tract_core_cumsum(" + wire_ + ", axis = 2, exclusive = true, reverse = false)";
      case 7:
        return "concat([[[[0.75]]], " + wire_ + "], axis = 2)";
      case kBothEnds:
        return "concat([[[[0.75, 0.25, -0.5]]], " + wire_ + ", [[[1.5, -2.5]]]], axis = 2)";
      case 9:
        return pad(draw_->in(0, 1) == 0 ? "'replicate'" : "'reflect'");
      default:
        return "tanh(" + wire_ + ") * 2.0";
    }
  }

  audit::Draw* draw_;
  Model out_;
  std::string wire_ = "x";
};

Opened opened(const std::string& text, const char* pulse, int64_t length) {
  rill_model* raw = nullptr;
  if (rill_load_memory(text.data(), text.size(), nullptr, &raw) != RILL_OK) return {};
  const ModelPtr model(raw);
  const std::string frames = std::to_string(length);
  const rill_status ready = pulse ? rill_model_pulse(raw, "S", pulse)
                                  : rill_model_set_symbol(raw, "S", frames.c_str());
  return ready == RILL_OK ? open_session(raw) : Opened();
}

Frames noise(int64_t length) {
  const Array array = Array::noise({length}, 7);
  return {array.as<float>(), array.as<float>() + length};
}

rill_view view_of(Frames* frames, const int64_t* shape) {
  rill_view view = {};
  view.size = sizeof(view);
  view.dtype = RILL_F32;
  view.rank = 3;
  view.shape = shape;
  view.data = frames->data();
  return view;
}

/// Run the whole graph. Return false if it refuses the length.
bool whole_run(const std::string& text, Frames in, Frames* out) {
  const auto length = static_cast<int64_t>(in.size());
  const Opened whole = opened(text, nullptr, length);
  rill_io_info io = {};
  io.size = sizeof(io);
  if (!whole.session || rill_plan_io(whole.plan.get(), RILL_OUTPUT, 0, &io) != RILL_OK) {
    return false;
  }
  out->assign(static_cast<size_t>(io.shape[2]), 0);
  in.resize(in.size() + 1);  // so that data is not null
  const int64_t shape[] = {1, 1, length};
  const rill_view from = view_of(&in, shape);
  const rill_view to = view_of(out, io.shape);
  return out->empty() || rill_run(whole.session.get(), &from, 1, &to, 1) == RILL_OK;
}

/// When and how a stream announces its end.
enum class End { kWithFrames, kAStepLater, kTogether, kPushed, kLoadedAndFinished, kLast };

/// A stream of one session, with all its output frames.
class Stream {
 public:
  Stream(const std::string& text, int64_t pulse)
      : pulse_(pulse),
        open_(opened(text, std::to_string(pulse).c_str(), 0)) {}
  explicit operator bool() const { return open_.session != nullptr; }
  rill_session* session() { return open_.session.get(); }

  /// Run the steps and announce the end. Return the status of the announcing call.
  rill_status run(const Frames& in, End end);
  rill_status flush();
  Frames frames(size_t most) const {
    return {given_.begin(), given_.begin() + static_cast<int64_t>(std::min(most, given_.size()))};
  }

 private:
  void fill(const Frames& in);
  void collect();
  rill_status step(rill_step_kind kind, int64_t valid, bool together);
  rill_status push(const Frames& in);
  rill_status finish_loaded();

  int64_t pulse_;
  Opened open_;
  int64_t at_ = 0;  ///< frames that went in
  Frames given_;
};

void Stream::fill(const Frames& in) {
  rill_view view = {};
  view.size = sizeof(view);
  ASSERT_EQ(rill_input_buffer(session(), 0, &view), RILL_OK);
  for (int64_t i = 0; i < pulse_; ++i) {
    const bool valid = at_ + i < static_cast<int64_t>(in.size());
    static_cast<float*>(view.data)[i] = valid ? in[static_cast<size_t>(at_ + i)]
                                              : std::numeric_limits<float>::quiet_NaN();
  }
}

void Stream::collect() {
  rill_view view = {};
  view.size = sizeof(view);
  int64_t first = 0;
  int64_t count = 0;
  ASSERT_EQ(rill_valid_frames(session(), 0, &first, &count), RILL_OK);
  ASSERT_EQ(rill_output_buffer(session(), 0, &view), RILL_OK);
  const auto* data = static_cast<const float*>(view.data) + first;
  given_.insert(given_.end(), data, data + count);
}

rill_status Stream::step(rill_step_kind kind, int64_t valid, bool together) {
  rill_session_step part = {};
  part.size = sizeof(part);
  part.kind = kind;
  part.session = session();
  part.valid_frames = valid;
  rill_status status = RILL_OK;
  if (together) {
    status = rill_step_together(&part, 1);
  } else {
    status = kind == RILL_STEP_FULL ? rill_step(session()) : rill_step_partial(session(), valid);
  }
  if (status == RILL_OK) collect();
  return status;
}

rill_status Stream::push(const Frames& in) {
  Frames rest(in.begin() + at_, in.end());
  rill_status status = RILL_OK;
  while (status == RILL_OK && !rest.empty()) {
    int64_t taken = 0;
    const int64_t shape[] = {1, 1, static_cast<int64_t>(rest.size())};
    const rill_view view = view_of(&rest, shape);
    status = rill_push(session(), 0, &view, &taken);
    at_ += taken;
    Frames out(4);
    const int64_t room[] = {1, 1, 4};
    const rill_view to = view_of(&out, room);
    int64_t given = 0;
    if (status == RILL_OK) status = rill_pull(session(), 0, &to, &given);
    given_.insert(given_.end(), out.begin(), out.begin() + given);
    rest.erase(rest.begin(), rest.begin() + taken);
  }
  return status;
}

/// Continue from the saved state in a new session, and finish that session at once.
rill_status Stream::finish_loaded() {
  size_t size = 0;
  size_t used = 0;
  EXPECT_EQ(rill_state_size(session(), &size), RILL_OK);
  std::vector<uint64_t> bytes(size / 8 + 1);
  EXPECT_EQ(rill_state_save(session(), bytes.data(), size, &used), RILL_OK);
  rill_session* next = nullptr;
  EXPECT_EQ(rill_session_new(open_.plan.get(), &next), RILL_OK);
  open_.session.reset(next);
  EXPECT_EQ(rill_state_load(next, bytes.data(), used), RILL_OK) << rill_last_error();
  return rill_finish(next);
}

rill_status Stream::run(const Frames& in, End end) {
  const auto length = static_cast<int64_t>(in.size());
  if (end == End::kPushed) {
    const rill_status pushed = push(in);
    return pushed == RILL_OK ? rill_finish(session()) : pushed;
  }
  const bool later = end != End::kWithFrames;
  const bool together = end == End::kTogether;
  while (length - at_ > pulse_ || (later && length - at_ == pulse_)) {
    fill(in);
    const rill_status stepped = step(RILL_STEP_FULL, 0, together);
    if (stepped != RILL_OK) return stepped;
    at_ += pulse_;
  }
  if (end == End::kLoadedAndFinished && at_ == length) return finish_loaded();
  fill(in);
  const rill_status ended = step(RILL_STEP_PARTIAL, length - at_, together);
  if (ended == RILL_OK) at_ = length;
  return ended;
}

rill_status Stream::flush() {
  int64_t left = 1;
  if (rill_flush(session(), &left) == RILL_OK) {
    collect();
    for (at_ += pulse_; left > 0; collect()) {
      fill({});
      if (rill_flush(session(), &left) != RILL_OK) return RILL_E_INTERNAL;
    }
    return RILL_OK;
  }
  for (int64_t given = 1; given > 0;) {
    Frames out(3);
    const int64_t room[] = {1, 1, 3};
    const rill_view to = view_of(&out, room);
    const rill_status pulled = rill_pull(session(), 0, &to, &given);
    if (pulled != RILL_OK) return pulled;
    given_.insert(given_.end(), out.begin(), out.begin() + given);
  }
  return RILL_OK;
}

struct Tally {
  int64_t right = 0;
  int64_t refused = 0;
  int64_t late = 0;  ///< ends that were announced a step later, and accepted
};

/// Try one stream of one length. `must`: an end announced with the last frames must be accepted.
void try_end(const std::string& text, int64_t pulse, const Frames& in, const Frames& want, End end,
             bool must, Tally* tally) {
  SCOPED_TRACE("end " + std::to_string(static_cast<int>(end)));
  Stream stream(text, pulse);
  ASSERT_TRUE(stream) << rill_last_error();
  const rill_status ended = stream.run(in, end);
  const bool in_time = end == End::kWithFrames || end == End::kPushed ||
                       static_cast<int64_t>(in.size()) % pulse != 0;
  if (ended == RILL_OK) {
    ASSERT_EQ(stream.flush(), RILL_OK) << rill_last_error();
    ASSERT_EQ(stream.frames(want.size()), want);
    tally->right += 1;
    tally->late += in_time ? 0 : 1;
    return;
  }
  tally->refused += 1;
  if (!must) return;
  ASSERT_FALSE(in_time) << rill_last_error();
  ASSERT_EQ(ended, RILL_E_STATE) << rill_last_error();
  ASSERT_NE(std::string(rill_last_error()).find("together with its last frames"), std::string::npos)
      << rill_last_error();
  if (end == End::kLoadedAndFinished) return;
  // The refusal changed nothing: the stream continues, and ends after further frames.
  Frames longer = in;
  longer.insert(longer.end(), {0.25F, -0.5F, 0.75F});
  Frames more;
  if (!whole_run(text, longer, &more)) return;
  const rill_status later = stream.run(longer, End::kWithFrames);
  if (later != RILL_OK) return;
  ASSERT_EQ(stream.flush(), RILL_OK) << rill_last_error();
  ASSERT_EQ(stream.frames(more.size()), more);
}

void try_model(const std::string& text, int64_t pulse, Tally* tally) {
  SCOPED_TRACE("pulse " + std::to_string(pulse) + "\n" + text);
  if (!Stream(text, pulse)) return;
  for (int64_t length = 1; length <= 3 * pulse + 6; ++length) {
    SCOPED_TRACE("length " + std::to_string(length));
    const Frames in = noise(length);
    Frames want;
    if (!whole_run(text, in, &want)) continue;
    Stream in_time(text, pulse);
    const bool must = in_time.run(in, End::kWithFrames) == RILL_OK;
    for (int end = 0; end < static_cast<int>(End::kLast); ++end) {
      try_end(text, pulse, in, want, static_cast<End>(end), must, tally);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(LateEnds, GiveTheFramesOfTheWholeRunOrAreRefused) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  Tally tally;
  for (int64_t seed = first; seed < first + count; ++seed) {
    audit::Draw draw(static_cast<uint64_t>(seed));
    const Model model = Chain(&draw).drawn();
    for (const int64_t pulse : {model.unit, model.unit * draw.in(2, 3)}) {
      try_model(model.text, pulse, &tally);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
  }
  std::printf("%lld ends right, %lld of them announced late, %lld refused\n",
              static_cast<long long>(tally.right), static_cast<long long>(tally.late),
              static_cast<long long>(tally.refused));
  EXPECT_GT(tally.late, 0);
  EXPECT_GT(tally.refused, 0);
}

/// Expect that an end is refused if an earlier step needed it, and accepted with the last frames.
void expect_ends_in_time(const std::string& text, const std::vector<int64_t>& pulses,
                         const Frames& in, const Frames& want) {
  for (const int64_t pulse : pulses) {
    SCOPED_TRACE("pulse " + std::to_string(pulse));
    for (const End end : {End::kAStepLater, End::kTogether, End::kLoadedAndFinished}) {
      Stream stream(text, pulse);
      ASSERT_TRUE(stream) << rill_last_error();
      EXPECT_EQ(stream.run(in, end), RILL_E_STATE) << rill_last_error();
    }
    for (const End end : {End::kWithFrames, End::kPushed}) {
      Stream stream(text, pulse);
      ASSERT_TRUE(stream) << rill_last_error();
      ASSERT_EQ(stream.run(in, end), RILL_OK) << rill_last_error();
      ASSERT_EQ(stream.flush(), RILL_OK) << rill_last_error();
      EXPECT_EQ(stream.frames(want.size()), want);
    }
  }
}

// By NumPy: np.pad([1, 2, 3, 4][:-2], (0, 2), constant_values=0.5).
TEST(LateEnds, AreRefusedWhereAStepHadToKnowThem) {
  expect_ends_in_time(
      model_of("  v = slice(x, axes = [2], begin = [0], end = [-2]);\n"
               "  y = pad(v, padding = [(0, 0), (0, 0), (0, 2)], border = 'constant', value = "
               "0.5);\n"),
      {1, 2, 4}, {1, 2, 3, 4}, {1, 2, 0.5F, 0.5F});
}

// By NumPy: u = np.pad([1, 2, 3, *x, 4, 5, 6], 3), v = 0.5 * u[:-3:3] - 0.25 * u[3::3], and
// np.pad(v[:-3], (0, 3), constant_values=0.5).
TEST(LateEnds, AreRefusedWherePrependedFramesHideAnEarlierEnd) {
  const std::string text = model_of(
      "  u = concat([[[[1.0, 2.0, 3.0]]], x, [[[4.0, 5.0, 6.0]]]], axis = 2);\n"
      "  v = conv(u, [[[0.5, -0.25]]], 0.0, stride = [3], dilation = [3], padding = [(3, 3)],"
      " border = 'constant');\n"
      "  w = slice(v, axes = [2], begin = [0], end = [-3]);\n"
      "  y = pad(w, padding = [(0, 0), (0, 0), (0, 3)], border = 'constant', value = 0.5);\n");
  expect_ends_in_time(text, {3}, {1, 2, 3}, {-0.25F, 0.5F, 0.5F, 0.5F});
  expect_ends_in_time(text, {3, 6}, {1, 2, 3, 4, 5, 6}, {-0.25F, 0.25F, 0.5F, 0.5F, 0.5F});
}

}  // namespace
}  // namespace rill::test
