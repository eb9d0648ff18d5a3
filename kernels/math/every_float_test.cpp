// Every function of one float, over blocks of floats that follow each other: range, special values,
// monotonicity, accuracy in every tier, against the C library's double precision, and the same bits
// in all tiers that fuse multiply and add.
//
// RILL_FLOAT_BLOCKS=1 takes every block, all 2^32 floats; N takes one of N. RILL_FLOAT_TIERS
// chooses tiers. scripts/every_float.sh runs the whole and prints a table.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/pointwise/pointwise.h"

namespace rill::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr uint32_t kBlock = 512;
constexpr uint32_t kBlocks = (uint64_t{1} << 32U) / kBlock;
constexpr uint32_t kSampled = 4099;  // a prime, so that low bits of the exponent vary

/// The unit of an error.
enum class Unit : uint8_t { kUlp, kAbsolute, kOfInput };

struct Function {
  const char* name;
  PointwiseOp op;
  double (*want)(double);
  Unit unit;
  double most;       ///< error, in the unit; kOfInput: times max(1, |x|)
  bool rises;        ///< never falls from a float to the next
  double low, high;  ///< no value lies outside
};

/// The distance between a double near a float and the next one, subnormals included.
double ulp_at(double y) {
  const float f = static_cast<float>(std::fabs(y));
  if (!std::isfinite(f) || f == kMax) return 0x1p104;
  return static_cast<double>(std::nextafter(f, kInf)) - static_cast<double>(f);
}

/// Return the sigmoid of x, but 0 where it is subnormal.
double sigmoid(double x) { return x <= -87.33F ? 0.0 : 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double silu(double x) { return std::max(x, -88.0) * sigmoid(x); }
double gelu_approx(double x) {
  if (x < -800.0) return 0.0;
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(M_2_PI) * (x + 0.044715 * x * x * x)));
}
double hard_swish(double x) { return x * std::clamp(x + 3.0, 0.0, 6.0) / 6.0; }
double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

const double kAny = std::numeric_limits<double>::infinity();

/// Return acosh of the C library, but NaN below 1, where the library may return any value.
double acosh(double x) { return x < 1 ? std::numeric_limits<double>::quiet_NaN() : std::acosh(x); }

// The bounds are those of kernels/math/functions.h.
const Function kFunctions[] = {
    {"exp", PointwiseOp::kExp, std::exp, Unit::kUlp, 1.5, false, 0, kAny},
    {"log", PointwiseOp::kLog, std::log, Unit::kUlp, 2.0, false, -kAny, kAny},
    {"log1p", PointwiseOp::kLog1p, std::log1p, Unit::kUlp, 3.0, false, -kAny, kAny},
    {"expm1", PointwiseOp::kExpm1, std::expm1, Unit::kUlp, 2.0, false, -1, kAny},
    {"softplus", PointwiseOp::kSoftplus, softplus, Unit::kUlp, 3.0, false, 0, kAny},
    {"sigmoid", PointwiseOp::kSigmoid, sigmoid, Unit::kUlp, 2.5, false, 0, 1},
    {"tanh", PointwiseOp::kTanh, std::tanh, Unit::kUlp, 3.0, false, -1, 1},
    {"erf", PointwiseOp::kErf, std::erf, Unit::kAbsolute, 6e-7, false, -1, 1},
    {"silu", PointwiseOp::kSilu, silu, Unit::kUlp, 3.0, false, -0.2785, kAny},
    {"gelu_approx", PointwiseOp::kGeluApprox, gelu_approx, Unit::kOfInput, 2e-7, false, -0.1701,
     kAny},
    {"hard_swish", PointwiseOp::kHardSwish, hard_swish, Unit::kOfInput, 2e-7, false, -0.37501,
     kAny},
    {"sqrt", PointwiseOp::kSqrt, std::sqrt, Unit::kUlp, 0.5, true, 0, kAny},
    {"recip", PointwiseOp::kRecip, [](double x) { return 1.0 / x; }, Unit::kUlp, 0.5, false, -kAny,
     kAny},
    {"rsqrt", PointwiseOp::kRsqrt, [](double x) { return 1.0 / std::sqrt(x); }, Unit::kUlp, 1.5,
     false, -kAny, kAny},
    {"square", PointwiseOp::kSquare, [](double x) { return x * x; }, Unit::kUlp, 0.5, false, 0,
     kAny},
    {"sin", PointwiseOp::kSin, std::sin, Unit::kAbsolute, 1.5e-7, false, -1, 1},
    {"cos", PointwiseOp::kCos, std::cos, Unit::kAbsolute, 1.5e-7, false, -1, 1},
    {"abs", PointwiseOp::kAbs, std::fabs, Unit::kUlp, 0, false, 0, kAny},
    {"neg", PointwiseOp::kNeg, [](double x) { return -x; }, Unit::kUlp, 0, false, -kAny, kAny},
    {"floor", PointwiseOp::kFloor, std::floor, Unit::kUlp, 0, true, -kAny, kAny},
    {"ceil", PointwiseOp::kCeil, std::ceil, Unit::kUlp, 0, true, -kAny, kAny},
    {"round", PointwiseOp::kRound, std::round, Unit::kUlp, 0, true, -kAny, kAny},
    {"round_even", PointwiseOp::kRoundEven, std::nearbyint, Unit::kUlp, 0, true, -kAny, kAny},
    {"sign", PointwiseOp::kSign, sign, Unit::kUlp, 0, true, -1, 1},
    // The remaining functions are the C library's; the bounds hold for GNU's, 2.36.
    {"tan", PointwiseOp::kTan, std::tan, Unit::kUlp, 1.5, false, -kAny, kAny},
    {"asin", PointwiseOp::kAsin, std::asin, Unit::kUlp, 1, false, -1.5708, 1.5708},
    {"acos", PointwiseOp::kAcos, std::acos, Unit::kUlp, 1, false, 0, 3.1416},
    {"atan", PointwiseOp::kAtan, std::atan, Unit::kUlp, 1, false, -1.5708, 1.5708},
    {"sinh", PointwiseOp::kSinh, std::sinh, Unit::kUlp, 2, false, -kAny, kAny},
    {"cosh", PointwiseOp::kCosh, std::cosh, Unit::kUlp, 2, false, 1, kAny},
    {"asinh", PointwiseOp::kAsinh, std::asinh, Unit::kUlp, 2, false, -kAny, kAny},
    {"acosh", PointwiseOp::kAcosh, acosh, Unit::kUlp, 0.51, false, 0, kAny},
    {"atanh", PointwiseOp::kAtanh, std::atanh, Unit::kUlp, 2, false, -kAny, kAny},
};

