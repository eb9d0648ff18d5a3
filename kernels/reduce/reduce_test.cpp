#include "kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/testing.h"

namespace rill::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd,
                             ReduceOp::kSumSquares};

/// Return numbers of both signs, near enough to 1 that a product of 200 of them stays normal.
std::vector<float> random_floats(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> dist(0.75f, 1.3f);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = rng() % 2 == 0 ? dist(rng) : -dist(rng);
  return x;
}

/// Arguments for a dense x [outer, reduced, inner] and a dense y.
ReduceF32Args dense(ReduceOp op, int64_t outer, int64_t reduced, int64_t inner) {
  ReduceF32Args a;
  a.op = op;
  a.outer = outer;
  a.reduced = reduced;
  a.inner = inner;
  a.x_outer = reduced * inner;
  a.x_reduced = inner;
  a.x_inner = 1;
  a.y_outer = inner;
  a.y_inner = 1;
  return a;
}

float reduce_row(Tier tier, ReduceOp op, const std::vector<float>& x) {
  ReduceF32Args a = dense(op, 1, static_cast<int64_t>(x.size()), 1);
  float y = 0.0f;
  a.x = x.data();
  a.y = &y;
  reduce_f32(tier)(a);
  return y;
}

struct Expected {
  double value;
  double bound;
};

/// The result in double precision. A sum of n terms in any order is within (n - 1) u of the sum of
/// magnitudes, a product within (n - 1) u of itself; one rounding more for the scale.
Expected expected(const ReduceF32Args& a, int64_t o, int64_t i) {
  double value = a.op == ReduceOp::kProd ? 1.0 : 0.0, size = 0.0;
  if (a.op == ReduceOp::kMax) value = -kInf;
  if (a.op == ReduceOp::kMin) value = kInf;
  for (int64_t k = 0; k < a.reduced; ++k) {
    const double x = static_cast<double>(a.x[o * a.x_outer + k * a.x_reduced + i * a.x_inner]);
    if (a.op == ReduceOp::kSum) value += x, size += std::fabs(x);
    if (a.op == ReduceOp::kSumSquares) value += x * x, size += 2.0 * x * x;
    if (a.op == ReduceOp::kProd) value *= x, size = std::fabs(value);
    if (a.op == ReduceOp::kMax) value = std::fmax(value, x);
    if (a.op == ReduceOp::kMin) value = std::fmin(value, x);
  }
  const double scale = static_cast<double>(a.scale), u = std::ldexp(1.0, -24);
  const double n = static_cast<double>(a.reduced);
  return {value * scale, u * (n * size + std::fabs(value)) * std::fabs(scale)};
}

void expect_all(Tier tier, const ReduceF32Args& a) {
  for (int64_t o = 0; o < a.outer; ++o) {
    for (int64_t i = 0; i < a.inner; ++i) {
      const Expected want = expected(a, o, i);
      const double got = static_cast<double>(a.y[o * a.y_outer + i * a.y_inner]);
      if (got == want.value) continue;  // infinities
      ASSERT_NEAR(got, want.value, want.bound)
          << tier_name(tier) << " op " << static_cast<int>(a.op) << " [" << a.outer << ", "
          << a.reduced << ", " << a.inner << "] at " << o << ", " << i;
    }
  }
}

