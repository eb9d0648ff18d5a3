#include "kernels/depthwise/depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

/// A convolution on random data; rows of x and y are wider than the channels.
struct Case {
  int64_t frames = 1, channels = 1, taps = 1, taps_outer = 1;
  int64_t frame_step = 1, dilation = 1;  // in rows
  bool bias = false, clip = false;
  float lo = -kInf, hi = kInf;
  std::vector<float> x, w, bias_values;

  int64_t row() const { return channels + 2; }
  int64_t outer_rows() const { return (frames - 1) * frame_step + (taps - 1) * dilation + 3; }

  std::vector<float> run(const DepthwiseF32& kernel, int64_t frames_per_call) const {
    std::vector<float> y(size_t(frames * row()), kGuard);
    for (int64_t first = 0; first < frames; first += frames_per_call) {
      DepthwiseF32Args g;
      g.frames = std::min(frames_per_call, frames - first);
      g.channels = channels;
      g.taps = taps;
      g.taps_outer = taps_outer;
      g.x = x.data() + 1 + first * frame_step * row();
      g.x_frame_stride = frame_step * row();
      g.x_tap_stride = dilation * row();
      g.x_tap_outer_stride = outer_rows() * row();
      g.w = w.data();
      g.bias = bias ? bias_values.data() : nullptr;
      g.y = y.data() + first * row();
      g.y_frame_stride = row();
      g.clip = clip;
      g.lo = lo;
      g.hi = hi;
      kernel.run(g);
    }
    return y;
  }

  /// The exact result, and a bound of the error: two roundings of every link and of the reference.
  double exact(int64_t frame, int64_t c, double* bound) const {
    double sum = bias ? bias_values[size_t(c)] : 0.0, size = std::fabs(sum);
    for (int64_t o = 0; o < taps_outer; ++o) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t x_row = frame * frame_step + o * outer_rows() + t * dilation;
        const double term = double(x[size_t(1 + x_row * row() + c)]) *
                            double(w[size_t((o * taps + t) * channels + c)]);
        sum += term;
        size += std::fabs(term);
      }
    }
    *bound = 2.0 * double(taps * taps_outer + 1) * std::ldexp(1.0, -24) * size;
    if (clip) sum = std::max(std::min(sum, double(hi)), double(lo));
    return sum;
  }
};

Case random_case(std::mt19937& rng, int64_t frames) {
  Case c;
  c.frames = frames;
  c.channels = random_int(rng, 1, 140);
  c.taps = random_int(rng, 1, 9);
  c.taps_outer = random_int(rng, 0, 1) == 0 ? 1 : random_int(rng, 2, 4);
  c.frame_step = random_int(rng, 1, 3);
  c.dilation = random_int(rng, 1, 3);
  c.bias = random_int(rng, 0, 1) == 1;
  c.clip = random_int(rng, 0, 1) == 1;
  c.lo = random_int(rng, 0, 1) == 1 ? 0.0f : -kInf;
  c.hi = random_int(rng, 0, 1) == 1 ? 0.5f : kInf;
  c.x = random_floats(rng, c.taps_outer * c.outer_rows() * c.row() + 1);
  c.w = random_floats(rng, c.taps_outer * c.taps * c.channels);
  c.bias_values = random_floats(rng, c.channels);
  if (random_int(rng, 0, 3) == 0) c.x[size_t(random_int(rng, 0, int64_t(c.x.size()) - 1))] = kNan;
  return c;
}

class Depthwise : public ::testing::TestWithParam<int> {};  // the parameter is the frames

TEST_P(Depthwise, IsNearTheExactResultAndWritesNoChannelPastTheLast) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()));
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Case c = random_case(rng, GetParam());
    for (Tier tier : tiers()) {
      const DepthwiseF32& kernel = depthwise_f32(tier);
      const std::vector<float> y = c.run(kernel, c.frames);
      for (int64_t at = 0; at < int64_t(y.size()); ++at) {
        const int64_t frame = at / c.row(), channel = at % c.row();
        const float got = y[size_t(at)];
        double bound = 0.0;
        if (channel >= c.channels) {
          ASSERT_EQ(got, kGuard) << kernel.name;
          continue;
        }
        const double want = c.exact(frame, channel, &bound);
        if (std::isnan(bound)) {
          ASSERT_TRUE(std::isnan(got)) << kernel.name << " gave " << got;
        } else {
          ASSERT_NEAR(got, want, bound) << kernel.name << " at " << frame << ", " << channel;
        }
      }
    }
  }
}

TEST_P(Depthwise, AFrameAloneHasTheBitsOfTheFrameAmongOthersOnAllTiers) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 1000);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Case c = random_case(rng, GetParam());
    const std::vector<float> scalar = c.run(depthwise_f32(Tier::kScalar), c.frames);
    for (Tier tier : tiers()) {
      const DepthwiseF32& kernel = depthwise_f32(tier);
      const std::vector<float> y = c.run(kernel, c.frames);
      ASSERT_TRUE(same(y, c.run(kernel, 1))) << kernel.name;
      ASSERT_TRUE(same(y, c.run(kernel, 3))) << kernel.name;
      ASSERT_TRUE(tier == Tier::kSse42 || same(y, scalar)) << kernel.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Frames, Depthwise, ::testing::Range(1, 14));

TEST(DepthwiseEdges, NoTapsGiveTheBias) {
  const float bias[] = {1.0f, 2.0f, 3.0f};
  for (Tier tier : tiers()) {
    float y[4] = {kGuard, kGuard, kGuard, kGuard};
    DepthwiseF32Args g;
    g.frames = 1;
    g.channels = 3;
    g.bias = bias;
    g.y = y;
    depthwise_f32(tier).run(g);
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[2], 3.0f);
    EXPECT_EQ(y[3], kGuard);
  }
}

}  // namespace
}  // namespace rill::kernels
