// The functions are tested through one-instruction programs: these reach them in every tier.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/pointwise/pointwise.h"

namespace rill::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<Tier> tiers() {
  std::vector<Tier> found;
  for (Tier t : {Tier::kScalar, Tier::kSse42, Tier::kAvx2, Tier::kAvx512, Tier::kNeon}) {
    if (supports(detected_tier(), t)) found.push_back(t);
  }
  return found;
}

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

/// Floats of both signs with every exponent and mantissas all over, and the special ones.
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

/// The largest |got - want|; infinities and NaNs must agree.
template <class F>
double max_error(Tier tier, PointwiseOp op, F want_of, bool in_ulps, float low = -kInf,
                 float high = kInf) {
  static const std::vector<float> all = all_sorts();
  std::vector<float> x;
  for (float v : all) {
    if (low <= v && v <= high) x.push_back(v);
  }
  const std::vector<float> y = apply(tier, op, x, 0.125f);
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = want_of(static_cast<double>(x[i]));
    const double got = static_cast<double>(y[i]);
    if (std::isnan(want) && std::isnan(got)) continue;
    if (std::isinf(static_cast<float>(want)) && got == want) continue;
    if (std::isinf(got) && static_cast<float>(want) == y[i]) continue;
    double error = std::fabs(got - want);
    if (in_ulps) error /= ulp_at(want);
    if (!(error <= worst)) worst = std::isnan(error) ? kInf : error;
  }
  return worst;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(Functions, SigmoidAndTanhKeepTheirAbsoluteError) {
  for (Tier t : tiers()) {
    // 1 - sigmoid(14.5) is 5.0e-7, 1 - tanh(7.5) 6.1e-7. Numerator, denominator and quotient (and
    // the sum with 0.5) are rounded by at most 2^-25 below 0.5, 2^-24 below 1: the rest.
    EXPECT_LT(max_error(t, PointwiseOp::kSigmoid, sigmoid, false), 6.2e-7) << tier_name(t);
    EXPECT_LT(max_error(
                  t, PointwiseOp::kTanh, [](double x) { return std::tanh(x); }, false),
              8e-7)
        << tier_name(t);
  }
}

TEST(Functions, SigmoidAndTanhSaturateInsideTheirLimits) {
  for (Tier t : tiers()) {
    for (float x : {15.0f, 100.0f, 3e38f, kInf}) {
      EXPECT_NEAR(apply_one(t, PointwiseOp::kSigmoid, x), 1.0f - 4.8e-7f, 1.2e-7f);
      EXPECT_NEAR(apply_one(t, PointwiseOp::kSigmoid, -x), 4.8e-7f, 1.2e-7f);
      EXPECT_NEAR(apply_one(t, PointwiseOp::kTanh, x), 1.0f - 6.1e-7f, 1.8e-7f);
      EXPECT_EQ(apply_one(t, PointwiseOp::kTanh, -x), -apply_one(t, PointwiseOp::kTanh, x));
    }
  }
}

TEST(Functions, ErfAndGeluKeepTheirAbsoluteError) {
  const auto gelu = [](double x) {
    return x == -kInf ? 0.0 : 0.5 * x * (1 + std::erf(x / M_SQRT2));
  };
  for (Tier t : tiers()) {
    // 3e-7 by Abramowitz and Stegun. y = s / (1 + s) moves by s / (1 + s)^2 <= 1/4 of the relative
    // error of s, at most 2^-24 (2 + 2 + 2 + 4) where that factor is largest, s = 1; two roundings.
    EXPECT_LT(max_error(
                  t, PointwiseOp::kErf, [](double x) { return std::erf(x); }, false),
              6e-7)
        << tier_name(t);
    // Times 3 for x/2, and two roundings of numbers up to 6.
    EXPECT_LT(max_error(t, PointwiseOp::kGelu, gelu, false, -1e30f, 6.0f), 2.6e-6) << tier_name(t);
  }
}

TEST(Functions, ExpAndLogKeepTheirError) {
  for (Tier t : tiers()) {
    EXPECT_LT(max_error(
                  t, PointwiseOp::kExp, [](double x) { return std::exp(x); }, true),
              1.5)
        << tier_name(t);
    EXPECT_LT(max_error(
                  t, PointwiseOp::kLog, [](double x) { return std::log(x); }, true),
              2.0)
        << tier_name(t);
  }
}