TEST(Reduce, EqualsItsDefinitionForAnyShapeAndStride) {
  for (Tier tier : tiers()) {
    for (ReduceOp op : kOps) {
      for (int64_t outer : {1, 3}) {
        for (int64_t reduced : {0, 1, 2, 7, 16, 33, 70, 200}) {
          for (int64_t inner : {1, 3, 16, 37, 70}) {
            const std::vector<float> x = random_floats(2 * outer * reduced * inner + 1, 1);
            std::vector<float> y(static_cast<size_t>(2 * outer * inner));
            for (int64_t step : {1, 2}) {
              ReduceF32Args a = dense(op, outer, reduced, inner);
              a.x = x.data();
              a.y = y.data();
              a.scale = step == 1 ? 0.37f : 1.0f;
              a.x_outer *= step;
              a.x_reduced *= step;
              a.x_inner *= step;
              a.y_outer *= step;
              a.y_inner *= step;
              reduce_f32(tier)(a);
              expect_all(tier, a);
              // The same, the reduced axis being the contiguous one, and the outer one.
              std::swap(a.x_reduced, a.x_inner);
              a.x_inner = reduced * step;
              a.x_reduced = step;
              reduce_f32(tier)(a);
              expect_all(tier, a);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(Reduce, TheOuterAxisMayBeTheContiguousOne) {
  for (Tier tier : tiers()) {
    for (ReduceOp op : kOps) {
      const std::vector<float> x = random_floats(37 * 21, 2);
      std::vector<float> y(37), z(37);
      ReduceF32Args a = dense(op, 37, 21, 1);
      a.x = x.data();
      a.y = y.data();
      a.x_outer = 1;
      a.x_reduced = 37;
      reduce_f32(tier)(a);
      expect_all(tier, a);
      ReduceF32Args b = dense(op, 1, 21, 37);
      b.x = x.data();
      b.y = z.data();
      reduce_f32(tier)(b);
      EXPECT_EQ(y, z);
    }
  }
}

TEST(Reduce, MaxAndMinAreNanWhereAnElementIs) {
  for (Tier tier : tiers()) {
    for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
      for (size_t n : {1, 2, 3, 4, 7, 16, 17, 21, 63, 64, 80, 131}) {
        EXPECT_TRUE(std::isnan(reduce_row(tier, op, std::vector<float>(n, kNan))));
        std::vector<float> x(n, -3.0f);
        for (size_t at = 0; at < n; ++at) {
          x[at] = kNan;
          EXPECT_TRUE(std::isnan(reduce_row(tier, op, x))) << tier_name(tier) << n << " " << at;
          x[at] = at % 2 == 0 ? kInf : -kInf;
          EXPECT_FALSE(std::isnan(reduce_row(tier, op, x)));
          x[at] = -3.0f;
        }
      }
    }
  }
}

TEST(Reduce, ANanReachesNoOutputButItsOwn) {
  constexpr int64_t kOuter = 3, kReduced = 5, kInner = 37;
  for (Tier tier : tiers()) {
    for (const bool columns : {false, true}) {
      for (int64_t at = 0; at < kOuter * kReduced * kInner; at += 7) {
        std::vector<float> x(size_t(kOuter * kReduced * kInner), 2.0f), y(size_t(kOuter * kInner));
        x[size_t(at)] = kNan;
        ReduceF32Args a;
        a.op = ReduceOp::kMax;
        a.outer = kOuter, a.reduced = kReduced, a.inner = kInner;
        a.x = x.data();
        a.x_outer = kReduced * kInner;
        a.x_reduced = columns ? kInner : 1;
        a.x_inner = columns ? 1 : kReduced;
        a.y = y.data();
        a.y_outer = kInner;
        a.y_inner = 1;
        reduce_f32(tier)(a);
        const int64_t within = at % (kReduced * kInner);
        const int64_t hit = at / (kReduced * kInner) * kInner +
                            (columns ? within % kInner : within / kReduced);
        for (int64_t i = 0; i < kOuter * kInner; ++i) {
          ASSERT_EQ(std::isnan(y[size_t(i)]), i == hit) << tier_name(tier) << " " << at;
          ASSERT_TRUE(i == hit || y[size_t(i)] == 2.0f) << tier_name(tier) << " " << at;
        }
      }
    }
  }
}

TEST(Reduce, AnOutputsBitsDoNotDependOnTheOtherOutputs) {
  for (Tier tier : tiers()) {
    for (ReduceOp op : kOps) {
      // Each column is one chain of operations, wherever it lies in a vector.
      const int64_t reduced = 19, inner = 70;
      const std::vector<float> x = random_floats(reduced * inner, 3);
      std::vector<float> all(static_cast<size_t>(inner)), some(all);
      ReduceF32Args a = dense(op, 1, reduced, inner);
      a.x = x.data();
      a.y = all.data();
      reduce_f32(tier)(a);
      for (int64_t from = 0; from + 2 <= inner; from += 3) {
        for (int64_t n : {1, 2, 5, 17, 33, 64}) {
          if (from + n > inner) continue;
          a.x = x.data() + from;
          a.y = some.data();
          a.inner = n;
          reduce_f32(tier)(a);
          for (int64_t i = 0; i < n; ++i) {
            ASSERT_EQ(some[static_cast<size_t>(i)], all[static_cast<size_t>(from + i)]);
          }
        }
      }
      // A row has the same result alone and among others.
      ReduceF32Args rows = dense(op, inner, reduced, 1);
      rows.x = x.data();
      rows.y = all.data();
      reduce_f32(tier)(rows);
      for (int64_t r = 0; r < inner; ++r) {
        const auto from = x.begin() + r * reduced;
        ASSERT_EQ(reduce_row(tier, op, std::vector<float>(from, from + reduced)),
                  all[static_cast<size_t>(r)]);
      }
    }
  }
}

}  // namespace
}  // namespace rill::kernels
