#include "audit/mismatch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rill::audit {
namespace {

Tensor floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return std::move(Tensor::of<float>(DType::kF32, std::move(shape), values)).value();
}

Tensor integers(const std::vector<int64_t>& values) {
  return std::move(Tensor::of<int64_t>(DType::kI64, {static_cast<int64_t>(values.size())}, values))
      .value();
}

const Tolerance kExact = *tolerance_named("exact");
const Tolerance kClose = *tolerance_named("close");

TEST(Mismatch, NamesTheFirstOutlier) {
  // The values of tract's own message, two representable numbers apart at the first place.
  const Tensor expected = floats({1, 2, 1}, {-0.2934855F, 1.0F});
  const Tensor got = floats({1, 2, 1}, {-0.29348546F, 1.0F});
  const auto text = mismatch(expected, got, kExact, false);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text,
            "Mismatch. First outlier (Exact for F32) at [0, 0, 0] -0.2934855 != -0.29348546. "
            "Outliers: 1 / 2 = 0.50000 > 0.00000. Max ULP (F32): 1.");
}

TEST(Mismatch, ShapesComeExpectedFirst) {
  const auto text = mismatch(floats({1, 2}, {0, 0}), floats({2, 1}, {0, 0}), kClose, false);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, "Shape mismatch [1, 2] != [2, 1]");
}

TEST(Mismatch, AllowsAbsolutePlusRelativeToTheComputedValue) {
  Tolerance tolerance = kExact;
  tolerance.absolute = 1;
  tolerance.relative = 0.5;
  EXPECT_FALSE(mismatch(floats({1}, {13}), floats({1}, {8}), tolerance, false));
  EXPECT_TRUE(mismatch(floats({1}, {13.5F}), floats({1}, {8}), tolerance, false));
}

TEST(Mismatch, NaNEqualsItselfAndInfinitiesEqualBySign) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(mismatch(floats({2}, {nan, inf}), floats({2}, {nan, inf}), kExact, false));
  EXPECT_TRUE(mismatch(floats({1}, {nan}), floats({1}, {0}), *tolerance_named("ultra"), false));
  EXPECT_TRUE(mismatch(floats({1}, {inf}), floats({1}, {-inf}), *tolerance_named("ultra"), false));
  EXPECT_TRUE(mismatch(floats({1}, {inf}), floats({1}, {1e30F}), *tolerance_named("ultra"), false));
}

TEST(Mismatch, LargeIntegersAreExact) {
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_FALSE(mismatch(integers({large}), integers({large}), *tolerance_named("ultra"), false));
  EXPECT_TRUE(mismatch(integers({large}), integers({large - 1}), *tolerance_named("very"), false));
}

TEST(Mismatch, AShareOfOutliersMayPass) {
  Tolerance tolerance = kExact;
  tolerance.outliers = 0.25;
  EXPECT_FALSE(mismatch(floats({4}, {1, 2, 3, 4}), floats({4}, {1, 2, 3, 9}), tolerance, false));
  EXPECT_TRUE(mismatch(floats({4}, {1, 2, 3, 4}), floats({4}, {1, 2, 8, 9}), tolerance, false));
}

TEST(Mismatch, FloatTypesMayDifferOnlyIfAllowed) {
  const Tensor expected = floats({1}, {0.1F});
  const auto half = cast(expected, DType::kF16);
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(mismatch(expected, *half, kClose, false), "Datum type mismatch F32 != F16");
  EXPECT_FALSE(mismatch(expected, *half, kClose, true));
  EXPECT_TRUE(mismatch(expected, integers({0}), kClose, true));
}

TEST(Mismatch, IntegersAndFloatsAgreeByValue) {
  EXPECT_FALSE(mismatch(floats({2}, {6, 4}), integers({6, 4}), kExact, false));
  EXPECT_FALSE(mismatch(integers({6, 4}), floats({2}, {6, 4}), kExact, false));
  EXPECT_TRUE(mismatch(floats({2}, {6, 4}), integers({6, 5}), kClose, false));
  EXPECT_TRUE(mismatch(integers({6, 4}), floats({2}, {6, 4.5F}), kClose, false));
}

TEST(Mismatch, EmptyTensorsAgree) {
  EXPECT_FALSE(mismatch(floats({0, 3}, {}), floats({0, 3}, {}), kExact, false));
}

}  // namespace
}  // namespace rill::audit
