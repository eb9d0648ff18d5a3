#include "ops/nn/window_taps.h"

#include <gtest/gtest.h>

namespace rill::ops {
namespace {

TEST(WindowTaps, AreThoseThatLieInsideTheInput) {
  for (int64_t first = -20; first <= 20; ++first) {
    for (int64_t dilation = 1; dilation <= 5; ++dilation) {
      for (int64_t kernel = 1; kernel <= 6; ++kernel) {
        for (int64_t extent = 0; extent <= 7; ++extent) {
          const TapRange found = taps_inside(first, dilation, kernel, extent);
          for (int64_t tap = 0; tap < kernel; ++tap) {
            const int64_t at = first + tap * dilation;
            EXPECT_EQ(tap >= found.begin && tap < found.end, at >= 0 && at < extent)
                << first << " " << dilation << " " << kernel << " " << extent << " " << tap;
          }
        }
      }
    }
  }
}

TEST(WindowTaps, AreFoundAtOnceForLargeKernels) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  const TapRange found = taps_inside(-kMost, 1, kMost, 4);
  EXPECT_EQ(found.begin, kMost);
  EXPECT_LE(found.end, found.begin);
  const TapRange near_end = taps_inside(2 - kMost, 1, kMost, 4);
  EXPECT_EQ(near_end.begin, kMost - 2);
  EXPECT_EQ(near_end.end, kMost);
  const TapRange one = taps_inside(-kMost * (kMost - 1), kMost, kMost, 4);
  EXPECT_EQ(one.begin, kMost - 1);
  EXPECT_EQ(one.end, kMost);
}

TEST(TapSteps, AreThoseThatDivideByTheStride) {
  for (int64_t stride = 1; stride <= 12; ++stride) {
    for (int64_t dilation = 1; dilation <= 14; ++dilation) {
      const TapSteps steps(dilation, stride);
      for (int64_t raw = -15; raw <= 40; ++raw) {
        const auto first = steps.first(raw);
        for (int64_t tap = 0; tap < 30; ++tap) {
          const bool divides = (raw - tap * dilation) % stride == 0;
          const bool found = first && tap >= *first && (tap - *first) % steps.step() == 0;
          EXPECT_EQ(found, divides) << raw << " " << tap << " " << dilation << " " << stride;
        }
      }
    }
  }
}

TEST(Window, RefusesOperandsThatItCannotMultiply) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  Window window{{kMost}, {kMost}, {kMost}, {{kMost, kMost}}};
  EXPECT_TRUE(window.check(1).ok());
  window.padding[0].second = kMost + 1;
  EXPECT_EQ(window.check(1, {"", "", "", "\"pads\""}).error().message,
            "\"pads\" is [(2147483647, 2147483648)]: expected 0 to 2147483647 at each end");
  window.padding[0].second = 0;
  window.stride[0] = 0;
  EXPECT_EQ(window.check(1).error().message,
            "stride is [0]: expected 1 to 2147483647 per spatial axis");
  const Window taps{{1 << 20, 1 << 20, 2}, {1, 1, 1}, {1, 1, 1}, {{0, 0}, {0, 0}, {0, 0}}};
  EXPECT_EQ(taps.check(3).error().message,
            "kernel is [1048576, 1048576, 2]: expected at most 1099511627776 taps in all");
}

}  // namespace
}  // namespace rill::ops
