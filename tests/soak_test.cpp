// Long streams of noise, silence, bursts of NaN and infinity, with resets. Memory stays constant.
// The frames equal those of a stream at another pulse, and after a reset those of a new session.
// RILL_SOAK_PULSES sets the number of pulses, see scripts/soak.sh.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/heap_calls.h"
#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

constexpr int64_t kShort = 3000;
constexpr int64_t kTolerated = 256 * 1024;  // pages that the system itself may touch

int64_t pulses_to_run() {
  const char* text = std::getenv("RILL_SOAK_PULSES");
  return text ? std::strtoll(text, nullptr, 10) : kShort;
}

int64_t resident_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

/// The signal of a stretch of the stream.
enum class Weather : uint8_t { kNoise, kSilence, kNan, kInfinity };

constexpr int64_t kStretches = 50;  ///< between two resets
constexpr int64_t kKeptSteps = 8;   ///< whose values are kept at most

/// Return the signal of a stretch. `calm`: no bursts, because attention keeps them for a time that
/// depends on the pulse.
Weather weather_of(int64_t stretch, bool calm) {
  if (calm) return stretch % 5 == 4 ? Weather::kSilence : Weather::kNoise;
  if (stretch % kStretches == kStretches - 3) return Weather::kNan;
  if (stretch % kStretches == kStretches - 2) return Weather::kInfinity;
  return stretch % 5 == 4 ? Weather::kSilence : Weather::kNoise;
}

/// Steps one session and hashes its output. The constructor allocates all memory.
class EndlessStream {
 public:
  /// `stretch`: the duration of one signal in frames, a multiple of the pulse.
  EndlessStream(const Opened& opened, const Array& noise, int64_t stretch, bool calm)
      : session_(opened.session.get()), stretch_(stretch), calm_(calm) {
    rill_stream_info info = {};
    info.size = sizeof(info);
    EXPECT_EQ(rill_plan_stream(opened.plan.get(), 0, &info), RILL_OK);
    input_ = static_cast<size_t>(info.input);
    pulse_ = info.input_pulse;
    view_.size = out_.size = sizeof(rill_view);
    EXPECT_EQ(rill_input_buffer(session_, input_, &view_), RILL_OK);
    EXPECT_EQ(rill_output_buffer(session_, 0, &out_), RILL_OK);
    out_axis_ = info.axis;
    in_axis_ = info.input_axis;
    row_bytes_ = inner(view_, in_axis_);
    noise_ = noise.bytes.data();
    noise_frames_ = noise.shape[static_cast<size_t>(in_axis_)];
    outer_ = noise.volume() * 4 / (noise_frames_ * row_bytes_);
    int64_t floats = 1;
    for (uint32_t i = 0; i < out_.rank; ++i) floats *= out_.shape[i];
    latest_.reserve(static_cast<size_t>(kKeptSteps * floats));
  }

  bool step() {
    if (seen_ > 0 && seen_ % (kStretches * stretch_) == 0) rill_session_reset(session_);
    fill(weather_of(seen_ / stretch_, calm_));
    seen_ += pulse_;
    if (rill_step(session_) != RILL_OK) return false;
    int64_t first = 0;
    int64_t count = 0;
    if (rill_valid_frames(session_, 0, &first, &count) != RILL_OK) return false;
    fold(first, count);
    return true;
  }

  void restart() {
    rill_session_reset(session_);
    seen_ = 0;
    given_ = 0;
    folded_ = 0;
  }
  int64_t seen() const { return seen_; }
  int64_t given() const { return given_; }
  uint64_t folded() const { return folded_; }
  /// Return the values since the last `forget`.
  const std::vector<float>& latest() const { return latest_; }
  void forget() { latest_.clear(); }

 private:
  void fill(Weather weather) {
    auto* to = static_cast<std::byte*>(view_.data);
    if (weather != Weather::kNoise) {
      const float value = weather == Weather::kSilence ? 0.0F
                          : weather == Weather::kNan   ? std::numeric_limits<float>::quiet_NaN()
                                                       : std::numeric_limits<float>::infinity();
      auto* floats = static_cast<float*>(view_.data);
      std::fill_n(floats, outer_ * pulse_ * row_bytes_ / 4, value);
      return;
    }
    const auto row = static_cast<size_t>(row_bytes_);
    for (int64_t o = 0; o < outer_; ++o) {
      for (int64_t i = 0; i < pulse_; ++i) {
        const int64_t from = o * noise_frames_ + (seen_ + i) % noise_frames_;
        std::memcpy(to + (o * pulse_ + i) * row_bytes_, noise_ + from * row_bytes_, row);
      }
    }
  }
  static int64_t inner(const rill_view& view, int axis) {
    int64_t bytes = 4;
    for (uint32_t i = static_cast<uint32_t>(axis) + 1; i < view.rank; ++i) bytes *= view.shape[i];
    return bytes;
  }
  /// Hash per frame, so that the division into pulses does not matter.
  void fold(int64_t first, int64_t count) {
    const int64_t row = inner(out_, out_axis_);
    const int64_t frames = out_.shape[out_axis_];
    int64_t outer = 1;
    for (int i = 0; i < out_axis_; ++i) outer *= out_.shape[i];
    const auto* data = static_cast<const std::byte*>(out_.data);
    for (int64_t t = first; t < first + count; ++t) {
      for (int64_t o = 0; o < outer; ++o) {
        const std::byte* at = data + (o * frames + t) * row;
        for (int64_t b = 0; b < row; b += 4) {
          uint32_t word = 0;
          std::memcpy(&word, at + b, sizeof word);
          latest_.push_back(__builtin_bit_cast(float, word));
          if ((word & 0x7FFFFFFFU) > 0x7F800000U) word = 0x7FC00000U;  // all NaNs hash alike
          folded_ = (folded_ ^ word) * 0x9E3779B97F4A7C15U;
          folded_ ^= folded_ >> 29U;
        }
      }
    }
    given_ += count;
  }

