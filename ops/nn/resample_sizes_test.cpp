// Resampling by sizes against exact fractions: positions exactly at a frame, or halfway between
// two, are found for any ratio. `scripts/known_answers/resize_pairs.py` compares the same rule with
// onnxruntime.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/graph.h"
#include "ops/nn/resample.h"

namespace rill::ops {
namespace {

constexpr int64_t kMost = 64;

/// A position in the input by the standard: `number / divisor`.
struct Place {
  int64_t number;
  int64_t divisor;
  int64_t below() const {
    return number >= 0 ? number / divisor : -((-number + divisor - 1) / divisor);
  }
  int64_t rest() const { return number - below() * divisor; }  // 0 <= rest < divisor
};

Place place_of(const std::string& coord, int64_t x, int64_t from, int64_t to) {
  if (from == to) return {x, 1};
  if (coord == "asymmetric") return {x * from, to};
  if (coord == "align_corners") return to == 1 ? Place{0, 1} : Place{x * (from - 1), to - 1};
  if (coord == "tf_half_pixel_for_nn") return {(2 * x + 1) * from, 2 * to};
  if (coord == "pytorch_half_pixel" && to == 1) return {0, 1};
  return {(2 * x + 1) * from - to, 2 * to};
}

int64_t nearest_of(const Place& place, const std::string& mode) {
  const int64_t twice = 2 * place.rest();
  if (mode == "floor") return place.below();
  if (mode == "ceil") return place.below() + (place.rest() > 0 ? 1 : 0);
  if (mode == "round_prefer_floor") return place.below() + (twice > place.divisor ? 1 : 0);
  return place.below() + (twice >= place.divisor ? 1 : 0);
}

int64_t within(int64_t at, int64_t extent) { return std::clamp<int64_t>(at, 0, extent - 1); }

std::vector<float> resampled(const ResizeAxis& op, const std::vector<float>& x) {
  const auto count = static_cast<int64_t>(x.size());
  const auto in = std::make_shared<const Tensor>(
      std::move(Tensor::of<float>(DType::kF32, {count}, x)).value());
  const auto facts = op.infer(std::vector<Fact>{Fact::of(DType::kF32, {Dim(count)})});
  EXPECT_TRUE(facts.ok()) << facts.error().to_string();
  const auto out = evaluate(op, std::vector<TensorPtr>{in}, *facts);
  EXPECT_TRUE(out.ok()) << out.error().to_string();
  const auto values = (*out)[0].values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> ramp(int64_t count) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<float>(i));
  return out;
}

constexpr const char* kCoords[] = {"half_pixel",   "pytorch_half_pixel",   "align_corners",
                                   "asymmetric",   "half_pixel_symmetric", "tf_half_pixel_for_nn"};

TEST(ResampleBySizes, NearestTakesTheFrameOfTheExactFraction) {
  for (const std::string coord : kCoords) {
    for (const char* mode : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}) {
      ResizeAxis op;
      op.coord = coord;
      op.nearest = mode;
      int64_t wrong = 0;
      for (int64_t from = 1; from <= kMost; ++from) {
        for (int64_t to = 1; to <= kMost; ++to) {
          op.to = Dim(to);
          const std::vector<float> found = resampled(op, ramp(from));
          for (int64_t x = 0; x < to; ++x) {
            const int64_t at = within(nearest_of(place_of(coord, x, from, to), mode), from);
            wrong += found[static_cast<size_t>(x)] != static_cast<float>(at);
          }
        }
      }
      EXPECT_EQ(wrong, 0) << coord << ", " << mode;
    }
  }
}

// By hand, for a scale of 3/2: an odd number of frames loses half a frame, and output i is at frame
// 2 i / 3; an even number loses none, and output i is at (2 i + 1) / 3 - 1/2.
TEST(ResampleByScales, SymmetricTakesTheFrameOfTheExactFraction) {
  ResizeAxis op;
  op.coord = "half_pixel_symmetric";
  op.scale = 1.5F;
  for (const char* mode : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}) {
    op.nearest = mode;
    for (int64_t from = 1; from < 700; from += from < 40 ? 1 : 41) {
      op.to = Dim(3 * from / 2);
      const std::vector<float> found = resampled(op, ramp(from));
      for (int64_t i = 0; i < 3 * from / 2; ++i) {
        const Place place = from % 2 == 1 ? Place{2 * i, 3} : Place{4 * i - 1, 6};
        const int64_t at = within(nearest_of(place, mode), from);
        EXPECT_EQ(found[static_cast<size_t>(i)], static_cast<float>(at)) << from << " " << i;
      }
    }
  }
}

/// Two weights and two products of f32, each rounded once, and their sum: 3 half ulps of the
/// frames.
TEST(ResampleBySizes, LinearWeighsByFractions) {
  for (const std::string coord : kCoords) {
    ResizeAxis op;
    op.coord = coord;
    op.interpolator = "linear";
    for (int64_t from = 1; from <= kMost; ++from) {
      std::vector<float> x;
      for (int64_t i = 0; i < from; ++i) x.push_back(static_cast<float>((i * 37) % 101) - 50.0F);
      for (int64_t to = 1; to <= kMost; ++to) {
        op.to = Dim(to);
        const std::vector<float> found = resampled(op, x);
        for (int64_t i = 0; i < to; ++i) {
          const Place place = place_of(coord, i, from, to);
          const auto frame = [&](int64_t at) {
            return static_cast<double>(x[static_cast<size_t>(within(at, from))]);
          };
          const double left = frame(place.below());
          const double right = frame(place.below() + 1);
          const double by = static_cast<double>(place.rest()) / static_cast<double>(place.divisor);
          const auto y = static_cast<double>(found[static_cast<size_t>(i)]);
          EXPECT_NEAR(y, left + by * (right - left), 3 * 50 * 0x1p-23)
              << coord << ", " << from << " to " << to << ", frame " << i;
        }
      }
    }
  }
}

// As in onnxruntime; the place of the only element does not depend on the scale.
TEST(ResampleBySizes, OneElementIsTheFirstForPytorch) {
  for (const char* mode : {"linear", "cubic"}) {
    for (int64_t from = 2; from <= kMost; ++from) {
      ResizeAxis op;
      op.coord = "pytorch_half_pixel";
      op.interpolator = mode;
      op.to = Dim(1);
      std::vector<float> x = ramp(from);
      for (float& each : x) each = 5.0F - each * each;
      EXPECT_EQ(resampled(op, x), std::vector<float>{5.0F}) << mode << " of " << from;
    }
  }
}

}  // namespace
}  // namespace rill::ops