/// The tiers of RILL_FLOAT_TIERS, such as avx2,avx512; all tiers of this CPU if it is not set.
std::vector<Tier> tiers() {
  std::vector<Tier> found;
  const char* chosen = std::getenv("RILL_FLOAT_TIERS");
  const std::string names = chosen ? "," + std::string(chosen) + "," : "";
  for (Tier t : kAllTiers) {
    const bool wanted = !chosen || names.find("," + std::string(tier_name(t)) + ",") != names.npos;
    if (wanted && supports(detected_tier(), t)) found.push_back(t);
  }
  return found;
}

/// Return the k-th float in ascending order, with NaNs at both ends.
float float_at(uint32_t k) {
  return __builtin_bit_cast(float, k < 0x80000000U ? ~k : k - 0x80000000U);
}

/// Results of a function in a tier.
struct Seen {
  double worst = 0;
  float worst_at = 0;
  uint64_t falls = 0;
  uint64_t wrong = 0;  ///< NaN where there is a value, or the reverse, or out of range
  float wrong_at = 0;
  uint64_t floats = 0;
  uint64_t different_bits = 0;  ///< bits that differ from those of the first tier

  void add(const Seen& other) {
    if (other.worst > worst) {
      worst = other.worst;
      worst_at = other.worst_at;
    }
    if (wrong == 0) wrong_at = other.wrong_at;
    falls += other.falls;
    wrong += other.wrong;
    floats += other.floats;
    different_bits += other.different_bits;
  }
};

/// Return whether products of it with the constants of a function may be denormal.
bool is_near_denormals(double x) { return x != 0 && std::fabs(x) < 64 * double{FLT_MIN}; }

double error_of(const Function& f, float x, double want, float got) {
  if (want == static_cast<double>(got)) return 0;
  const double limit = f.unit == Unit::kUlp ? f.most * ulp_at(want) : 0;
  if (std::isinf(got)) {  // beyond the largest float, or within the error of it
    const bool same_side = std::signbit(want) == std::signbit(got);
    return same_side && std::fabs(want) + limit >= static_cast<double>(kMax) ? 0 : kAny;
  }
  const double error = std::fabs(static_cast<double>(got) - want);
  switch (f.unit) {
    case Unit::kUlp:
      return error / ulp_at(want);
    case Unit::kAbsolute:
      return error;
    case Unit::kOfInput:
      return error / std::max(1.0, std::fabs(static_cast<double>(x)));
  }
  return kAny;
}

class Block {
 public:
  explicit Block(const Function& f) : f_(f), scratch_(pointwise_scratch_floats()) {
    args_.extent[3] = kBlock + 1;
    args_.inputs = 1;
    args_.in[0].ptr = x_.data();
    args_.in[0].stride[3] = 1;
    args_.out = y_.data();
    args_.out_stride[3] = 1;
    args_.code_len = 1;
    args_.code[0].op = f.op;
  }