  rill_session* session_;
  int64_t stretch_;
  bool calm_;
  rill_view view_ = {};
  rill_view out_ = {};
  size_t input_ = 0;
  int64_t pulse_ = 0;
  int in_axis_ = 0;
  int out_axis_ = 0;
  int64_t row_bytes_ = 0;
  int64_t outer_ = 1;
  const std::byte* noise_ = nullptr;
  int64_t noise_frames_ = 0;
  int64_t seen_ = 0;
  int64_t given_ = 0;
  uint64_t folded_ = 0;
  std::vector<float> latest_;
};

/// The longest stream of each model whose table of positions ends.
const std::map<std::string_view, int64_t> kLongest = {
    {"attention_tables", 256},
    {"conformer_chunks", 2048},
    {"conformer_distances", 637},
    {"conformer_sdpa", 2048},
};

/// Models whose attention sums over other keys at other pulses, so that the last bits differ.
const std::set<std::string_view> kRounded = {"attention_sinks", "shifted_distances",
                                             "talking_convolutions"};

/// Return the largest difference of values; infinity if the counts differ or a value is NaN.
float distance(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  if (a.size() != b.size()) return kInf;
  float most = 0.0F;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    most = difference <= most ? most : difference < kInf ? difference : kInf;
  }
  return most;
}

bool takes(const ModelFolder& model, const Arrays& bundle, int64_t frames) {
  const ModelPtr bound = load_bound(model.archive, bundle, model.symbol);
  return bound && rill_model_set_symbol(bound.get(), model.symbol.c_str(),
                                        std::to_string(frames).c_str()) == RILL_OK;
}

class Soak : public ::testing::TestWithParam<ModelFolder> {};

TEST_P(Soak, KeepsItsMemoryAndItsFrames) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  if (const auto end = kLongest.find(model.name); end != kLongest.end()) {
    EXPECT_TRUE(takes(model, bundle, end->second)) << rill_last_error();
    EXPECT_FALSE(takes(model, bundle, end->second + 1));
    return;
  }
  ASSERT_TRUE(takes(model, bundle, 100'000'000)) << rill_last_error();
  const Opened small = open_stream(model.archive, bundle, model.symbol, model.pulse);
  const Opened large = open_stream(model.archive, bundle, model.symbol, 3 * model.pulse);
  ASSERT_TRUE(small.session && large.session) << rill_last_error();
  rill_stream_info info = {};
  info.size = sizeof(info);
  rill_io_info io = {};
  io.size = sizeof(io);
  ASSERT_EQ(rill_plan_stream(small.plan.get(), 0, &info), RILL_OK);
  ASSERT_EQ(rill_plan_io(small.plan.get(), RILL_INPUT, static_cast<size_t>(info.input), &io),
            RILL_OK);
  // A prime number of frames, so that pulses rarely repeat.
  std::vector<int64_t> shape(io.shape, io.shape + io.rank);
  shape[static_cast<size_t>(info.input_axis)] = 9973;
  const Array noise = Array::noise(shape, 11);
  const int64_t stretch = 3 * info.input_pulse;
  const bool calm = has_attention(model);
  EndlessStream a(small, noise, stretch, calm);
  EndlessStream b(large, noise, stretch, calm);
  const int64_t pulses = pulses_to_run();
  int64_t early = 0;
  int64_t calls = 0;
  for (int64_t done = 0; done < pulses; done += 3) {
    if (done == pulses / 30 * 3) {
      early = resident_bytes();
      calls = heap_calls();
    }
    ASSERT_TRUE(a.step() && a.step() && a.step() && b.step()) << rill_last_error();
    if (a.given() == b.given()) {
      if (kRounded.contains(model.name)) {
        ASSERT_LE(distance(a.latest(), b.latest()), 1e-5F) << "after frame " << a.seen();
      } else {
        ASSERT_EQ(a.folded(), b.folded()) << "after frame " << a.seen();
      }
      a.forget();
      b.forget();
    }
  }
  EXPECT_EQ(heap_calls(), calls);
  EXPECT_LE(resident_bytes(), early + kTolerated);
  EXPECT_GT(a.given(), 0);
  ASSERT_EQ(a.given(), b.given()) << "the last frames were compared";
  const Opened unused = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(unused.session) << rill_last_error();
  EndlessStream fresh(unused, noise, stretch, calm);
  a.restart();
  while (a.seen() < (kStretches - 2) * stretch) {
    ASSERT_TRUE(a.step());
    a.forget();
  }
  a.restart();
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(a.step() && fresh.step());
    a.forget();
    fresh.forget();
  }
  EXPECT_EQ(a.folded(), fresh.folded()) << "a reset forgets all";
  std::printf("%s: %lld frames in, %lld out, %lld KiB resident\n", model.name.c_str(),
              static_cast<long long>(b.seen()), static_cast<long long>(b.given()),
              static_cast<long long>(resident_bytes() / 1024));
}

INSTANTIATE_TEST_SUITE_P(, Soak, ::testing::ValuesIn(streaming_models()), ModelName());

}  // namespace
}  // namespace rill::test
