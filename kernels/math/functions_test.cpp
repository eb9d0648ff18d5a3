// The functions are tested through one-instruction programs: these reach them in every tier. Their
// accuracy is tested in every_float_test.cpp.

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/pointwise/pointwise.h"
#include "kernels/testing.h"

namespace rill::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> apply(Tier tier, PointwiseOp op, const std::vector<float>& x, float imm = 0.0f) {
  static std::vector<float> scratch(pointwise_scratch_floats());
  std::vector<float> y(x.size());
  PointwiseArgs args;
  args.extent[3] = static_cast<int64_t>(x.size());
  args.inputs = 1;
  args.in[0].ptr = x.data();
  args.in[0].stride[3] = 1;
  args.out = y.data();
  args.out_stride[3] = 1;
  args.code_len = 1;
  args.code[0].op = op;
  args.code[0].imm = imm;
  pointwise_f32(tier)(args, scratch.data());
  return y;
}

float apply_one(Tier tier, PointwiseOp op, float x, float imm = 0.0f) {
  return apply(tier, op, {x}, imm)[0];
}

/// Return floats of both signs with all exponents and many mantissas, and special values.
std::vector<float> all_sorts() {
  std::vector<float> x = {0.0f, -0.0f, kInf,  -kInf,  0.5f,   -0.5f,
                          1.0f, 2.5f,  88.7f, -87.4f, -103.9f};
  constexpr uint32_t kStep = 9973;  // a prime, so that low mantissa bits vary
  for (uint32_t bits = 1; bits < 0x7f800000u; bits += kStep) {
    float v;
    std::memcpy(&v, &bits, sizeof v);
    x.push_back(v);
    x.push_back(-v);
  }
  return x;
}

/// The distance between a double near a float and the next one, subnormals included.
double ulp_at(double y) {
  const float f = static_cast<float>(std::fabs(y));
  return std::isfinite(f) ? static_cast<double>(std::nextafter(f, kInf)) - static_cast<double>(f)
                          : 0x1p104;
}

TEST(Functions, SigmoidEndsAtItsLimits) {
  for (Tier t : tiers()) {
    EXPECT_EQ(apply_one(t, PointwiseOp::kSigmoid, 0.0f), 0.5f);
    for (float x : {17.5f, 20.0f, 87.5f, 3e38f, kInf}) {
      EXPECT_EQ(apply_one(t, PointwiseOp::kSigmoid, x), 1.0f) << tier_name(t) << " " << x;
    }
    EXPECT_FLOAT_EQ(apply_one(t, PointwiseOp::kSigmoid, -20.0f), 2.0611537e-9f) << tier_name(t);
    for (float x : {-88.0f, -3e38f, -kInf}) {
      EXPECT_LT(apply_one(t, PointwiseOp::kSigmoid, x), 2e-38f) << tier_name(t) << " " << x;
      EXPECT_GT(apply_one(t, PointwiseOp::kSilu, x), -2e-36f) << tier_name(t) << " " << x;
    }
  }
}

TEST(Functions, TanhIsOddAndEndsAtOne) {
  for (Tier t : tiers()) {
    for (float x : {9.2f, 15.0f, 100.0f, 3e38f, kInf}) {
      EXPECT_EQ(apply_one(t, PointwiseOp::kTanh, x), 1.0f) << tier_name(t) << " " << x;
    }
    for (float x : {1e-42f, 1e-30f, 3e-4f, 0.17f, 0.18f, 1.0f, 7.5f, kInf}) {
      if (always_flushes(t) && x < FLT_MIN) continue;
      const float y = apply_one(t, PointwiseOp::kTanh, x);
      EXPECT_EQ(apply_one(t, PointwiseOp::kTanh, -x), -y) << tier_name(t) << " " << x;
      EXPECT_FLOAT_EQ(y, std::tanh(x)) << tier_name(t) << " " << x;
    }
    EXPECT_TRUE(std::signbit(apply_one(t, PointwiseOp::kTanh, -0.0f))) << tier_name(t);
  }
}

TEST(Functions, ExpAndLogReachTheirLimits) {
  for (Tier t : tiers()) {
    EXPECT_EQ(apply_one(t, PointwiseOp::kExp, 0.0f), 1.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kExp, -kInf), 0.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kExp, 89.0f), kInf);
    EXPECT_GT(apply_one(t, PointwiseOp::kExp, always_flushes(t) ? -87.0f : -103.0f), 0.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, 1.0f), 0.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, 0.0f), -kInf);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, -0.0f), -kInf);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, kInf), kInf);
    EXPECT_TRUE(std::isnan(apply_one(t, PointwiseOp::kLog, always_flushes(t) ? -1e-37f : -1e-40f)));
  }
}