TEST(Functions, ExpAndLogReachTheirLimits) {
  for (Tier t : tiers()) {
    EXPECT_EQ(apply_one(t, PointwiseOp::kExp, 0.0f), 1.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kExp, -kInf), 0.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kExp, 89.0f), kInf);
    EXPECT_GT(apply_one(t, PointwiseOp::kExp, -103.0f), 0.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, 1.0f), 0.0f);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, 0.0f), -kInf);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, -0.0f), -kInf);
    EXPECT_EQ(apply_one(t, PointwiseOp::kLog, kInf), kInf);
    EXPECT_TRUE(std::isnan(apply_one(t, PointwiseOp::kLog, -1e-40f)));
  }
}

TEST(Functions, SinAndCosKeepTheirAbsoluteError) {
  for (Tier t : tiers()) {
    EXPECT_LT(max_error(
                  t, PointwiseOp::kSin, [](double x) { return std::sin(x); }, false),
              1.5e-7)
        << tier_name(t);
    EXPECT_LT(max_error(
                  t, PointwiseOp::kCos, [](double x) { return std::cos(x); }, false),
              1.5e-7)
        << tier_name(t);
    EXPECT_TRUE(std::signbit(apply_one(t, PointwiseOp::kSin, -0.0f)));
  }
}

TEST(Functions, RootsAndReciprocalsRoundOnceAStep) {
  const auto recip = [](double x) { return 1.0 / x; };
  const auto root = [](double x) { return std::sqrt(x); };
  const auto rsqrt = [](double x) { return 1.0 / std::sqrt(x); };
  for (Tier t : tiers()) {
    EXPECT_LE(max_error(t, PointwiseOp::kSqrt, root, true), 0.5) << tier_name(t);
    EXPECT_LE(max_error(t, PointwiseOp::kRecip, recip, true), 0.5) << tier_name(t);
    EXPECT_LE(max_error(t, PointwiseOp::kRsqrt, rsqrt, true), 1.5) << tier_name(t);
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
      // By one exponent for all elements, and by one for each of them: the same bits.
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
        ASSERT_LE(std::fabs(static_cast<double>(got[0][i]) - want), c.ulps * ulp_at(want))
            << tier_name(t) << " " << x[i] << "^" << c.by;
      }
    }
  }
}

TEST(Functions, RoundingsAreExact) {
  const auto even = [](double x) { return std::nearbyint(x); };
  const auto sign = [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; };
  for (Tier t : tiers()) {
    EXPECT_EQ(max_error(
                  t, PointwiseOp::kFloor, [](double x) { return std::floor(x); }, false),
              0);
    EXPECT_EQ(max_error(
                  t, PointwiseOp::kCeil, [](double x) { return std::ceil(x); }, false),
              0);
    EXPECT_EQ(max_error(
                  t, PointwiseOp::kRound, [](double x) { return std::round(x); }, false),
              0);
    EXPECT_EQ(max_error(t, PointwiseOp::kRoundEven, even, false), 0);
    EXPECT_EQ(max_error(t, PointwiseOp::kSign, sign, false), 0);
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
      EXPECT_EQ(apply_one(t, PointwiseOp::kHardSwish, x), x * inner * (1.0f / 6.0f));
      EXPECT_EQ(apply_one(t, PointwiseOp::kLeakyRelu, x, 0.3f), x < 0 ? x * 0.3f : x);
      EXPECT_EQ(apply_one(t, PointwiseOp::kAbs, x), std::fabs(x));
      EXPECT_EQ(std::signbit(apply_one(t, PointwiseOp::kNeg, x)), !std::signbit(x));
    }
  }
}

TEST(Functions, SiluIsItsProduct) {
  for (Tier t : tiers()) {
    for (float x : {-20.0f, -14.5f, -1.0f, 0.0f, 0.5f, 30.0f}) {
      const float s = apply_one(t, PointwiseOp::kSigmoid, x);
      EXPECT_EQ(apply_one(t, PointwiseOp::kSilu, x), std::fmax(x, -14.5f) * s);
    }
  }
}

TEST(Functions, TiersWithFusedMultiplyAddGiveTheSameBits) {
  const std::vector<float> x = all_sorts();
  for (int op = static_cast<int>(PointwiseOp::kCopy); op <= static_cast<int>(PointwiseOp::kCos);
       ++op) {
    const std::vector<float> want = apply(Tier::kScalar, static_cast<PointwiseOp>(op), x, 0.3f);
    for (Tier t : tiers()) {
      if (t == Tier::kSse42) continue;
      const std::vector<float> got = apply(t, static_cast<PointwiseOp>(op), x, 0.3f);
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(got[i]) && std::isnan(want[i])) continue;
        ASSERT_EQ(got[i], want[i]) << tier_name(t) << " op " << op << " at " << x[i];
      }
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