  void take(uint32_t block) {
    seen_first_ = false;
    const uint32_t first = block * kBlock;
    for (uint32_t i = 0; i <= kBlock; ++i) {
      const uint32_t k = first + i;
      x_[i] = float_at(k < first ? first + kBlock - 1 : k);  // nothing follows the last
      want_[i] = i < kBlock ? f_.want(static_cast<double>(x_[i])) : 0;
    }
  }

  void judge(Tier tier, Seen* seen) {
    pointwise_f32(tier)(args_, scratch_.data());
    for (size_t i = 0; i < kBlock; ++i) {
      if (is_flushed(tier, i)) continue;
      const double got = static_cast<double>(y_[i]);
      const bool nan = std::isnan(want_[i]);
      if (nan != std::isnan(got) || got < f_.low || got > f_.high) {
        if (seen->wrong++ == 0) seen->wrong_at = x_[i];
        continue;
      }
      if (nan) continue;
      const double error = error_of(f_, x_[i], want_[i], y_[i]);
      if (error > seen->worst) {
        seen->worst = error;
        seen->worst_at = x_[i];
      }
      seen->falls += y_[i + 1] < y_[i];
    }
    seen->floats += kBlock;
    if (seen_first_) {
      for (size_t i = 0; i < kBlock; ++i) {
        if (is_flushed(tier, i) || (std::isnan(y_[i]) && std::isnan(first_[i]))) continue;
        seen->different_bits += std::memcmp(&y_[i], &first_[i], sizeof(float)) != 0;
      }
    } else {
      first_ = y_;
      seen_first_ = true;
    }
  }

 private:
  /// Return whether the tier may flush an intermediate result of the value to zero.
  bool is_flushed(Tier tier, size_t i) const {
    return always_flushes(tier) &&
           (is_near_denormals(static_cast<double>(x_[i])) || is_near_denormals(want_[i]));
  }

  const Function& f_;
  std::vector<float> scratch_;
  std::array<float, kBlock + 1> x_{};
  std::array<float, kBlock + 1> y_{};
  std::array<double, kBlock + 1> want_{};
  std::array<float, kBlock + 1> first_{};
  bool seen_first_ = false;
  PointwiseArgs args_;
};

uint32_t block_stride() {
  const char* text = std::getenv("RILL_FLOAT_BLOCKS");
  return text ? static_cast<uint32_t>(std::max(1L, std::strtol(text, nullptr, 10))) : kSampled;
}

std::vector<Seen> look_at(const Function& f, const std::vector<Tier>& in) {
  std::vector<Seen> all(in.size());
  const uint32_t stride = block_stride();
  const uint32_t threads = stride == 1 ? std::max(1U, std::thread::hardware_concurrency()) : 1;
  std::mutex joining;
  const auto run = [&](uint32_t thread) {
    std::vector<Seen> own(in.size());
    Block block(f);
    for (uint64_t b = uint64_t{thread} * stride; b < kBlocks; b += uint64_t{threads} * stride) {
      block.take(static_cast<uint32_t>(b));
      for (size_t t = 0; t < in.size(); ++t) block.judge(in[t], &own[t]);
    }
    const std::scoped_lock lock(joining);
    for (size_t t = 0; t < in.size(); ++t) all[t].add(own[t]);
  };
  std::vector<std::thread> others;
  for (uint32_t t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (std::thread& other : others) other.join();
  return all;
}

class EveryFloat : public testing::TestWithParam<Function> {};

TEST_P(EveryFloat, IsAsAccurateAsPromised) {
  const Function& f = GetParam();
  const std::vector<Tier> in = tiers();
  const std::vector<Seen> all = look_at(f, in);
  constexpr const char* kUnits[] = {"ulp", "absolute", "of max(1, abs x)"};
  for (size_t t = 0; t < in.size(); ++t) {
    const Seen& seen = all[t];
    std::printf("| %s | %s | %llu | %.3g %s at %.9g | %.3g | %llu |\n", f.name, tier_name(in[t]),
                static_cast<unsigned long long>(seen.floats), seen.worst,
                kUnits[static_cast<size_t>(f.unit)], static_cast<double>(seen.worst_at), f.most,
                static_cast<unsigned long long>(seen.falls));
    EXPECT_EQ(seen.wrong, 0U) << f.name << ", " << tier_name(in[t]) << ": NaN or range, first at "
                              << seen.wrong_at;
    EXPECT_LE(seen.worst, f.most) << f.name << ", " << tier_name(in[t]) << " at " << seen.worst_at;
    // A multiply-add that rounds twice, as with SSE4.2, gives other bits than a fused one.
    if (in[t] != Tier::kSse42) {
      EXPECT_EQ(seen.different_bits, 0U) << f.name << ", " << tier_name(in[t]);
    }
    if (f.rises) {
      EXPECT_EQ(seen.falls, 0U) << f.name << ", " << tier_name(in[t]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryFloat, testing::ValuesIn(kFunctions),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace rill::kernels