TEST(Functions, PowersKeepTheirError) {
  const std::vector<float> x = all_sorts();
  static std::vector<float> scratch(pointwise_scratch_floats());
  const struct {
    float by;
    double ulps;
  } cases[] = {{2.0f, 0.5}, {3.0f, 1.5}, {0.5f, 1.0}, {-1.5f, 1.0}};
  for (Tier t : tiers()) {
    for (const auto& c : cases) {
      // One exponent for all elements gives the same bits as one per element.
      const std::vector<float> each(x.size(), c.by);
      std::vector<float> got[2];
      for (int form = 0; form < 2; ++form) {
        PointwiseArgs args;
        args.extent[3] = static_cast<int64_t>(x.size());
        args.inputs = 2;
        args.in[0] = {x.data(), {0, 0, 0, 1}};
        args.in[1] = {each.data(), {0, 0, 0, form}};
        got[form].resize(x.size());
        args.out = got[form].data();
        args.out_stride[3] = 1;
        args.code_len = 1;
        args.code[0].op = PointwiseOp::kPow;
        args.code[0].b = 1;
        pointwise_f32(t)(args, scratch.data());
      }
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = std::pow(static_cast<double>(x[i]), static_cast<double>(c.by));
        ASSERT_EQ(std::isnan(got[0][i]), std::isnan(want)) << tier_name(t) << x[i] << "^" << c.by;
        if (std::isnan(want)) continue;
        ASSERT_EQ(got[0][i], got[1][i]) << tier_name(t) << x[i] << "^" << c.by;
        if (got[0][i] == static_cast<float>(want)) continue;
        if (always_flushes(t) && std::fabs(want) < 2 * double{FLT_MIN}) continue;
        ASSERT_LE(std::fabs(static_cast<double>(got[0][i]) - want), c.ulps * ulp_at(want))
            << tier_name(t) << " " << x[i] << "^" << c.by;
      }
    }
  }
}

TEST(Functions, RoundingsTakeHalvesAndZerosAsTheySay) {
  for (Tier t : tiers()) {
    EXPECT_EQ(apply_one(t, PointwiseOp::kRound, 0.5f), 1.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kRound, 2.5f), 3.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kRound, -2.5f), -3.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kRound, 0.49999997f), 0.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kRoundEven, 2.5f), 2.0f);
    EXPECT_TRUE(std::signbit(apply_one(t, PointwiseOp::kRoundEven, -0.25f)));
    EXPECT_FALSE(std::signbit(apply_one(t, PointwiseOp::kSign, -0.0f)));
  }
}

TEST(Functions, PiecewiseLinearOnesFollowTheirFormula) {
  for (Tier t : tiers()) {
    for (float x : {-5.0f, -3.0f, -1.5f, -0.0f, 0.0f, 1.0f, 3.0f, 7.0f}) {
      const float inner = std::fmin(std::fmax(x + 3.0f, 0.0f), 6.0f);
      EXPECT_EQ(apply_one(t, PointwiseOp::kHardSwish, x), x * (inner * (1.0f / 6.0f)));
      EXPECT_EQ(apply_one(t, PointwiseOp::kLeakyRelu, x, 0.3f), x < 0 ? x * 0.3f : x);
      EXPECT_EQ(apply_one(t, PointwiseOp::kAbs, x), std::fabs(x));
      EXPECT_EQ(std::signbit(apply_one(t, PointwiseOp::kNeg, x)), !std::signbit(x));
    }
  }
}

TEST(Functions, SiluIsItsProduct) {
  for (Tier t : tiers()) {
    for (float x : {-90.0f, -20.0f, -1.0f, 0.0f, 0.5f, 30.0f}) {
      const float s = apply_one(t, PointwiseOp::kSigmoid, x);
      EXPECT_EQ(apply_one(t, PointwiseOp::kSilu, x), std::fmax(x, -88.0f) * s);
    }
  }
}

TEST(Functions, ANanStaysANan) {
  for (Tier t : tiers()) {
    for (int op = static_cast<int>(PointwiseOp::kCopy); op <= static_cast<int>(PointwiseOp::kAtanh);
         ++op) {
      if (static_cast<PointwiseOp>(op) == PointwiseOp::kNot) continue;
      EXPECT_TRUE(std::isnan(apply_one(t, static_cast<PointwiseOp>(op), kNan)))
          << tier_name(t) << " op " << op;
      EXPECT_TRUE(std::isnan(apply_one(t, static_cast<PointwiseOp>(op), -kNan)))
          << tier_name(t) << " op " << op;
    }
  }
}

}  // namespace
}  // namespace rill::kernels
