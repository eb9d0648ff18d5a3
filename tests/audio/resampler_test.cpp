// Resampled sound equals the results of scipy and libsoxr, for pieces of any size, and has the
// exact number of frames. expected.py makes the values.

#include "rill/resampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/array.h"

namespace rill::test {
namespace {

constexpr int64_t kRates[][2] = {{48000, 16000}, {44100, 16000}, {16000, 48000}, {16000, 44100},
                                 {8000, 16000},  {11025, 16000}, {96000, 8000},  {44100, 48000}};

const Arrays& expected() {
  static const Arrays read = read_bundle(RILL_SOURCE_DIR "/tests/audio/expected.npz");
  return read;
}
std::vector<float> floats(const std::string& name) {
  const auto found = expected().find(name);
  if (found == expected().end()) return {};
  const float* first = found->second.as<float>();
  return {first, first + found->second.volume()};
}

/// Resample to the end, in pieces of 1 to `largest` frames.
std::vector<float> resample(Resampler& resampler, const std::vector<float>& in, int64_t largest) {
  std::mt19937 random(static_cast<unsigned>(largest));
  std::vector<float> out;
  int64_t counted = 0;
  const int64_t frames = static_cast<int64_t>(in.size());
  for (int64_t at = 0; at < frames;) {
    const int64_t drawn = 1 + static_cast<int64_t>(random() % static_cast<unsigned>(largest));
    const int64_t piece = std::min(drawn, frames - at);
    std::vector<float> got(static_cast<size_t>(resampler.most(piece)));
    const int64_t given = resampler.push(in.data() + at, piece, got.data());
    EXPECT_LE(given, resampler.most(piece));
    out.insert(out.end(), got.begin(), got.begin() + given);
    at += piece;
    counted += given;
    EXPECT_EQ(counted, resampler.count(at)) << "after " << at;
    EXPECT_LE(resampler.needed(counted), at);
    EXPECT_GT(resampler.needed(counted + 1), at);
  }
  std::vector<float> tail(static_cast<size_t>(resampler.most(resampler.lookahead())));
  const int64_t left = resampler.finish(tail.data());
  EXPECT_LE(left, static_cast<int64_t>(tail.size()));
  out.insert(out.end(), tail.begin(), tail.begin() + left);
  return out;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= most)) most = difference;
  }
  return most;
}

class Rates : public ::testing::TestWithParam<size_t> {
 protected:
  int64_t in_rate() const { return kRates[GetParam()][0]; }
  int64_t out_rate() const { return kRates[GetParam()][1]; }
  std::string name() const { return std::to_string(in_rate()) + "_" + std::to_string(out_rate()); }
};

TEST_P(Rates, NoiseIsThatOfScipyForAnyPieces) {
  const std::vector<float> noise = floats("noise_" + name());
  ASSERT_FALSE(noise.empty());
  auto resampler = Resampler::make(in_rate(), out_rate());
  ASSERT_TRUE(resampler) << resampler.error().text;
  std::vector<float> first;
  for (const int64_t largest : {1, 7, 300, 100000}) {
    resampler->reset();
    const std::vector<float> found = resample(*resampler, noise, largest);
    EXPECT_LT(largest_difference(found, floats("scipy_" + name())), 3e-6) << largest;
    if (first.empty()) first = found;
    EXPECT_EQ(found, first) << "pieces of up to " << largest;
  }
}

TEST_P(Rates, TonesOfThePassbandAreThoseOfSoxr) {
  const std::vector<float> tones = floats("tones_" + name());
  ASSERT_FALSE(tones.empty());
  auto resampler = Resampler::make(in_rate(), out_rate());
  ASSERT_TRUE(resampler) << resampler.error().text;
  EXPECT_LT(largest_difference(resample(*resampler, tones, 500), floats("soxr_" + name())), 2e-4);
}

INSTANTIATE_TEST_SUITE_P(, Rates, ::testing::Range<size_t>(0, std::size(kRates)),
                         [](const auto& pair) {
                           return std::to_string(kRates[pair.param][0]) + "to" +
                                  std::to_string(kRates[pair.param][1]);
                         });

TEST(Resampler, TonesAboveTheLowerRateAreGone) {
  for (const auto& [in_rate, out_rate] : kRates) {
    if (in_rate < out_rate) continue;
    auto resampler = Resampler::make(in_rate, out_rate);
    ASSERT_TRUE(resampler) << resampler.error().text;
    const double step = 3.14159265358979 * 1.001 * static_cast<double>(out_rate) /
                        static_cast<double>(in_rate);
    std::vector<float> tone(static_cast<size_t>(in_rate / 5));
    for (size_t i = 0; i < tone.size(); ++i) {
      tone[i] = static_cast<float>(std::sin(static_cast<double>(i) * step));
    }
    const std::vector<float> found = resample(*resampler, tone, 1000);
    // The abrupt start and end of the tone add other frequencies, so skip 40 frames there.
    for (size_t i = 40; i + 40 < found.size(); ++i) ASSERT_LT(std::fabs(found[i]), 6e-5f) << i;
  }
}

TEST(Resampler, CountsItsFramesAtAnyRates) {
  std::mt19937 random(7);
  int made = 0;
  for (int round = 0; round < 60; ++round) {
    // Log-uniform rates of 100 Hz to 200 kHz, mixed with common rates.
    const auto draw = [&] {
      const double rate = 100 * std::exp(std::uniform_real_distribution<>(0, 7.6)(random));
      return random() % 2 ? static_cast<int64_t>(rate) / 100 * 100 : static_cast<int64_t>(rate);
    };
    const int64_t in_rate = draw();
    const int64_t out_rate = draw();
    auto resampler = Resampler::make(in_rate, out_rate, 8 + static_cast<int>(random() % 20));
    if (!resampler) {
      EXPECT_EQ(resampler.error().code, RILL_E_UNSUPPORTED) << resampler.error().text;
      continue;
    }
    ++made;
    const std::vector<float> one(1 + random() % 5000, 1.0f);
    const std::vector<float> found = resample(*resampler, one, 1 + random() % 2000);
    const int64_t frames = static_cast<int64_t>(one.size());
    ASSERT_EQ(static_cast<int64_t>(found.size()), (frames * out_rate + in_rate - 1) / in_rate)
        << in_rate << " to " << out_rate;
  }
  EXPECT_GT(made, 20);
}

TEST(Resampler, LeavesEqualRatesAlone) {
  auto resampler = Resampler::make(16000, 16000);
  ASSERT_TRUE(resampler);
  EXPECT_EQ(resampler->lookahead(), 0);
  const std::vector<float> noise = floats("noise_48000_16000");
  EXPECT_EQ(resample(*resampler, noise, 333), noise);
}

TEST(Resampler, RefusesWrongRates) {
  for (const int64_t rate : {int64_t{0}, int64_t{-1}, int64_t{1000001}, int64_t{INT64_MAX}}) {
    for (const auto& made : {Resampler::make(rate, 16000), Resampler::make(16000, rate)}) {
      ASSERT_FALSE(made);
      EXPECT_EQ(made.error().code, RILL_E_ARG);
      EXPECT_NE(made.error().text.find(std::to_string(rate)), std::string::npos);
    }
  }
  EXPECT_EQ(Resampler::make(48000, 16000, 7).error().code, RILL_E_ARG);
  EXPECT_EQ(Resampler::make(48000, 16000, 257).error().code, RILL_E_ARG);
  const auto made = Resampler::make(1, 999983);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, RILL_E_UNSUPPORTED);
}

}  // namespace
}  // namespace rill::test
