#include "kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

using Run = void (*)(const PoolF32Args&) noexcept;

/// A pool on random data; rows of x and y are wider than the channels.
struct Case {
  int64_t frames = 1, channels = 1, taps = 1, taps_outer = 1;
  int64_t frame_step = 1, dilation = 1;  // in rows
  std::vector<float> x;

  int64_t row() const { return channels + 2; }
  int64_t outer_rows() const { return (frames - 1) * frame_step + (taps - 1) * dilation + 3; }

  std::vector<float> run(Run pool, int64_t frames_per_call) const {
    std::vector<float> y(size_t(frames * row()), kGuard);
    for (int64_t first = 0; first < frames; first += frames_per_call) {
      PoolF32Args g;
      g.frames = std::min(frames_per_call, frames - first);
      g.channels = channels;
      g.taps = taps;
      g.taps_outer = taps_outer;
      g.x = x.data() + 1 + first * frame_step * row();
      g.x_frame_stride = frame_step * row();
      g.x_tap_stride = dilation * row();
      g.x_tap_outer_stride = outer_rows() * row();
      g.y = y.data() + first * row();
      g.y_frame_stride = row();
      g.scale = 0.3f;
      pool(g);
    }
    return y;
  }

  /// The formulas of pool.h, one element at a time.
  std::vector<float> reference(bool max) const {
    std::vector<float> y(size_t(frames * row()), kGuard);
    for (int64_t frame = 0; frame < frames; ++frame) {
      for (int64_t c = 0; c < channels; ++c) {
        float best = -kInf, sum = 0.0f;
        for (int64_t o = 0; o < taps_outer; ++o) {
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t x_row = frame * frame_step + o * outer_rows() + t * dilation;
            const float v = x[size_t(1 + x_row * row() + c)];
            if (v > best || std::isnan(v)) best = v;
            sum += v;
          }
        }
        y[size_t(frame * row() + c)] = max ? best : sum * 0.3f;
      }
    }
    return y;
  }
};

Case random_case(std::mt19937& rng, int64_t frames) {
  Case c;
  c.frames = frames;
  c.channels = random_int(rng, 1, 140);
  c.taps = random_int(rng, 0, 9);
  c.taps_outer = random_int(rng, 0, 1) == 0 ? 1 : random_int(rng, 0, 4);
  c.frame_step = random_int(rng, 1, 3);
  c.dilation = random_int(rng, 1, 3);
  c.x = random_floats(
      rng, std::max<int64_t>(1, c.taps_outer) * (c.outer_rows() + c.dilation) * c.row() + 1);
  for (float& v : c.x) {
    if (random_int(rng, 0, 9) == 0) v = random_int(rng, 0, 1) == 0 ? kNan : -0.0f;
  }
  return c;
}

class Pool : public ::testing::TestWithParam<int> {};  // the parameter is the frames

TEST_P(Pool, GivesTheBitsOfTheFormulasOnAllTiersForAnyFramesPerCall) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()));
  for (int repeat = 0; repeat < 15; ++repeat) {
    const Case c = random_case(rng, GetParam());
    for (Tier tier : tiers()) {
      const PoolF32& kernel = pool_f32(tier);
      for (const int64_t per_call : {c.frames, int64_t{1}, int64_t{3}}) {
        ASSERT_TRUE(same(c.run(kernel.max, per_call), c.reference(true))) << kernel.name;
        ASSERT_TRUE(same(c.run(kernel.sum, per_call), c.reference(false))) << kernel.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Frames, Pool, ::testing::Range(1, 14));

TEST(PoolEdges, AWindowOfNanHasTheMaximumNan) {
  for (Tier tier : tiers()) {
    const float x[] = {kNan, kNan};
    float y = 0.0f;
    PoolF32Args g;
    g.frames = g.channels = 1;
    g.taps = 2;
    g.x_tap_stride = 1;
    g.x = x;
    g.y = &y;
    pool_f32(tier).max(g);
    EXPECT_TRUE(std::isnan(y));
    pool_f32(tier).sum(g);
    EXPECT_TRUE(std::isnan(y));
  }
}

}  // namespace
}  // namespace rill::kernels
